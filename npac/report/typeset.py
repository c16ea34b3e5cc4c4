"""How much room a text takes, without a font at hand.

State names are set in a monospaced face, whose widths are known; all else in a sans-serif one, for
which the widths of a wide face are taken, so that no reader's font runs out of its box.
"""

from __future__ import annotations

MONO = 0.605
_NARROW = frozenset("ijlI.,:;'|!` ")
_SLIM = frozenset('frt()[]{}-/\\"')
_WIDE = frozenset("mwMW@%…—→×")


def mono_width(text: str, size: float) -> float:
    """Give the width of a text in a monospaced face, in pixels."""
    return sum(MONO if char.isascii() else 1.05 for char in text) * size


def sans_width(text: str, size: float) -> float:
    """Give the width of a text in a sans-serif face, in pixels, rather too much than too little."""
    return sum(_em(char) for char in text) * size


def _em(char: str) -> float:
    if char in _NARROW:
        return 0.34
    if char in _SLIM:
        return 0.44
    if char in _WIDE:
        return 0.98
    if not char.isascii():
        return 1.05
    return 0.68 if char.isupper() or char.isdigit() else 0.62
