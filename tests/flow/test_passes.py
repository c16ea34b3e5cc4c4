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
    path_avoiding,
    predecessors,
    reverse_postorder,
)

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


@given(graphs())
def test_path_avoiding_is_a_path_that_avoids(graph: FlowGraph) -> None:
    for target in range(len(graph.points)):
        for avoid in range(len(graph.points)):
            path = path_avoiding(graph, target, avoid)
            exists = target != avoid and target in reachable(graph, graph.entry, avoid)
            assert (path is not None) == exists, (target, avoid)
            if path is None:
                continue
            points = [int(name.removeprefix("s")) for name in path]
            assert points[0] == graph.entry and points[-1] == target and avoid not in points
            for at, follow in pairwise(points):
                assert follow in graph.points[at].successors


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
    path = path_avoiding(graph, count - 1, count + 1)
    assert path is not None and len(path) == count
