"""Raw SkyPilot YAML as documents of plain data, within bounds that hold for the whole file."""

from __future__ import annotations

from typing import Any

import yaml

from npac.backends.skypilot.raw_faults import RawError, whole_file

MAX_BYTES = 8 << 20
MAX_DEPTH = 64
MAX_ITEMS = 200_000
"""Most scalars, lists and mappings in one file."""
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_documents(text: str) -> list[Any]:
    """Give the documents of a text that are not empty.  Raises :class:`RawError` for the text as a whole."""
    if len(text) > MAX_BYTES:
        raise whole_file(
            f"the file is larger than {MAX_BYTES >> 20} MiB, which no SkyPilot YAML is",
            "put what makes it large into files that the tasks read",
        )
    try:
        _bound(text)
        loaded = [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 1
        raise whole_file(
            f"line {line}: this is no YAML: {error.problem}", "mend the YAML in this line", line=line
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, RawError):
            raise
        raise whole_file(
            f"this is no YAML that npac can read: {error}", "write plain text, numbers, lists and mappings"
        ) from error
    if not loaded:
        raise whole_file("the file is empty", "write a task: name, run and what else it needs")
    return loaded


def _bound(text: str) -> None:
    """Refuse aliases, which are cheap to read and dear to write out, and nesting without end."""
    depth = items = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise whole_file(
                f"line {line}: an alias (*{shown(event.anchor or '')}) is not accepted; write its text out",
                "write its text out",
                line=line,
            )
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise whole_file(
                f"line {line}: nested deeper than {MAX_DEPTH} levels", "nest it less deeply", line=line
            )
        items += isinstance(event, yaml.NodeEvent)
        if items > MAX_ITEMS:
            raise whole_file(
                f"line {line}: the file holds more than {MAX_ITEMS} values and keys",
                "put data into files that the tasks read",
                line=line,
            )


def shown(text: str) -> str:
    """Shorten a text of the file for a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."
