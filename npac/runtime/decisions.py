"""What a decision artifact says."""

from __future__ import annotations

import json
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

_SHOWN = 200


class DecisionError(ValueError):
    """The artifact holds no decision; the message shows what it holds."""


def parse(data: bytes) -> str:
    """Give ``promote_checkpoint`` or ``loop_back``.

    Raises :class:`DecisionError` for bytes that are not a JSON object, an object without a decision,
    and a decision that is empty or unknown.  Nothing is ever assumed.
    """
    if not data.strip():
        raise DecisionError("the decision artifact is empty")
    try:
        found = json.loads(data.decode("utf-8"), object_pairs_hook=_unique)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise DecisionError(
            f"the decision artifact is not JSON ({visible(str(error))}): {_show(data)}"
        ) from error
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


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _show(data: bytes) -> str:
    return _cut(visible(data[: _SHOWN + 1].decode("utf-8", "backslashreplace")))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
