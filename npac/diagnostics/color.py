"""Whether to colour, and the colours themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

_STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "secondary": "1;34",
    "gutter": "1;34",
    "help": "1;32",
    "strong": "1",
    "added": "32",
    "removed": "31",
    "hunk": "36",
}


class Stream(Protocol):
    """What can be asked whether it is a terminal."""

    def isatty(self) -> bool:
        """Say whether a person sees what is written."""
        ...


def wants_color(flag: bool | None, environment: Mapping[str, str], stream: Stream) -> bool:
    """Decide whether output to ``stream`` is coloured.

    The order is: the command's own ``flag`` (None when not given), then ``NO_COLOR``, then
    ``FORCE_COLOR`` (each counts when it is set to anything but the empty string), then whether
    ``stream`` is a terminal that knows colours.
    """
    if flag is not None:
        return flag
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    try:
        terminal = stream.isatty()
    except (AttributeError, ValueError):  # a stand-in without the method, or a closed stream
        return False
    return terminal and environment.get("TERM") != "dumb"


def paint(text: str, style: str, on: bool) -> str:
    """Give ``text`` in ``style`` (``"error"``, ``"gutter"``, …), or unchanged when not ``on``."""
    if not on or not text:
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"
