"""Text that is safe to show on a terminal, and how many columns it takes there."""

from __future__ import annotations

TAB_WIDTH = 4

# Hangul vowels and finals are drawn into the syllable that stands before them.
_JOINING_JAMO = (("\u1160", "\u11ff"), ("\ud7b0", "\ud7ff"))
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def visible(text: str) -> str:
    """Give ``text`` as one line in which nothing is invisible or acts on a terminal.

    Control characters become their pictures (``␛``), format characters their number (``<U+202E>``), and
    a byte of a path that is no UTF-8 its digits (``\\xff``).
    """
    if text.isprintable():
        return text
    return "".join(map(glyph, text))


def glyph(char: str) -> str:
    """Give what is shown for one character."""
    if char.isprintable():
        return char
    if char < " ":
        return chr(0x2400 + ord(char))
    if char == "\x7f":
        return "\u2421"
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"  # how Python holds such a byte
    from unicodedata import category

    return f"<U+{ord(char):04X}>" if category(char) in _INVISIBLE else char


def columns(char: str) -> int:
    """Give the number of terminal columns that ``glyph(char)`` takes: 0, 1 or 2, more for a number.

    A tab counts as a full tab stop; where it begins is the caller's to know.
    """
    if " " <= char <= "~":
        return 1
    if char == "\t":
        return TAB_WIDTH
    shown = glyph(char)
    if len(shown) > 1:
        return len(shown)
    from unicodedata import category, east_asian_width

    if category(char) in ("Mn", "Me") or any(first <= char <= last for first, last in _JOINING_JAMO):
        return 0
    return 2 if east_asian_width(shown) in ("W", "F") else 1
