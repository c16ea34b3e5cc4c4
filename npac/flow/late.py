"""How long late values can be, and on which loops they depend.

A run id is as long as a name may be, a counter as long as its loop's ``max``, and a state's value
as long as its output's URI with all of these in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from npac.flow.config import MAX_VALUE, Config, value_length
from npac.flow.steps import SymbolicStep
from npac.flow.symbolic import hole_names
from npac.ir.values import TRANSFORMS, Apply, Concat, Hole, Value
from npac.syntax.ast import Spec

LONGEST_RUN_ID = 96
_LOOPS = 16
"""Loops that are kept of those that a value depends on; more only make a count more exact."""
_VAST = 1 << 62
"""No length is larger: nobody needs to know, and the numbers stay small."""
_DEEP = 40
"""States whose values may stand in one another where a value is written out to be transformed."""


class Entry(NamedTuple):
    """What is known of one late value; lengths in bytes."""

    least: int
    most: int
    loops: tuple[str, ...] = ()
    """Loops whose counters it holds, also by way of other states."""
    distinct: bool = True
    """Different values of ``loops`` certainly give different texts."""
    run_id: bool = False
    """It holds the run id."""


_UNKNOWN = Entry(0, 0)
_RUN_ID = Entry(0, LONGEST_RUN_ID, run_id=True)


class Late:
    """The late values of one spec."""

    def __init__(self, spec: Spec, config: Config, steps: Mapping[str, SymbolicStep]) -> None:
        self.spec = spec
        self.config = config
        self.steps = steps
        self._entries: dict[str, Entry] = {"run.id": _RUN_ID}
        self._applied: dict[Apply, int] = {}
        self.profiles: dict[int, int] = {}
        """Bytes of the texts of each profile, by the identity of its tree."""

    def entry(self, hole: str) -> Entry:
        """Give what is known of the hole ``hole``; chains of states are followed without recursion."""
        found = self._entries.get(hole)
        if found is not None:
            return found
        stack = [hole]
        while stack:
            name = stack[-1]
            value = self.origin(name)
            waiting = [other for other in _names(value) if other not in self._entries] if value else []
            if waiting and name not in self._entries:
                self._entries[name] = _UNKNOWN  # a value that needs itself counts as nothing
                stack.extend(waiting)
                continue
            stack.pop()
            self._entries[name] = self._counter(name) if value is None else self._of(value)
        return self._entries[hole]

    def origin(self, hole: str) -> Value | None:
        """Give the value that a ``state.`` or ``decision.`` hole stands for; None for a counter."""
        scope, _, rest = hole.partition(".")
        if scope == "state":
            state, _, number = rest.rpartition(".")
            step = self.steps.get(state)
            outputs = step.outputs if step is not None else ()
            return outputs[int(number) - 1].uri if 0 < int(number) <= len(outputs) else ""
        if scope == "decision":
            step = self.steps.get(rest)
            return (step.decision_uri if step is not None else None) or ""
        return None

    def _counter(self, hole: str) -> Entry:
        loop = hole.partition(".")[2]
        return Entry(1, len(self.greatest(loop)), (loop,))

    def greatest(self, loop: str) -> str:
        """Give the last value of a loop's counter; ``1`` when its ``max`` cannot be read."""
        state = self.spec.states.get(loop)
        decl = state.loop if state is not None else None
        if decl is None or decl.max is None:
            return "1"
        if decl.max.key is None:
            return str(decl.max.literal or 1)
        text = self.config.values.get(decl.max.key)
        plain = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 19
        return str(int(text)) if plain and isinstance(text, str) else "1"

    def _of(self, value: Value) -> Entry:
        loops: dict[str, None] = {}
        distinct, run_id = True, False
        for name in _names(value):
            entry = self._entries.get(name, _UNKNOWN)
            loops.update(dict.fromkeys(entry.loops))
            distinct = distinct and entry.distinct
            run_id = run_id or entry.run_id
        kept = tuple(loops)[:_LOOPS]
        # one counter makes a text longer or changes it in its place; several need something between them
        distinct = distinct and (len(loops) <= 1 or _delimited(value))
        return Entry(self.least(value), self.most(value), kept, distinct, run_id)

    def least(self, value: Value) -> int:
        """Give a length that the text of ``value`` is never below, a run id counting as nothing."""
        if isinstance(value, str):
            return value_length(value)
        if isinstance(value, Hole):
            return self.entry(value.name).least
        if isinstance(value, Apply):
            return self.least(value.value)  # no transform makes a text shorter
        return min(_VAST, sum(self.least(part) for part in value.parts))

    def most(self, value: Value) -> int:
        """Give the greatest length that the text of ``value`` can have."""
        if isinstance(value, str):
            return value_length(value)
        if isinstance(value, Hole):
            return self.entry(value.name).most
        if isinstance(value, Apply):
            found = self._applied.get(value)
            if found is None:
                text = TRANSFORMS[value.transform](self.text(value.value))
                found = self._applied[value] = value_length(text)
            return found
        return min(_VAST, sum(self.most(part) for part in value.parts))

    def text(self, value: Value, *, first: bool = False, depth: int = 0) -> str:
        """Give ``value`` at its longest, in the last iteration of every loop; with ``first`` in the first."""
        if isinstance(value, str):
            return value
        if isinstance(value, Apply):
            return TRANSFORMS[value.transform](self.text(value.value, first=first, depth=depth))
        if isinstance(value, Concat):
            return "".join(self.text(part, first=first, depth=depth) for part in value.parts)
        if value.name == "run.id":
            return "r" * LONGEST_RUN_ID
        if value.name.startswith("loop."):
            return "1" if first else self.greatest(value.name.removeprefix("loop."))
        origin = self.origin(value.name)
        most = self.entry(value.name).most
        if depth > _DEEP or not origin or not 0 < most <= MAX_VALUE:
            return "x" * min(most, MAX_VALUE + 1)
        return self.text(origin, first=first, depth=depth + 1)


def _names(value: Value) -> list[str]:
    found: set[str] = set()
    hole_names(value, found)
    return sorted(found)


def _delimited(value: Value) -> bool:
    """Say whether a text of several counters can be taken apart again: no digit follows a counter."""
    parts = value.parts if isinstance(value, Concat) else (value,)
    for part, after in pairwise(parts):
        if not isinstance(part, str) and (not isinstance(after, str) or after[0].isdigit()):
            return False
    return all(
        isinstance(part, str) or (isinstance(part, Hole) and part.name.startswith(("loop.", "run.")))
        for part in parts
    )
