"""The documents of a program for people, without a build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from npac.backends.skypilot.documents import (
    LaunchValues,
    documents_to_json,
    link_documents,
    show_documents,
    unlinked,
)
from npac.backends.skypilot.emit import to_yaml
from npac.ir.canonical import digest_data
from npac.ir.link_record import LinkRecord
from npac.ir.linking import link_program
from npac.ir.program import Program, label


class LinkOptions(Protocol):
    """Link options that are known before a run id is."""

    @property
    def pins(self) -> Mapping[str, str] | None:
        """Images as written, and the digest references that take their place."""
        ...

    @property
    def accelerators(self) -> Mapping[str, str] | None:
        """Accelerators as written, and what takes their place."""
        ...


def preview(program: Program, link: LinkRecord | None, options: LinkOptions) -> list[tuple[str, str]]:
    """Give a title (the waves' numbers and nodes) and the YAML text of each distinct document."""
    if link is not None:
        link_program(program, link)
    texts: dict[str, str] = {}
    titles: dict[str, list[str]] = {}
    for wave in program.waves():
        for index in range(len(wave.batches)):
            trees = unlinked(program, wave, index)
            batch = f" batch {index + 1}" if len(wave.batches) > 1 else ""
            title = f"wave {wave.number}{batch} {label(wave, program)} ({wave.id})"
            if link is not None:
                launch = LaunchValues(attempt=1, fence=1, launch_id="<launch.id>", number=wave.number)
                key = f"{wave.number}.{index}"
                texts[key] = to_yaml(link_documents(trees, link, launch))
            else:
                key = digest_data(documents_to_json(trees))
                if key not in texts:
                    pins, accelerators = options.pins or {}, options.accelerators or {}
                    texts[key] = to_yaml(show_documents(trees, pins=pins, accelerators=accelerators))
            titles.setdefault(key, []).append(title)
    return [(_title(names), texts[key]) for key, names in titles.items()]


def _title(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return "; ".join(names[:4]) + more
