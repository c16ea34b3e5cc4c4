"""The simple commands with which a shell text begins, as far as they can be told without running it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./~\[\]!*?^-]+")
_UNCHANGED = re.compile(r"[A-Za-z0-9_@%+=:,./-]*\Z")
"""Values that stay one word without quotes."""
_BLANKS = " \t"


class Word(NamedTuple):
    """A word as the command gets it (None where that is not known), and where it stands in the text."""

    text: str | None
    start: int
    end: int


class Command(NamedTuple):
    """A simple command; after an ``open`` one nothing more can be told."""

    words: list[Word]
    open: bool


def first_commands(text: str, values: Mapping[int, tuple[int, str | None]]) -> Iterator[Command]:
    """Give the commands at the beginning of a text, one after the other.

    ``values`` maps where a token begins to its end and its value, None for one that is not known.
    """
    at = 0
    words: list[Word] = []
    while at < len(text):
        char = text[at]
        if char in _BLANKS:
            at += 1
        elif text.startswith("\\\n", at):
            at += 2
        elif char == "#":
            at = (text.find("\n", at) + 1 or len(text) + 1) - 1
        elif char in "\n;" or text.startswith("&&", at):
            if words:
                yield Command(words, False)
                words = []
            at += 2 if char == "&" else 1
        else:
            word = _word(text, at, values)
            if word is None:
                break
            words.append(word)
            at = word.end
    if words:
        yield Command(words, at < len(text))


def _word(text: str, start: int, values: Mapping[int, tuple[int, str | None]]) -> Word | None:
    """Read the word that begins at ``start``; None where something begins that is no word."""
    pieces: list[str | None] = []
    at = start
    while at < len(text):
        if at in values:
            at, value = values[at]
            pieces.append(value if value is not None and _UNCHANGED.match(value) else None)
        elif plain := _PLAIN.match(text, at):
            pieces.append(plain.group())
            at = plain.end()
        elif text[at] in "'\"":
            found = _quoted(text, at, values)
            if found is None:
                return None
            at, piece = found
            pieces.append(piece)
        elif text[at] == "\\" and at + 1 < len(text) and text[at + 1] != "\n":
            pieces.append(text[at + 1])
            at += 2
        elif text[at] == "$" and text[at + 1 : at + 2] != "(":
            pieces.append(None)
            at += 1
        elif text[at] in "{}":
            pieces.append(text[at])
            at += 1
        else:
            break
    if at == start:
        return None
    return Word(None if None in pieces else "".join(filter(None, pieces)), start, at)


def _quoted(
    text: str, start: int, values: Mapping[int, tuple[int, str | None]]
) -> tuple[int, str | None] | None:
    """Read a quoted piece: where it ends and what it is; None when it never ends."""
    quote = text[start]
    pieces: list[str | None] = []
    at = start + 1
    while at < len(text):
        if at in values:
            at, value = values[at]
            pieces.append(value)
            continue
        if text[at] == quote:
            return at + 1, None if None in pieces else "".join(filter(None, pieces))
        if quote == '"' and text[at] in "$`\\":
            pieces.append(None)
            at += 2 if text[at] == "\\" else 1
        else:
            pieces.append(text[at])
            at += 1
    return None
