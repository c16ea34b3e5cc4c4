"""What a decision artifact says."""

from __future__ import annotations

import json
import re
from typing import Any

from npac.ir.program import LOOP_BACK, PROMOTE
from npac.ledger.outside import visible

KEYS = ("decision", "last_decision", "action")
"""The first of these that the object has gives the decision."""

MEANINGS = {
    "promote": PROMOTE,
    "promote_checkpoint": PROMOTE,
    "loop_back": LOOP_BACK,
    "loop_back_to_inner_loop": LOOP_BACK,
}

MAX_DEPTH = 200
"""Most levels of lists and objects within each other in a decision artifact."""
_SHOWN = 200
_LONGEST_NUMBER = 400
"""Digits of the longest integer that is read as a number; a longer one, which decides nothing, stays text."""
_BOM = b"\xef\xbb\xbf"
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


class DecisionError(ValueError):
    """The artifact holds no decision; the message shows what it holds."""


def parse(data: bytes) -> str:
    """Give ``promote_checkpoint`` or ``loop_back``.

    Whatever else stands in the object is passed over.  A byte order mark may stand before it.

    Raises :class:`DecisionError` for bytes that are not a JSON object, an object without a decision,
    a decision that is empty or unknown (also ``null``, which no later key makes good), and nesting
    beyond :data:`MAX_DEPTH`.  Nothing is ever assumed.
    """
    data = data.removeprefix(_BOM)
    if not data.strip():
        raise DecisionError("the decision artifact is empty")
    if _depth(data) > MAX_DEPTH:
        raise _too_deep(data)
    try:
        found = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_int=_integer)
    except UnicodeDecodeError as error:
        raise DecisionError(
            "the decision artifact is not JSON "
            f"(byte {error.start + 1} begins no UTF-8 character): {_show(data)}"
        ) from error
    except ValueError as error:
        raise DecisionError(
            f"the decision artifact is not JSON ({visible(str(error))}): {_show(data)}"
        ) from error
    except RecursionError as error:
        raise _too_deep(data) from error
    if not isinstance(found, dict):
        raise DecisionError(f"the decision artifact is not a JSON object: {_show(data)}")
    for key in KEYS:
        if key in found:
            return meaning(found[key], key)
    raise DecisionError(f"the decision artifact has none of {', '.join(KEYS)}: {_show(data)}")


def meaning(value: Any, key: str = "decision") -> str:
    """Give what one value means.  Raises :class:`DecisionError` for a value that means nothing."""
    if isinstance(value, str) and value in MEANINGS:
        return MEANINGS[value]
    try:
        shown = _cut(visible(json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        shown = "a value nested too deeply to be shown"
    raise DecisionError(f"{key} is {shown}, which is none of {', '.join(MEANINGS)}")


def _too_deep(data: bytes) -> DecisionError:
    return DecisionError(
        f"the decision artifact is nested deeper than {MAX_DEPTH} levels, so it is not read: {_show(data)}"
    )


def _depth(data: bytes) -> int:
    """Give how deep the brackets outside of strings are nested; roughly, where the bytes are no JSON."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return 0
    depth = deepest = 0
    for bracket in re.findall(rb"[\[\]{}]", _STRING.sub(b"", data)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else digits


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _show(data: bytes) -> str:
    return _cut(visible(data[: _SHOWN + 1].decode("utf-8", "backslashreplace")))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
