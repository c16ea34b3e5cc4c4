"""What is wrong with raw SkyPilot YAML, and where in the text it stands.

Reading keeps no positions, because nearly all files are sound.  A fault keeps the path of keys to its
place instead, and the text is read once more, with positions, when there is a fault to show.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = "tag:yaml.org,2002:null"
_TEXT = "tag:yaml.org,2002:str"

Step = str | int | None
"""A key, an index, or None for the first key that is not text."""


class Place(NamedTuple):
    """A place in a file: a document, counted from 1 without empty ones, and a path of keys in it."""

    document: int
    words: str = ""
    """How a message names the place."""
    path: tuple[Step, ...] = ()
    line: int = 0
    """The line, from 1, where only that is known; 0 otherwise."""

    def __str__(self) -> str:
        return self.words

    def at(self, step: Step, words: str = "") -> Place:
        """Give the place of an entry; without ``words`` it is called as this place is."""
        return Place(self.document, words or self.words, (*self.path, step))


class Fault(NamedTuple):
    """One thing to mend: what is wrong, what to do, and its place."""

    problem: str
    help: str
    place: Place


class RawError(ValueError):
    """A file that is no SkyPilot YAML npac can run; the message says where and what to do.

    ``problems`` holds a sentence for each thing to mend, at most as many as the reader lists, in the
    order of the file; ``more`` says how many others there are.  ``faults`` are the same with places.
    """

    def __init__(self, *faults: Fault, more: int = 0) -> None:
        problems = tuple(fault.problem for fault in faults)
        said = [*problems, *([f"and {more} more"] if more else [])]
        many = f"{len(problems) + more} problems: " if len(said) > 1 else ""
        super().__init__(many + "; ".join(said))
        self.problems = problems
        self.faults = faults
        self.more = more


def whole_file(problem: str, help: str, *, line: int = 1) -> RawError:
    """Give the error of a file that is refused for one thing, which stands in ``line``."""
    return RawError(Fault(problem, help, Place(1, line=line)))


class Positions:
    """The positions of a text's documents; offsets count characters.

    ``hidden`` are the stretches of values that stand under ``secrets``.  A text that cannot be composed
    has no documents, and a fault in it only its line.
    """

    def __init__(self, text: str, *, read: bool) -> None:
        self._text = text
        self._documents: list[Any] = []
        if read:
            try:
                found = yaml.compose_all(text, Loader=_Loader)
                self._documents = [node for node in found if node is not None and node.tag != _NULL]
            except (yaml.YAMLError, ValueError, RecursionError):
                self._documents = []
        self.hidden: list[tuple[int, int]] = [
            span
            for document in self._documents
            for key, value in _entries(document)
            if key.value == "secrets"
            for span in _scalars(value)
        ]

    def span(self, place: Place) -> tuple[int, int]:
        """Give where a place begins and ends: its key, or its first line where it has none."""
        if place.line:
            return self._line(place.line)
        if not 1 <= place.document <= len(self._documents):
            return self._first(0, len(self._text))
        node = shown = self._documents[place.document - 1]
        for step in place.path:
            entry = _entry(node, step)
            if entry is None:
                break
            shown, node = entry
        return self._first(shown.start_mark.index, shown.end_mark.index)

    def _first(self, start: int, end: int) -> tuple[int, int]:
        """Cut a stretch to its first line, and give it at least one character where there is one."""
        found = [at for at in (self._text.find(mark, start, end) for mark in "\r\n") if at >= 0]
        return start, max(min([*found, end]), min(start + 1, len(self._text)))

    def _line(self, number: int) -> tuple[int, int]:
        start = 0
        for line in self._text.splitlines(keepends=True)[: number - 1]:
            start += len(line)
        end = self._text.find("\n", start)
        bare = self._text[start : end if end >= 0 else len(self._text)]
        start += len(bare) - len(bare.lstrip())
        return self._first(min(start, len(self._text)), start + len(bare.strip()))


def _entries(node: Any) -> list[tuple[Any, Any]]:
    return node.value if isinstance(node, yaml.MappingNode) else []


def _entry(node: Any, step: Step) -> tuple[Any, Any] | None:
    """Give what is shown for an entry (its key, an item itself) and its value; None when it lacks."""
    if isinstance(step, int):
        listed = node.value if isinstance(node, yaml.SequenceNode) else []
        return (listed[step], listed[step]) if step < len(listed) else None
    if step is None:
        return next(((key, value) for key, value in _entries(node) if key.tag != _TEXT), None)
    # Of keys that stand twice, the last is the one that was read.
    return next(((key, value) for key, value in reversed(_entries(node)) if key.value == step), None)


def _scalars(node: Any) -> Iterator[tuple[int, int]]:
    if isinstance(node, yaml.ScalarNode):
        if node.value:
            yield node.start_mark.index, node.end_mark.index
        return
    for item in node.value:
        for part in item[1:] if isinstance(item, tuple) else (item,):
            yield from _scalars(part)
