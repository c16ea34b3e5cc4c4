"""What comes from outside, made such that a log can hold it.

File names, artifacts, arguments and engines may hold what canonical JSON has no form for: halves of
a surrogate pair, bytes, numbers beyond what readers keep exactly.  A log must be able to say what it
was all the same, so such things are written as text that shows them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

SAFE_INTEGER = (1 << 53) - 1
"""The largest integer that every reader of JSON keeps exactly."""


def writable(value: Any) -> Any:
    """Give plain data with everything that canonical JSON cannot hold replaced by text.

    A lone surrogate becomes the six characters of its escape (``\\ud800``), undecoded bytes of a file
    name likewise; an integer beyond :data:`SAFE_INTEGER` its digits; a float that is no number its
    name.  What can be written stays as it is, so the function changes nothing the second time.
    Values of other types are left for the writer to refuse: they come from npac, not from outside.
    Raises :class:`ValueError` for data that is nested too deeply.
    """
    try:
        return _writable(value)
    except RecursionError:
        raise ValueError("the value is nested too deeply to be written as JSON") from None


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {text(key) if isinstance(key, str) else key: _writable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_writable(item) for item in value]
    return value


def text(value: str) -> str:
    """Give text in which lone surrogates are escaped."""
    # Nearly all text is fine, and this test costs the least.
    if value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def visible(value: str) -> str:
    """Give text as one line in which nothing acts on a terminal: what cannot be printed is escaped."""
    if value.isprintable():
        return value
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in value
    )
