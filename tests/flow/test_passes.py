"""The passes over the flow graph agree with their definitions, on random graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from npac.flow.graph import FlowGraph, Kind
from npac.flow.passes import (
    dominators,
    live_variables,
    predecessors,
    reaching,
    reverse_postorder,
)
from npac.flow.ways import Ways

NAMES = ("a", "b")


def graph_of(edges: Sequence[Sequence[int]]) -> FlowGraph:
    graph = FlowGraph()
    for at in range(len(edges)):
        graph.add(Kind.WAVE, f"s{at}")
    for point, successors in zip(graph.points, edges, strict=True):
        point.successors = tuple(successors)
    return graph


@st.composite
def graphs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> FlowGraph:
    count = draw(st.integers(1, 9))
    successors = st.lists(st.integers(0, count - 1), max_size=2, unique=True)
    return graph_of(draw(st.lists(successors, min_size=count, max_size=count)))


def reachable(graph: FlowGraph, start: int, avoid: int = -1) -> set[int]:
    """Give what ``start`` reaches without passing ``avoid``, itself included."""
    if start == avoid:
        return set()
    seen = {start}
    stack = [start]
    while stack:
        for follow in graph.points[stack.pop()].successors:
            if follow != avoid and follow not in seen:
                seen.add(follow)
                stack.append(follow)
    return seen


@given(graphs())
def test_reverse_postorder_has_all_that_is_reached_once(graph: FlowGraph) -> None:
    order = reverse_postorder(graph)
    assert sorted(order) == sorted(reachable(graph, graph.entry))
    assert order[0] == graph.entry


@given(graphs())
def test_reverse_postorder_of_a_dag_is_topological(graph: FlowGraph) -> None:
    for at, point in enumerate(graph.points):
        point.successors = tuple(follow for follow in point.successors if follow > at)
    place = {at: rank for rank, at in enumerate(reverse_postorder(graph))}
    for at in place:
        assert all(place[follow] > place[at] for follow in graph.points[at].successors)


@given(graphs())
def test_predecessors_are_the_edges_turned_round(graph: FlowGraph) -> None:
    order = reverse_postorder(graph)
    before = predecessors(graph, order)
    edges = {(at, follow) for at in order for follow in graph.points[at].successors}
    assert {(prior, at) for at, priors in enumerate(before) for prior in priors} == edges


@given(graphs())
def test_dominators_are_what_cannot_be_gone_round(graph: FlowGraph) -> None:
    found = dominators(graph, reverse_postorder(graph))
    reached = reachable(graph, graph.entry)
    for b in range(len(graph.points)):
        for a in range(len(graph.points)):
            wanted = a in reached and b in reached and b not in reachable(graph, graph.entry, avoid=a)
            assert found.dominates(a, b) == wanted, (a, b)


@given(graphs(), st.frozensets(st.integers(0, 8), max_size=3))
def test_a_way_around_is_a_shortest_path_that_avoids(graph: FlowGraph, some: frozenset[int]) -> None:
    avoid = {at for at in some if at < len(graph.points)}
    ways = Ways(graph)
    for target in range(len(graph.points)):
        names = ways.around(target, avoid)
        far = _steps_to(graph, target, avoid)
        assert (names is not None) == (far is not None), (target, avoid)
        if names is None or "..." in names:
            assert names is None or (far is not None and far >= len(names))
            continue
        points = [int(name.removeprefix("s")) for name in names]
        assert len(points) == far
        assert points[0] == graph.entry and points[-1] == target and not avoid & set(points)
        for at, follow in pairwise(points):
            assert follow in graph.points[at].successors


def _steps_to(graph: FlowGraph, target: int, avoid: set[int]) -> int | None:
    """Give how many points a shortest path from the entry has that passes none of ``avoid``."""
    if graph.entry in avoid:
        return None
    far = {graph.entry: 1}
    queue = [graph.entry]
    for at in queue:
        for follow in graph.points[at].successors:
            if follow not in far and follow not in avoid:
                far[follow] = far[at] + 1
                queue.append(follow)
    return far.get(target)


@given(graphs(), st.data())
def test_reaching_tells_which_points_a_path_joins(graph: FlowGraph, data: st.DataObject) -> None:
    order = reverse_postorder(graph)
    marks = data.draw(st.lists(st.sampled_from(order), unique=True))
    found = reaching(graph, order, marks)
    after = {
        at: set().union(*(reachable(graph, follow) for follow in graph.points[at].successors)) for at in marks
    }
    for at in marks:
        joined = {other for other in marks if other in after[at] or at in after[other]}
        assert {other for bit, other in enumerate(marks) if found[at] >> bit & 1} == joined


def _live_by_search(
    graph: FlowGraph, uses: Mapping[int, frozenset[str]], defines: Mapping[int, frozenset[str]]
) -> list[frozenset[str]]:
    """Give what is live before each point, by looking for a use along every path that keeps the value."""
    found = []
    for start in range(len(graph.points)):
        live = set()
        for name in NAMES:
            seen: set[int] = set()
            stack = [start]
            while stack:
                at = stack.pop()
                if at in seen:
                    continue
                seen.add(at)
                if name in uses[at]:
                    live.add(name)
                    break
                if name not in defines[at]:
                    stack.extend(graph.points[at].successors)
        found.append(frozenset(live))
    return found


@given(st.data(), graphs())
def test_live_variables_are_those_that_some_path_uses(data: st.DataObject, graph: FlowGraph) -> None:
    some = st.frozensets(st.sampled_from(NAMES))
    uses = {at: data.draw(some) for at in range(len(graph.points))}
    defines = {at: data.draw(some) for at in range(len(graph.points))}
    order = reverse_postorder(graph)
    live = live_variables(graph, order, uses.__getitem__, defines.__getitem__)
    wanted = _live_by_search(graph, uses, defines)
    for at in order:
        assert live[at] == wanted[at]


def test_passes_do_not_recurse() -> None:
    count = 50_000
    graph = graph_of([[at + 1] for at in range(count - 1)] + [[0]])
    order = reverse_postorder(graph)
    assert order == list(range(count))
    assert dominators(graph, order).dominates(count // 2, count - 1)
    used = live_variables(
        graph,
        order,
        lambda at: frozenset(("a",)) if at == count - 1 else frozenset(),
        lambda at: frozenset(("a",)) if at == 10 else frozenset(),
    )
    assert [at for at in (0, 10, 11, count - 1) if "a" in used[at]] == [11, count - 1]
    path = Ways(graph).around(count - 1, ())
    assert path is not None and path[:2] == ["s0", "s1"] and path[-1] == f"s{count - 1}"


@given(graphs())
def test_dominators_of_large_graphs_are_the_same(graph: FlowGraph) -> None:
    order = reverse_postorder(graph)
    usual = dominators(graph, order)
    tail = [len(graph.points) + at for at in range(1200)]  # a chain behind one of the points
    large = graph_of([list(point.successors) for point in graph.points] + [[at + 1] for at in tail])
    large.points[-1].successors = ()
    last = order[-1]
    large.points[last].successors = (*large.points[last].successors, tail[0])
    found = dominators(large, reverse_postorder(large))
    for b in order:
        for a in order:
            assert found.dominates(a, b) == usual.dominates(a, b), (a, b)
    assert found.dominates(last, tail[-1]) and found.dominates(tail[0], tail[-1])
