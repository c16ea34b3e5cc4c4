"""Where the characters of a scalar's value stand in the file.

A value and its source differ by quotes, escapes, indentation and folding.  The map is found by
walking both side by side, which needs no second YAML reader; where the two cannot be brought
together the caller falls back to the whole scalar.
"""

from __future__ import annotations

from typing import NamedTuple

_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
    "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\",
    "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_HEX = {"x": 2, "u": 4, "U": 8}


class Places(NamedTuple):
    """Where each character of a value begins and ends in the file, by its place in the value."""

    starts: list[int]
    ends: list[int]


def inner_offsets(text: str, start: int, end: int, value: str, style: str) -> int | Places | None:
    """Give the places of the characters of ``value`` in ``text[start:end]``.

    ``start`` is where the scalar itself begins, after its anchor and tag.  An ``int`` is the offset
    of the first character, when all follow one another; ``None`` means that the two could not be
    matched.
    """
    if style in ("", "!"):
        return start if text[start:end] == value else _walk(text, start, end, value, "", 0)
    if style in ("'", '"'):
        if text[start + 1 : end - 1] == value and (style == "'" or "\\" not in value):
            return start + 1
        return _walk(text, start + 1, end - 1, value, style, 0)
    at = start
    while at < end and text[at] not in "\r\n":
        at += 1
    at = _line_end(text, at)
    while end < len(text) and text[end] in " \t\r\n":  # line ends that the chomping kept
        end += 1
    return _walk(text, at, end, value, style, _block_indent(text[at:end], value))


def _walk(text: str, at: int, end: int, value: str, style: str, indent: int) -> Places | None:
    block = style in ("|", ">")
    if block:
        at = _skip_indent(text, at, end, indent)
    starts: list[int] = []
    ends: list[int] = []
    for want in value:
        while True:
            if at >= end:
                if want != "\n" or not block:
                    return None
                starts.append(end)  # the last line has no line end of its own
                ends.append(end)
                break
            char = text[at]
            width = 0
            if style == '"' and char == "\\":
                size, got = _escape(text, at, end)
                if got == "":
                    at = _skip_blanks(text, at + size, end)
                    continue
                if got != want:
                    return None
                width = size
            elif style == "'" and char == "'" and want == "'":
                width = 2
            elif char in "\r\n":
                after = _line_end(text, at)
                if want in "\n ":
                    starts.append(at)
                    ends.append(after)
                at = _skip_indent(text, after, end, indent) if block else _skip_blanks(text, after, end)
                if want in "\n ":
                    break
                continue
            elif char == want:
                width = 1
            elif char in " \t" and (not block or want in "\n "):
                at += 1
                continue
            else:
                return None
            starts.append(at)
            at += width
            ends.append(at)
            break
    return Places(starts, ends)


def _line_end(text: str, at: int) -> int:
    """Give the offset behind the line end at ``at``."""
    return at + (2 if text[at : at + 2] == "\r\n" else 1)


def _skip_blanks(text: str, at: int, end: int) -> int:
    while at < end and text[at] in " \t":
        at += 1
    return at


def _skip_indent(text: str, at: int, end: int, indent: int) -> int:
    stop = min(end, at + indent)
    while at < stop and text[at] == " ":
        at += 1
    return at


def _block_indent(lines: str, value: str) -> int:
    """Give how many blanks were cut from the lines of a block scalar: what the first one has lost."""
    return max(0, _first_indent(lines) - _first_indent(value))


def _first_indent(lines: str) -> int:
    """Give the blanks before the first line that has more than blanks."""
    for line in lines.replace("\r", "\n").split("\n"):
        bare = line.lstrip(" ")
        if bare:
            return len(line) - len(bare)
    return 0


def _escape(text: str, at: int, end: int) -> tuple[int, str]:
    """Give an escape's length and what it stands for; nothing for a line that is continued."""
    follows = text[at + 1 : at + 2]
    if follows in _HEX:
        width = _HEX[follows]
        try:
            return 2 + width, chr(int(text[at + 2 : min(end, at + 2 + width)], 16))
        except (ValueError, OverflowError):
            return 2, "\ufffd"
    if follows in ("\n", "\r"):
        return 1 + _line_end(text, at + 1) - (at + 1), ""
    return 2, _ESCAPES.get(follows, "\ufffd")
