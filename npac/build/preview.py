"""The documents of a program for people, without a build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from npac.backends.skypilot.documents import (
    LaunchValues,
    documents_to_json,
    link_documents,
    show_documents,
    unlinked,
)
from npac.backends.skypilot.emit import to_yaml
from npac.build.bodies import Bodies, Body, Documents
from npac.ir.canonical import digest_data
from npac.ir.link_record import LinkRecord
from npac.ir.linking import link_program
from npac.ir.program import Program, Wave, label


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


def preview(program: Program, link: LinkRecord | None, options: LinkOptions) -> Sequence[tuple[str, str]]:
    """Give a title (the waves' numbers and nodes) and the YAML text of each distinct document.

    Every text is made once, so that what cannot be linked or written is known before the first is
    given; of many texts, most are made again when they are asked for.
    """
    if link is not None:
        link_program(program, link)
    bodies = Bodies()
    texts: dict[str, Body] = {}
    titles: dict[str, list[str]] = {}
    for wave in program.waves():
        for index in range(len(wave.batches)):
            batch = f" batch {index + 1}" if len(wave.batches) > 1 else ""
            title = f"wave {wave.number}{batch} {label(wave, program)} ({wave.id})"
            if link is not None:
                key = f"{wave.number}.{index}"
            else:
                key = digest_data(documents_to_json(unlinked(program, wave, index)))
            if key not in texts:
                texts[key] = bodies.add(partial(_text, program, wave, index, link, options))
            titles.setdefault(key, []).append(title)
    return Documents([(_title(names), texts[key]) for key, names in titles.items()])


def _text(
    program: Program, wave: Wave, index: int, link: LinkRecord | None, options: LinkOptions
) -> tuple[bytes]:
    trees = unlinked(program, wave, index)
    if link is None:
        shown = show_documents(trees, pins=options.pins or {}, accelerators=options.accelerators or {})
        return (to_yaml(shown).encode(),)
    launch = LaunchValues(attempt=1, fence=1, launch_id="<launch.id>", number=wave.number)
    return (to_yaml(link_documents(trees, link, launch)).encode(),)


def _title(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return "; ".join(names[:4]) + more
