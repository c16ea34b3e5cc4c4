"""Where things stand: nothing overlaps, frames hold what is theirs, edges keep off what is not theirs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.report.drawing import Box, Drawing, Edge, Group
from npac.report.layout import Link, Point, Rect, Route, Size, lay_out
from npac.report.nesting import Placement, nest
from tests.corpus.place import each_spec, spec_path
from tests.report.pictures import MIXED, folded, gated, unrolled

SLACK = 0.6


def overlap(one: Rect, other: Rect) -> bool:
    return (
        one.x + SLACK < other.x + other.width
        and other.x + SLACK < one.x + one.width
        and one.y + SLACK < other.y + other.height
        and other.y + SLACK < one.y + one.height
    )


def holds(outer: Rect, inner: Rect) -> bool:
    return (
        outer.x <= inner.x + SLACK
        and outer.y <= inner.y + SLACK
        and inner.x + inner.width <= outer.x + outer.width + SLACK
        and inner.y + inner.height <= outer.y + outer.height + SLACK
    )


def inside(rect: Rect, point: Point) -> bool:
    x, y = point
    return (
        rect.x + SLACK < x < rect.x + rect.width - SLACK and rect.y + SLACK < y < rect.y + rect.height - SLACK
    )


def on_border(rect: Rect, point: Point, *, diamond: bool) -> bool:
    x, y = point
    if diamond:
        across = abs(x - rect.x - rect.width / 2) / (rect.width / 2)
        down = abs(y - rect.y - rect.height / 2) / (rect.height / 2)
        return math.isclose(across + down, 1.0, abs_tol=0.03)
    level = rect.x - SLACK <= x <= rect.x + rect.width + SLACK
    upright = rect.y - SLACK <= y <= rect.y + rect.height + SLACK
    sides = min(abs(x - rect.x), abs(x - rect.x - rect.width))
    ends = min(abs(y - rect.y), abs(y - rect.y - rect.height))
    return level and upright and min(sides, ends) < SLACK


def along(route: Route, *, straight: bool) -> Iterator[Point]:
    """Give points on the way of an edge, as it is drawn."""
    for piece in route.pieces:
        for (x, y), (right, low) in pairwise(piece):
            for step in range(25):
                t = step / 24
                if straight or x == right:
                    yield (x + (right - x) * t, y + (low - y) * t)
                else:
                    # the curve's control points stand halfway down, above and below its ends
                    s = 1 - t
                    middle = (y + low) / 2
                    yield (
                        x * (s**3 + 3 * s * s * t) + right * (t**3 + 3 * s * t * t),
                        y * s**3 + 3 * middle * s * s * t + 3 * middle * s * t * t + low * t**3,
                    )


def around(drawing: Drawing, item: str) -> list[str]:
    """Give the groups around an item, and the item."""
    parent = {box.id: box.group for box in drawing.boxes} | {
        group.id: group.group for group in drawing.groups
    }
    chain = [item]
    while parent[chain[-1]]:
        chain.append(parent[chain[-1]])
    return chain


def inspect(drawing: Drawing) -> Placement:
    """Assert all that holds for every drawing."""
    placed = nest(drawing)
    rects = {**placed.boxes, **placed.groups}
    assert set(placed.boxes) == {box.id for box in drawing.boxes}
    assert set(placed.groups) == {group.id for group in drawing.groups}
    whole = Rect(0, 0, placed.width, placed.height)
    items: list[Box | Group] = [*drawing.boxes, *drawing.groups]
    for item in items:
        rect = rects[item.id]
        assert all(math.isfinite(value) for value in (rect.x, rect.y, rect.width, rect.height)), item.id
        assert holds(whole, rect), item.id
        if item.group:
            assert holds(rects[item.group], rect), (item.group, item.id)
    for one, other in combinations(items, 2):
        if other.id not in around(drawing, one.id) and one.id not in around(drawing, other.id):
            assert not overlap(rects[one.id], rects[other.id]), (one.id, other.id)
    labels = [route.label for route in placed.routes if route.label is not None]
    assert len(labels) == sum(1 for edge in drawing.edges if edge.label)
    for label in labels:
        assert holds(whole, label)
        assert not any(overlap(label, rect) for rect in placed.boxes.values())
    for label, another in combinations(labels, 2):
        assert not overlap(label, another)
    assert len(placed.routes) == len(drawing.edges)
    for edge, route in zip(drawing.edges, placed.routes, strict=True):
        _inspect_edge(drawing, edge, route, rects, labels)
    return placed


def _inspect_edge(
    drawing: Drawing, edge: Edge, route: Route, rects: dict[str, Rect], labels: list[Rect]
) -> None:
    gates = {box.id for box in drawing.boxes if box.kind == "gate"}
    starts, ends = around(drawing, edge.source), around(drawing, edge.target)
    first, last = route.pieces[0][0], route.pieces[-1][-1]
    # an edge ends at its target or at a frame around it, never in empty space; a next round may also begin
    # at a frame, all else begins at the very thing that leads on
    if not edge.again:
        starts = starts[:1]
    assert any(on_border(rects[item], first, diamond=item in gates) for item in starts), edge
    assert any(on_border(rects[item], last, diamond=item in gates) for item in ends), edge
    own = {*around(drawing, edge.source), *ends}
    strangers = [(key, rect) for key, rect in rects.items() if key not in own]
    for point in along(route, straight=bool(edge.again)):
        for key, rect in strangers:
            assert not inside(rect, point), (edge, key, point)
        for label in labels:
            assert not inside(label, point), (edge, point)


def test_the_mixed_spec_is_laid_out_soundly() -> None:
    inspect(folded(MIXED))
    inspect(unrolled(MIXED))


def test_many_rounds_are_laid_out_soundly() -> None:
    inspect(unrolled(gated(2, 4)))


@each_spec
def test_every_corpus_spec_is_laid_out_soundly(name: str) -> None:
    inspect(folded(spec_path(name)))


@each_spec
def test_every_corpus_program_is_laid_out_soundly(name: str) -> None:
    inspect(unrolled(spec_path(name)))


def test_the_flow_runs_from_top_to_bottom() -> None:
    drawing = folded(MIXED)
    placed = nest(drawing)
    rects = {**placed.boxes, **placed.groups}
    for edge in drawing.edges:
        above, below = rects[edge.source], rects[edge.target]
        if edge.again:
            assert below.y <= above.y, edge
        else:
            assert above.y + above.height <= below.y + SLACK, edge


def test_a_chain_is_straight() -> None:
    drawing = folded(MIXED)
    placed = nest(drawing)
    axes = {
        placed.boxes[key].x + placed.boxes[key].width / 2
        for key in ("start", "wave:ingest", "transitions:ingest@transitions")
    }
    assert max(axes) - min(axes) < 0.01


def test_a_batch_is_a_row() -> None:
    placed = nest(folded(MIXED))
    rows: dict[float, int] = {}
    for at in range(5):
        y = placed.boxes[f"wave:fan#{at}"].y
        rows[y] = rows.get(y, 0) + 1
    assert list(rows.values()) == [2, 2, 1]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Size], list[Link]]:
    count = draw(st.integers(1, 14))
    sizes = [
        Size(
            f"n{at}",
            draw(st.integers(5, 150)),
            draw(st.integers(5, 150)),
            draw(st.integers(10, 120)),
        )
        for at in range(count)
    ]
    links = []
    for target in range(1, count):
        for source in draw(st.lists(st.integers(0, target - 1), max_size=3, unique=True)):
            label = draw(st.none() | st.tuples(st.integers(20, 200), st.just(16)))
            links.append(Link(f"n{source}", f"n{target}", label))
    return sizes, links


@given(graphs())
@settings(max_examples=150, deadline=None)
def test_any_graph_is_laid_out_without_overlap(graph: tuple[list[Size], list[Link]]) -> None:
    sizes, links = graph
    laid = lay_out(sizes, links)
    rects = {
        size.id: Rect(laid.axis[size.id] - size.left, laid.top[size.id], size.left + size.right, size.height)
        for size in sizes
    }
    for rect in rects.values():
        assert holds(Rect(0, 0, laid.width, laid.height), rect)
    for one, other in combinations(rects.values(), 2):
        assert not overlap(one, other)
    labels = [route.label for route in laid.routes if route.label]
    assert len(labels) == sum(1 for link in links if link.label)
    for label in labels:
        assert not any(overlap(label, rect) for rect in rects.values())
    for link, route in zip(links, laid.routes, strict=True):
        assert route.pieces[0][0] == (
            laid.axis[link.source],
            laid.top[link.source] + rects[link.source].height,
        )
        assert route.pieces[-1][-1] == (laid.axis[link.target], laid.top[link.target])
        for point in along(route, straight=False):
            assert not any(inside(rect, point) for key, rect in rects.items()), (link, point)


def test_a_circle_is_refused() -> None:
    sizes = [Size("a", 5, 5, 5), Size("b", 5, 5, 5)]
    with pytest.raises(ValueError, match="circle"):
        lay_out(sizes, [Link("a", "b"), Link("b", "a")])


def test_nothing_is_laid_out_as_nothing() -> None:
    assert lay_out([], []).routes == ()
