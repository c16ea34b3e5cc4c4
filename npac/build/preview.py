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
from npac.build.bodies import SHOWN, Bodies, Body, Documents, Tell, silent
from npac.ir.canonical import digest_data
from npac.ir.link_record import LinkRecord
from npac.ir.linking import link_program
from npac.ir.program import Program, Wave, label

_NAMED = 4
"""Batches that a title names, when more share a document."""


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


def preview(
    program: Program, link: LinkRecord | None, options: LinkOptions, tell: Tell = silent
) -> Sequence[tuple[str, str]]:
    """Give a title (the waves' numbers and nodes) and the YAML text of each distinct document.

    Every text is made once, so that what cannot be linked or written is known before the first is
    given; of many texts, most are made again when they are asked for.  ``tell`` is told how far it is.
    """
    if link is not None:
        link_program(program, link)
    bodies = Bodies(SHOWN)
    texts: dict[str, Body] = {}
    titles: dict[str, _Title] = {}
    known: dict[tuple[str, tuple[int, ...]], str] = {}
    waves = program.waves()
    for at, wave in enumerate(waves):
        tell("making documents", at, len(waves))
        for index, batch in enumerate(wave.batches):
            if link is not None:
                key = f"{wave.number}.{index}"
            else:
                steps = (wave.group, tuple(wave.members[member].step for member in batch))
                key = known.get(steps) or known.setdefault(
                    steps, digest_data(documents_to_json(unlinked(program, wave, index)))
                )
            if key not in texts:
                texts[key] = bodies.add(partial(_text, program, wave, index, link, options))
            titles.setdefault(key, _Title(program)).add(wave, index)
    return Documents([(str(title), texts[key]) for key, title in titles.items()])


class _Title:
    """Names the first few batches that share a document, and counts the others."""

    __slots__ = ("_count", "_named", "_program")

    def __init__(self, program: Program) -> None:
        self._program = program
        self._named: list[str] = []
        self._count = 0

    def add(self, wave: Wave, index: int) -> None:
        self._count += 1
        if len(self._named) < _NAMED:
            batch = f" batch {index + 1}" if len(wave.batches) > 1 else ""
            self._named.append(f"wave {wave.number}{batch} {label(wave, self._program)} ({wave.id})")

    def __str__(self) -> str:
        left = self._count - len(self._named)
        return "; ".join(self._named) + (f" and {left} more" if left else "")


def _text(
    program: Program, wave: Wave, index: int, link: LinkRecord | None, options: LinkOptions
) -> tuple[bytes]:
    trees = unlinked(program, wave, index)
    if link is None:
        shown = show_documents(trees, pins=options.pins or {}, accelerators=options.accelerators or {})
        return (to_yaml(shown).encode(),)
    launch = LaunchValues(attempt=1, fence=1, launch_id="<launch.id>", number=wave.number)
    return (to_yaml(link_documents(trees, link, launch)).encode(),)
