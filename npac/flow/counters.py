"""How many values the counters of loops take, and how many steps they make of one state.

All of it is arithmetic over the flow graph: nothing is unrolled.  Where an exact number is not to be
had, a smaller one is given, so that what is built from a count can never be larger than the truth.
"""

from __future__ import annotations

from collections.abc import Iterable

from npac.flow.flow import Flow
from npac.flow.late import Entry

MANY = 1 << 62
"""No count is larger: nobody needs to know, and the numbers stay small."""


def loop_bound(flow: Flow, loop: str) -> int | None:
    """Give a loop's ``max``, or None when it cannot be read."""
    decl = flow.spec.states[loop].loop
    if decl is None or decl.max is None:
        return None
    if decl.max.key is None:
        return decl.max.literal
    text = flow.config.values.get(decl.max.key)
    return (
        int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 19 else None
    )


class Counters:
    """The counters of one flow."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.bounds = {
            name: max(1, loop_bound(flow, name) or 1)
            for name, state in flow.spec.states.items()
            if state.loop is not None
        }
        self._enter: dict[str, int] = {}
        self._leave: dict[str, int] = {}
        self._visits: dict[str, int] = {}
        self.busy: set[str] = set()
        """States that run a command, and groups in which one does."""
        self._number()

    def _number(self) -> None:
        """Number the states so that a group's numbers enclose its members'; count visits on the way."""
        members = self.flow.structure.members
        parent = self.flow.structure.parent
        stack = [(name, False) for name in self.flow.spec.states if name not in parent]
        while stack:
            name, finished = stack.pop()
            if finished:
                self._leave[name] = len(self._enter)
                if self.flow.spec.states[name].works or not self.busy.isdisjoint(members.get(name, ())):
                    self.busy.add(name)
                continue
            above = parent.get(name)
            around = self._visits.get(above, 1) if above is not None else 1
            self._visits[name] = min(MANY, around * self.bounds.get(name, 1))
            self._enter[name] = len(self._enter)
            stack.append((name, True))
            stack.extend((child, False) for child in members.get(name, ()) if child not in self._enter)

    def visits(self, state: str) -> int:
        """Give how often the body of ``state`` runs at most: its own loop and those around it multiplied."""
        return self._visits.get(state, 1)

    def values(self, loop: str, state: str) -> int:
        """Give how many values the counter of ``loop`` has where ``state`` runs.

        Inside the loop all of them; after it only the last, unless a decision can end the loop sooner.
        """
        decl = self.flow.spec.states[loop].loop
        early = decl is not None and decl.until is not None
        return self.bounds.get(loop, 1) if early or self._encloses(loop, state) else 1

    def _encloses(self, loop: str, state: str) -> bool:
        if loop not in self._enter or state not in self._enter:
            return False
        return self._enter[loop] <= self._enter[state] < self._leave[loop]

    def steps(self, state: str, held: Iterable[str]) -> tuple[int, tuple[str, ...]]:
        """Give how many steps ``state`` makes when its text holds the holes ``held``, and by which loops.

        Loops that its text names multiply.  What other states' values bring in multiplies as far as
        different iterations are certain to give different texts.
        """
        covered: dict[str, int] = {}
        brought: list[Entry] = []
        for name in sorted(held):
            if name.startswith("loop."):
                loop = name.removeprefix("loop.")
                covered[loop] = self.values(loop, state)
            else:
                brought.append(self.flow.late.entry(name))
        for entry in brought:
            if entry.distinct:
                covered.update((loop, self.values(loop, state)) for loop in entry.loops)
        # in texts whose counters run into one another, one counter at least makes a difference
        rest = {
            loop: self.values(loop, state) for entry in brought for loop in entry.loops if loop not in covered
        }
        if rest:
            largest = max(rest, key=lambda loop: rest[loop])
            covered[largest] = rest[largest]
        count = 1
        for number in covered.values():
            count = min(MANY, count * number)
        return count, tuple(loop for loop, number in covered.items() if number > 1)
