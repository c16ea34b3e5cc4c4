"""Plain passes over the flow graph: reachability, dominators, live variables.

All are iterative and near linear in the size of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from npac.flow.graph import FlowGraph


def reverse_postorder(graph: FlowGraph) -> list[int]:
    """Give the points that the entry reaches, each before its successors where no loop turns back."""
    seen = [False] * len(graph.points)
    order: list[int] = []
    stack: list[tuple[int, int]] = [(graph.entry, 0)]
    seen[graph.entry] = True
    while stack:
        at, turn = stack.pop()
        successors = graph.points[at].successors
        # the last successor is followed first, so that the first comes first in the order
        place = len(successors) - 1 - turn
        if place < 0:
            order.append(at)
            continue
        stack.append((at, turn + 1))
        follow = successors[place]
        if not seen[follow]:
            seen[follow] = True
            stack.append((follow, 0))
    order.reverse()
    return order


def predecessors(graph: FlowGraph, order: Iterable[int]) -> list[list[int]]:
    """Give the reachable predecessors of every point."""
    before: list[list[int]] = [[] for _ in graph.points]
    for at in order:
        for follow in graph.points[at].successors:
            before[follow].append(at)
    return before


class Dominators(NamedTuple):
    """The dominator tree; ``a`` dominates ``b`` when every path to ``b`` passes through ``a``."""

    enter: list[int]
    leave: list[int]

    def dominates(self, a: int, b: int) -> bool:
        """Say whether ``a`` is on every path to ``b`` (a point dominates itself).

        False when either cannot be reached.
        """
        if self.enter[a] < 0 or self.enter[b] < 0:
            return False
        return self.enter[a] <= self.enter[b] and self.leave[b] <= self.leave[a]


def dominators(graph: FlowGraph, order: Sequence[int]) -> Dominators:
    """Work out the dominator tree of the reachable points.

    Cooper, Harvey and Kennedy's algorithm is the fastest on graphs of a usual size; as its time may grow
    with the square of that, large ones go by Lengauer and Tarjan's.
    """
    if len(order) > _LARGE:
        return _intervals(graph.entry, order, _by_semidominators(graph, order))
    count = len(graph.points)
    rank = [-1] * count
    for place, at in enumerate(order):
        rank[at] = place
    before = predecessors(graph, order)
    idom = [-1] * count
    idom[graph.entry] = graph.entry
    changed = True
    while changed:
        changed = False
        for at in order:
            if at == graph.entry:
                continue
            new = -1
            for prior in before[at]:
                if idom[prior] < 0:
                    continue
                new = prior if new < 0 else _meet(prior, new, idom, rank)
            if new != idom[at]:
                idom[at] = new
                changed = True
    return _intervals(graph.entry, order, idom)


_LARGE = 1000
"""Points of a graph from which on its dominators are worked out in near linear time."""


def _by_semidominators(graph: FlowGraph, order: Sequence[int]) -> list[int]:
    """Give each point's immediate dominator, by Lengauer and Tarjan's simple algorithm."""
    points = graph.points
    number = [-1] * len(points)  # by the order in which a walk in depth comes to them
    vertex: list[int] = []
    above: list[int] = []
    stack = [(graph.entry, 0)]
    while stack:
        at, before = stack.pop()
        if number[at] >= 0:
            continue
        number[at] = len(vertex)
        vertex.append(at)
        above.append(before)
        stack.extend((follow, number[at]) for follow in reversed(points[at].successors) if number[follow] < 0)
    count = len(vertex)
    before_all = predecessors(graph, order)
    semi = list(range(count))
    label = list(range(count))
    ancestor = [-1] * count
    waiting: list[list[int]] = [[] for _ in range(count)]
    idom = [0] * count

    def least(at: int) -> int:
        """Give the point with the least semidominator on the way up, shortening that way."""
        if ancestor[at] < 0:
            return at
        chain = []
        top = at
        while ancestor[ancestor[top]] >= 0:
            chain.append(top)
            top = ancestor[top]
        for below in reversed(chain):
            up = ancestor[below]
            if semi[label[up]] < semi[label[below]]:
                label[below] = label[up]
            ancestor[below] = ancestor[up]
        return label[at]

    for at in range(count - 1, 0, -1):
        for prior in before_all[vertex[at]]:
            semi[at] = min(semi[at], semi[least(number[prior])])
        waiting[semi[at]].append(at)
        parent = above[at]
        ancestor[at] = parent
        for other in waiting[parent]:
            near = least(other)
            idom[other] = near if semi[near] < semi[other] else parent
        waiting[parent].clear()
    for at in range(1, count):
        if idom[at] != semi[at]:
            idom[at] = idom[idom[at]]
    found = [-1] * len(points)
    for at in range(count):
        found[vertex[at]] = vertex[idom[at]]
    return found


def _meet(a: int, b: int, idom: list[int], rank: list[int]) -> int:
    while a != b:
        while rank[a] > rank[b]:
            a = idom[a]
        while rank[b] > rank[a]:
            b = idom[b]
    return a


def _intervals(entry: int, order: Sequence[int], idom: list[int]) -> Dominators:
    children: dict[int, list[int]] = {}
    for at in order:
        if at != entry:
            children.setdefault(idom[at], []).append(at)
    enter = [-1] * len(idom)
    leave = [-1] * len(idom)
    clock = 0
    stack: list[tuple[int, bool]] = [(entry, False)]
    while stack:
        at, finished = stack.pop()
        if finished:
            leave[at] = clock
            clock += 1
            continue
        enter[at] = clock
        clock += 1
        stack.append((at, True))
        stack.extend((child, False) for child in children.get(at, ()))
    return Dominators(enter, leave)


def live_variables(
    graph: FlowGraph,
    order: Sequence[int],
    uses: Callable[[int], frozenset[str]],
    defines: Callable[[int], frozenset[str]],
) -> list[frozenset[str]]:
    """Give the variables that are live just before each point.

    A variable is live where some path leads to a use of it before it is defined again.
    """
    empty: frozenset[str] = frozenset()
    live: list[frozenset[str]] = [empty] * len(graph.points)
    before = predecessors(graph, order)
    waiting = list(order)
    queued = [False] * len(graph.points)
    for at in order:
        queued[at] = True
    while waiting:
        at = waiting.pop()
        queued[at] = False
        after: frozenset[str] = empty
        for follow in graph.points[at].successors:
            item = live[follow]
            if item:
                after = item if not after else after | item
        defined, used = defines(at), uses(at)
        new = after - defined if defined else after
        if used:
            new = new | used
        if new != live[at]:
            live[at] = new
            for prior in before[at]:
                if not queued[prior]:
                    queued[prior] = True
                    waiting.append(prior)
    return live


_BLOCK = 2048
"""Marks that go through the graph together."""


def reaching(graph: FlowGraph, order: Sequence[int], marks: Sequence[int]) -> dict[int, int]:
    """Give for each point of ``marks`` which of them lead to it or from it, on a path of one edge or more.

    The marks are bits of a number, in the order given; all of them are reachable points.
    """
    forward = [graph.points[at].successors for at in range(len(graph.points))]
    found = dict.fromkeys(marks, 0)
    back = predecessors(graph, order)
    for edges, sweep in ((forward, order), (back, order[::-1])):
        for begin in range(0, len(marks), _BLOCK):
            own = {at: 1 << bit for bit, at in enumerate(marks[begin : begin + _BLOCK])}
            came = _flood(edges, sweep, own)
            for at in marks:
                found[at] |= came[at] << begin
    return found


def _flood(edges: Sequence[Sequence[int]], sweep: Sequence[int], own: Mapping[int, int]) -> list[int]:
    """Give the bits that come to each point along the edges from the points that have them."""
    came = [0] * len(edges)
    place = {at: rank for rank, at in enumerate(sweep)}
    waiting = [False] * len(edges)
    for at in own:
        waiting[at] = True
    again = True
    while again:
        again = False
        for at in sweep:
            if not waiting[at]:
                continue
            waiting[at] = False
            bits = came[at] | own.get(at, 0)
            for follow in edges[at]:
                if bits & ~came[follow]:
                    came[follow] |= bits
                    waiting[follow] = True
                    again = again or place[follow] <= place[at]
    return came
