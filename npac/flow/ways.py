"""Paths through the flow graph that show a finding: from the first point to another, past neither of some.

One search of the graph gives a shortest path to every point.  Only where that one passes what is to be
avoided another search is made, and all of these together look at no more than ``WORK`` points: many
findings about a large graph would else cost their product.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from npac.flow.graph import FlowGraph, Kind

WORK = 500_000
"""Points that are looked at for all paths of one graph: about a quarter of a second."""
_WHOLE = 8
_HEAD, _TAIL = 3, 4
_KEPT = 4
"""Searches that are kept for the next question."""


class Way(NamedTuple):
    """The names of the states on a path, as a list that shares its beginning with others."""

    name: str
    before: Way | None
    length: int
    head: tuple[str, ...]

    def names(self) -> list[str]:
        """Give the names; of many the first and last, with ``...`` between."""
        if self.length <= _WHOLE:
            return list(self.head)
        tail: list[str] = []
        at: Way | None = self
        while at is not None and len(tail) < _TAIL:
            tail.append(at.name)
            at = at.before
        return [*self.head[:_HEAD], "...", *reversed(tail)]


def longer(way: Way | None, name: str) -> Way:
    """Give ``way`` with one more name, unless it ends with that one."""
    if way is None:
        return Way(name, None, 1, (name,))
    if way.name == name:
        return way
    head = (*way.head, name) if len(way.head) < _WHOLE else way.head
    return Way(name, way, way.length + 1, head)


class Ways:
    """The paths of one graph."""

    def __init__(self, graph: FlowGraph, work: int = WORK) -> None:
        self.graph = graph
        self._left = work
        self._ways: list[Way | None] = []
        self._enter: list[int] = []
        self._leave: list[int] = []
        self._others: dict[frozenset[int], list[Way | None]] = {}

    def around(self, target: int, avoid: Collection[int]) -> list[str] | None:
        """Give the states on a shortest path to ``target`` that passes none of ``avoid``.

        None when there is no such path, or when none was found with the work that is left.
        """
        if not self._ways:
            self._grow()
        if target in avoid or self._enter[target] < 0:
            return None
        if not any(self._stands_before(point, target) for point in avoid):
            way = self._ways[target]
        else:
            found = self._search(frozenset(avoid))
            way = found[target] if found is not None else None
        return way.names() if way is not None else None

    def spend(self, points: int) -> bool:
        """Take work for a search of another kind; says whether there was any left."""
        self._left -= points
        return self._left > -points

    def said(self, point: int, way: Way | None) -> Way | None:
        """Give ``way`` with what passing ``point`` adds."""
        at = self.graph.points[point]
        return longer(way, at.state) if at.state and at.kind in (Kind.WAVE, Kind.ENTER) else way

    def _stands_before(self, point: int, target: int) -> bool:
        """Say whether the path that is known to ``target`` passes ``point``."""
        return 0 <= self._enter[point] <= self._enter[target] and self._leave[target] <= self._leave[point]

    def _grow(self) -> None:
        """Search the whole graph, and number the tree that comes of it."""
        points = self.graph.points
        children: list[list[int]] = [[] for _ in points]
        self._ways = self._from_entry(frozenset(), children)
        self._enter, self._leave = [-1] * len(points), [-1] * len(points)
        clock = 0
        stack: list[tuple[int, bool]] = [(self.graph.entry, False)]
        while stack:
            at, finished = stack.pop()
            if finished:
                self._leave[at] = clock
            else:
                self._enter[at] = clock
                stack.append((at, True))
                stack.extend((child, False) for child in children[at])
            clock += 1

    def _search(self, avoid: frozenset[int]) -> list[Way | None] | None:
        found = self._others.get(avoid)
        if found is None and self.graph.entry not in avoid and self.spend(len(self.graph.points)):
            found = self._from_entry(avoid, None)
            while len(self._others) >= _KEPT:
                del self._others[next(iter(self._others))]
            self._others[avoid] = found
        return found

    def _from_entry(self, avoid: frozenset[int], children: list[list[int]] | None) -> list[Way | None]:
        points = self.graph.points
        ways: list[Way | None] = [None] * len(points)
        seen = [False] * len(points)
        for point in avoid:
            seen[point] = True
        entry = self.graph.entry
        seen[entry] = True
        ways[entry] = self.said(entry, None)
        queue = [entry]
        for at in queue:
            for follow in points[at].successors:
                if not seen[follow]:
                    seen[follow] = True
                    ways[follow] = self.said(follow, ways[at])
                    queue.append(follow)
                    if children is not None:
                        children[at].append(follow)
        return ways
