"""YAML text from data.

The text reads back unchanged with any YAML 1.1 or 1.2 reader: a string that any of them would take
for something else is quoted, scripts stand as literal blocks, nothing is anchored or folded.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from npac.backends.errors import BackendError

_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Letters first, then nothing that a scanner could take for a mark; words that YAML 1.1 retypes excluded.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+@-]*(?:[:,=][A-Za-z0-9_./+@-]+)*")
_WORDS = re.compile(r"y|n|yes|no|on|off|true|false|null|nan|inf", re.IGNORECASE)
_BLOCK = re.compile(r"[^\n ][^\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]*\n")


class _DocumentDumper(_Dumper):  # type: ignore[misc]
    """PyYAML's safe dumper with this module's way of writing strings, and without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write equal objects out every time: a reader of one task should see all of it."""
        return True

    def represent_text(self, text: str) -> yaml.Node:
        """Give the node of one string."""
        style: str | None = '"'
        if _PLAIN.fullmatch(text) and not _WORDS.fullmatch(text):
            style = None
        elif _BLOCK.fullmatch(text) and " \n" not in text and not text.endswith("\n\n"):
            style = "|"
        node: yaml.Node = self.represent_scalar("tag:yaml.org,2002:str", text, style=style)
        return node

    def refuse(self, data: Any) -> yaml.Node:
        """Refuse a type that YAML has and a SkyPilot document has not."""
        raise yaml.representer.RepresenterError(f"{type(data).__name__} cannot stand in a document")


for _type in (set, tuple, bytes, datetime.date, datetime.datetime):
    _DocumentDumper.add_representer(_type, _DocumentDumper.refuse)
_DocumentDumper.add_representer(str, _DocumentDumper.represent_text)


def to_yaml(documents: Sequence[Mapping[str, Any]]) -> str:
    """Give one YAML text for all ``documents``, in their key order, ``---`` between them.

    The text is read back before it is given away; :class:`BackendError` when it would not come out
    as it went in, or when a value has no YAML form.
    """
    plain = [dict(document) for document in documents]
    try:
        text: str = yaml.dump_all(
            plain,
            Dumper=_DocumentDumper,
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=False,
            explicit_start=len(plain) > 1,
            width=1 << 20,
        )
        back = list(yaml.load_all(text, Loader=_Loader))
    except (yaml.YAMLError, UnicodeError) as error:
        raise BackendError(f"a document cannot be written as YAML: {error}") from error
    if repr(back) != repr(plain):
        raise BackendError("a document does not survive being written as YAML; please report its spec")
    return text
