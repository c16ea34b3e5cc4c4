"""JSON for people: sorted keys, indented by two.

The standard library writes indented JSON an item at a time in Python; this takes a third of its time.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Any


def pretty(data: Any) -> bytes:
    """Give JSON data in UTF-8 with one line feed at the end.

    Raises ``TypeError`` or ``ValueError`` for what JSON cannot hold.
    """
    return f"{pretty_text(data)}\n".encode()


def pretty_text(data: Any, depth: int = 0) -> str:
    """Give JSON data as it stands ``depth`` columns in; raises as :func:`pretty`."""
    return _text(data, "\n" + " " * depth)


def _text(data: Any, margin: str) -> str:
    kind = type(data)
    if kind is str:
        return encode_basestring(data)
    if kind is dict:
        if not data:
            return "{}"
        if all(type(key) is str for key in data):
            inner = f"{margin}  "
            entries = [f"{encode_basestring(key)}: {_text(data[key], inner)}" for key in sorted(data)]
            return f"{{{inner}{f',{inner}'.join(entries)}{margin}}}"
    if kind is list:
        if not data:
            return "[]"
        inner = f"{margin}  "
        return f"[{inner}{f',{inner}'.join([_text(item, inner) for item in data])}{margin}]"
    if kind is int:
        return str(data)
    text = json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    return text.replace("\n", margin)  # no text in JSON holds a line feed as it is
