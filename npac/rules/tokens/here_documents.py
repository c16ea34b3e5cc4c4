"""Here-documents whose words are no plain names, or whose ends something else looks like.

The scanner of quoting knows here-documents by plain words (``<<EOF``, ``<<'EOF'``).  Bash takes any
word, ``<<'END-1'`` or ``<<"E O F"``, and ends the document at that very line only.  What is given here
is the same text, place for place, with such words written as plain ones.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

_OPENER = r"(?<!<)<<(-?)[ \t]*((?:'[^'\n]*'|\"[^\"\n]*\"|\\[^\n]|[^\s'\"\\;&|<>()`$])+)"
_PLAIN = r"[A-Za-z_][A-Za-z0-9_]*\Z"
_LETTERS = "EFGHIJKLMNOPQRSTUVWXYZ_"


class _Document(NamedTuple):
    """Where the word stands that opens a document, whether it is quoted, and where the last line is."""

    start: int
    end: int
    quoted: bool
    last: int
    last_end: int


def with_plain_words(text: str) -> str:
    """Give ``text`` with every here-document opened and ended by a plain word, nothing moved."""
    if "<<" not in text:
        return text
    lines = _Lines(text)
    pieces: list[tuple[int, int, str]] = []
    for document in _documents(text, lines):
        length = document.last_end - document.last
        if length == 0:
            continue  # ended by an empty line, for which no plain word stands
        name = next(
            (letter * length for letter in _LETTERS if letter * length not in lines.bare), "E" * length
        )
        opener = f"'{name}'" if document.quoted else name
        room = document.end - document.start
        if len(opener) > room:
            opener = f"\\{name}"  # what was one escaped character
        pieces.append((document.start, document.end, opener.ljust(room)))
        pieces.append((document.last, document.last_end, name))
    return "".join(_replaced(text, sorted(pieces)))


def _replaced(text: str, pieces: list[tuple[int, int, str]]) -> Iterator[str]:
    at = 0
    for start, end, piece in pieces:
        yield text[at:start]
        yield piece
        at = end
    yield text[at:]


class _Lines:
    """The places of a text's lines: by what they are, without tabs before them, and bare of blanks."""

    def __init__(self, text: str) -> None:
        self.exact: dict[str, list[int]] = {}
        self.tabbed: dict[str, list[int]] = {}
        self.bare: dict[str, list[int]] = {}
        at = 0
        for line in text.split("\n"):
            self.exact.setdefault(line, []).append(at)
            self.tabbed.setdefault(line.lstrip("\t"), []).append(at + len(line) - len(line.lstrip("\t")))
            self.bare.setdefault(line.strip(" \t"), []).append(at)
            at += len(line) + 1


def _next(places: list[int] | None, begin: int) -> int:
    """Give the first place from ``begin`` on, -1 for none."""
    index = bisect_left(places, begin) if places else 0
    return places[index] if places and index < len(places) else -1


def _documents(text: str, lines: _Lines) -> Iterator[_Document]:
    """Give the documents whose words have to be rewritten; what stands in a document opens none."""
    begin = body = 0  # of the documents that were opened by one line: where the first begins, the last ends
    for match in re.finditer(_OPENER, text):
        if begin <= match.start() < body:
            continue
        raw = match[2]
        word = re.sub(r"'([^']*)'|\"([^\"]*)\"|\\(.)", lambda part: "".join(filter(None, part.groups())), raw)
        line = text.find("\n", match.end()) + 1
        if line == 0:
            return
        if line != begin:
            begin = body = line
        last = _next((lines.tabbed if match[1] else lines.exact).get(word), body)
        if last < 0:
            continue
        early = _next(lines.bare.get(word), body)
        body = last + len(word) + 1
        plain = re.match(_PLAIN, word) and raw in (word, f"'{word}'", f'"{word}"', f"\\{word}")
        if not plain or 0 <= early < text.rfind("\n", 0, last) + 1:
            yield _Document(match.start(2), match.end(2), raw != word, last, last + len(word))
