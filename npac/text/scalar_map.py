"""Where the characters of a scalar's value stand in the file.

A value and its source differ by quotes, escapes, indentation and folding.  The map is found by
walking both side by side, which needs no second YAML reader; where the two cannot be brought
together the caller falls back to the whole scalar.
"""

from __future__ import annotations

_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
    "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\",
    "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_HEX = {"x": 2, "u": 4, "U": 8}


def inner_offsets(text: str, start: int, end: int, value: str, style: str) -> int | list[int] | None:
    """Give the offset of each character of ``value`` in ``text[start:end]``.

    An ``int`` is the offset of the first character, when all follow one another; ``None`` means
    that the two could not be matched.
    """
    if style in ("", "!"):
        if text[start:end] == value:
            return start
        at = text.find(value, start, end)  # after a tag or an anchor
        return at if at >= 0 else _walk(text, start, end, value, "")
    if style in ("'", '"'):
        open_at = text.find(style, start, end)
        if open_at < 0:
            return None
        if text[open_at + 1 : end - 1] == value and (style == "'" or "\\" not in value):
            return open_at + 1
        return _walk(text, open_at + 1, end - 1, value, style)
    header_end = text.find("\n", start, end)
    if header_end < 0:
        return None
    return _walk(text, header_end + 1, end, value, style)


def _walk(text: str, at: int, end: int, value: str, style: str) -> list[int] | None:
    block = style in ("|", ">")
    indent = _block_indent(text, at, end) if block else 0
    if block:
        at = _skip_indent(text, at, end, indent)
    offsets: list[int] = []
    for want in value:
        while True:
            if at >= end:
                if want == "\n" and block:  # line ends that belong to the value but were cut from the span
                    offsets.append(max(end - 1, 0))
                    break
                return None
            char = text[at]
            if style == '"' and char == "\\":
                width, got = _escape(text, at, end)
                if got == want:
                    offsets.append(at)
                    at += width
                    break
                if got == "":
                    at += width
                    while at < end and text[at] in " \t":
                        at += 1
                    continue
                return None
            if style == "'" and char == "'" and want == "'":
                offsets.append(at)
                at += 2
                break
            if char in "\r\n":
                after = at + (2 if text[at : at + 2] == "\r\n" else 1)
                after = _skip_indent(text, after, end, indent) if block else _skip_blanks(text, after, end)
                if want in "\n ":
                    offsets.append(at)
                    at = after
                    break
                at = after
                continue
            if char == want:
                offsets.append(at)
                at += 1
                break
            if char in " \t" and not block:
                at += 1
                continue
            if char in " \t" and block and want in "\n ":
                at += 1
                continue
            return None
    return offsets


def _skip_blanks(text: str, at: int, end: int) -> int:
    while at < end and text[at] in " \t":
        at += 1
    return at


def _skip_indent(text: str, at: int, end: int, indent: int) -> int:
    stop = min(end, at + indent)
    while at < stop and text[at] == " ":
        at += 1
    return at


def _block_indent(text: str, at: int, end: int) -> int:
    header_start = text.rfind("\n", 0, at - 1) + 1
    header = text[header_start : at - 1]
    mark = max(header.rfind("|"), header.rfind(">"))
    lines = text[at:end].split("\n")
    widths = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    if not widths:
        return 0
    digits = [char for char in header[mark + 1 : mark + 3] if char.isdigit()]
    if digits:
        # an explicit indentation counts from the parent, which the least indented line bounds
        return min(min(widths), widths[0]) if widths[0] <= min(widths) else min(widths)
    return widths[0]


def _escape(text: str, at: int, end: int) -> tuple[int, str]:
    follows = text[at + 1 : at + 2]
    if follows in _HEX:
        width = _HEX[follows]
        try:
            return 2 + width, chr(int(text[at + 2 : min(end, at + 2 + width)], 16))
        except (ValueError, OverflowError):
            return 2, "\ufffd"
    if follows in ("\n", "\r"):
        return (3 if text[at + 1 : at + 3] == "\r\n" else 2), ""
    return 2, _ESCAPES.get(follows, "\ufffd")
