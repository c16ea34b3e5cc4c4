"""Paths that show findings are paths, avoid what they should, and cost no more than they may."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from npac.flow.graph import FlowGraph, Kind
from npac.flow.ways import Ways, longer
from tests.flow.test_passes import graph_of, graphs, reachable


def _points(names: Sequence[str]) -> list[int]:
    return [int(name.removeprefix("s")) for name in names]


def _shortest(graph: FlowGraph, target: int, avoid: frozenset[int]) -> int | None:
    """Give the number of points on a shortest path, by steps from the entry."""
    front, seen, length = {graph.entry} - avoid, set(avoid), 1
    while front and target not in front:
        seen |= front
        front = {to for at in front for to in graph.points[at].successors if to not in seen}
        length += 1
    return length if front else None


@given(st.data(), graphs())
def test_a_way_round_is_a_shortest_path_that_avoids(data: st.DataObject, graph: FlowGraph) -> None:
    ways = Ways(graph)
    avoid = data.draw(st.frozensets(st.integers(0, len(graph.points) - 1), max_size=3))
    for target in range(len(graph.points)):
        names = ways.around(target, avoid)
        wanted = _shortest(graph, target, avoid) if target not in avoid else None
        assert (names is None) == (wanted is None), target
        if names is None or wanted is None or "..." in names:
            continue
        points = _points(names)
        assert len(points) == wanted
        assert points[0] == graph.entry and points[-1] == target and avoid.isdisjoint(points)
        for at, follow in pairwise(points):
            assert follow in graph.points[at].successors
        assert target in reachable(graph, graph.entry)


def test_of_a_long_way_the_first_and_last_states_are_named() -> None:
    count = 50_000
    graph = graph_of([[at + 1] for at in range(count - 1)] + [[]])
    assert Ways(graph).around(count - 1, ()) == [
        "s0",
        "s1",
        "s2",
        "...",
        *(f"s{count - n}" for n in (4, 3, 2, 1)),
    ]
    assert Ways(graph).around(7, ()) == [f"s{at}" for at in range(8)]


def test_points_of_one_state_are_named_once() -> None:
    graph = FlowGraph()
    for state, kind in (("a", Kind.ENTER), ("a", Kind.WAVE), ("g", Kind.GATE), ("b", Kind.WAVE)):
        graph.add(kind, state).successors = (len(graph.points) + 1,)
    graph.points[-1].successors = ()
    assert Ways(graph).around(3, ()) == ["a", "b"]
    assert longer(longer(None, "a"), "a").names() == ["a"]


def test_searches_end_when_the_work_is_used_up() -> None:
    count = 400
    graph = graph_of([[at + 1, at + 2] for at in range(count - 2)] + [[count - 1], []])
    ways = Ways(graph, work=3 * count)
    found = [ways.around(count - 1, (at,)) for at in range(3, count - 2, 2)]
    assert all(way is not None for way in found[:3])
    assert sum(way is not None for way in found) == 3
    assert ways.around(count - 1, (2,)) is not None  # the path that is known anyway costs nothing
