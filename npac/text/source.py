"""Source files and places in them.

Offsets count characters of the decoded text (without a byte order mark); lines and columns count
from 1 and are worked out only when something is shown.
"""

from bisect import bisect_right
from typing import NamedTuple

MAX_ALIKE = 1_000
"""Findings of one kind that are listed for a file; those beyond are counted."""


class SourceFile:
    """A text with a name.  ``path`` is what the user gave; ``bom`` says whether a BOM was cut off."""

    __slots__ = ("_starts", "bom", "path", "text")

    def __init__(self, path: str, text: str, *, bom: bool = False) -> None:
        self.path = path
        self.text = text
        self.bom = bom
        self._starts: list[int] | None = None

    @property
    def line_starts(self) -> list[int]:
        """Offsets at which lines begin; LF, CRLF and lone CR end a line."""
        if self._starts is None:
            starts = [0]
            text = self.text
            if "\r" not in text:
                at = text.find("\n")
                while at >= 0:
                    starts.append(at + 1)
                    at = text.find("\n", at + 1)
            else:
                for at, char in enumerate(text):
                    if char == "\n" or (char == "\r" and text[at + 1 : at + 2] != "\n"):
                        starts.append(at + 1)
            self._starts = starts
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Give line and column of ``offset``, both from 1, columns in characters."""
        starts = self.line_starts
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Give line ``number`` (from 1) without its line end; empty past the end."""
        starts = self.line_starts
        if not 1 <= number <= len(starts):
            return ""
        return self.text[starts[number - 1] : self.line_end(number)]

    def line_end(self, number: int) -> int:
        """Give where the characters of line ``number`` (from 1) end, before its line end."""
        starts, text = self.line_starts, self.text
        start = starts[number - 1]
        end = starts[number] if number < len(starts) else len(text)
        while end > start and text[end - 1] in "\r\n":
            end -= 1
        return end

    def span(self, start: int, end: int) -> "Span":
        """Give the span from ``start`` up to, not including, ``end``."""
        return Span(self, start, end)


class Span(NamedTuple):
    """A stretch of a source file; ``end`` is exclusive."""

    source: SourceFile
    start: int
    end: int

    @property
    def text(self) -> str:
        """The characters of the span."""
        return self.source.text[self.start : self.end]

    def range(self) -> tuple[int, int, int, int]:
        """Give start line, start column, end line, end column, all from 1, the end exclusive."""
        return (*self.source.position(self.start), *self.source.position(self.end))


def decode(path: str, data: bytes) -> tuple[SourceFile, int | None]:
    """Decode ``data`` as UTF-8.

    Gives the file and None, or, when the bytes are no UTF-8, a file with replacement characters
    and the offset of the first character that could not be read.
    """
    bom = data.startswith(b"\xef\xbb\xbf")
    body = data[3:] if bom else data
    try:
        return SourceFile(path, body.decode("utf-8"), bom=bom), None
    except UnicodeDecodeError as error:
        good = body[: error.start].decode("utf-8")
        return SourceFile(path, body.decode("utf-8", "replace"), bom=bom), len(good)
