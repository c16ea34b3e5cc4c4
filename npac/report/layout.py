"""Layered layout of a DAG: who stands in which layer, in which order, and where.

The method is Sugiyama's: layers by longest path, long edges split at every layer, crossings lowered
by sweeps over medians, positions by least squares under the layers' orders.  Labels of edges are
vertices of layers of their own, so that no label meets a box, a line or another label.  Everything
is in pixels, deterministic, and near linear in the number of vertices per sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from npac.report.crossings import order_layers
from npac.report.positions import place_layers

LAYER_GAP = 34.0
LABEL_GAP = 15.0
SLOPE = 0.2
"""Pixels by which two layers move apart for each pixel that an edge between them runs sideways."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a node around its axis, the vertical line on which its edges meet it."""

    id: str
    left: float
    right: float
    height: float


@dataclass(frozen=True, slots=True)
class Link:
    """An edge; ``label`` is the size of its label, None for none."""

    source: str
    target: str
    label: Point | None = None


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle by its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, dx: float, dy: float) -> Rect:
        """Give the rectangle elsewhere."""
        return Rect(self.x + dx, self.y + dy, self.width, self.height)


@dataclass(frozen=True, slots=True)
class Route:
    """The way of one edge: pieces of points, broken where the label stands.

    Two points above one another are joined by a straight line, others by a curve that leaves and
    arrives vertically.
    """

    pieces: tuple[tuple[Point, ...], ...]
    label: Rect | None = None

    def moved(self, dx: float, dy: float) -> Route:
        """Give the route elsewhere."""
        pieces = tuple(tuple((x + dx, y + dy) for x, y in piece) for piece in self.pieces)
        return Route(pieces, self.label.moved(dx, dy) if self.label else None)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is: ``axis`` and ``top`` by node, routes in the order of the links."""

    axis: dict[str, float]
    top: dict[str, float]
    routes: tuple[Route, ...]
    width: float
    height: float


@dataclass(slots=True)
class Vertex:
    """A node, a label, or the place where a long edge passes a layer."""

    layer: int
    left: float
    right: float
    height: float
    real: bool
    up: list[int]
    down: list[int]


def lay_out(nodes: Sequence[Size], links: Sequence[Link]) -> Layout:
    """Lay out a DAG.  Raises ``ValueError`` when the links form a circle."""
    if not nodes:
        return Layout({}, {}, (), 0.0, 0.0)
    number = {node.id: at for at, node in enumerate(nodes)}
    layer_of = _layers(len(nodes), [(number[link.source], number[link.target]) for link in links])
    vertices = [
        Vertex(layer, node.left, node.right, node.height, True, [], [])
        for node, layer in zip(nodes, layer_of, strict=True)
    ]
    labels = {layer_of[number[link.source]] + 1 for link in links if link.label}
    chains = [
        _chain(vertices, number[link.source], number[link.target], link.label, labels) for link in links
    ]
    kept = {layer: at for at, layer in enumerate(sorted({vertex.layer for vertex in vertices}))}
    for vertex in vertices:
        vertex.layer = kept[vertex.layer]
    layers = order_layers(vertices, len(kept))
    x = place_layers(vertices, layers)
    margin = min(at - vertex.left for at, vertex in zip(x, vertices, strict=True))
    x = [at - margin for at in x]
    top, bottom = _heights(vertices, layers, x)
    routes = []
    for link, chain in zip(links, chains, strict=True):
        routes.append(_route(vertices, chain, x, top, bottom, link.label))
    return Layout(
        {node.id: x[at] for at, node in enumerate(nodes)},
        {node.id: top[vertices[at].layer] for at, node in enumerate(nodes)},
        tuple(routes),
        max(at + vertex.right for at, vertex in zip(x, vertices, strict=True)),
        bottom[-1],
    )


def _layers(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Give even layers by longest path; the odd ones between them are for labels."""
    import networkx as nx  # here, because drawings without a layout do not need it

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(pairs)
    layer = [0] * count
    try:
        for rank, generation in enumerate(nx.topological_generations(graph)):
            for at in generation:
                layer[at] = 2 * rank
    except nx.NetworkXUnfeasible:
        raise ValueError("the links form a circle") from None
    return layer


def _chain(
    vertices: list[Vertex], source: int, target: int, label: Point | None, labels: set[int]
) -> list[int]:
    """Split an edge at the layers that it passes, and give its vertices from end to end."""
    first, last = vertices[source].layer, vertices[target].layer
    chain = [source]
    for layer in range(first + 1, last):
        if layer == first + 1 and label is not None:
            half = label[0] / 2
            vertex = Vertex(layer, half, half, label[1], False, [], [])
        elif layer % 2 and layer not in labels:
            continue
        else:
            vertex = Vertex(layer, 0.0, 0.0, 0.0, False, [], [])
        chain.append(len(vertices))
        vertices.append(vertex)
    chain.append(target)
    for here, there in pairwise(chain):
        vertices[here].down.append(there)
        vertices[there].up.append(here)
    return chain


def _heights(
    vertices: Sequence[Vertex], layers: Sequence[Sequence[int]], x: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Give the top and the bottom of every layer."""
    top: list[float] = []
    bottom: list[float] = []
    at = 0.0
    for place, layer in enumerate(layers):
        height = max((vertices[item].height for item in layer), default=0.0)
        top.append(at)
        bottom.append(at + height)
        if place + 1 < len(layers):
            aside = max(
                (abs(x[item] - x[follow]) for item in layer for follow in vertices[item].down), default=0.0
            )
            real = any(vertices[item].real for item in layer)
            onto = any(vertices[item].real for item in layers[place + 1])
            gap = LAYER_GAP if real and onto else LABEL_GAP + (9.0 if onto else 0.0)
            at += height + gap + min(72.0, SLOPE * max(0.0, aside - 20.0))
    return top, bottom


def _route(
    vertices: Sequence[Vertex],
    chain: Sequence[int],
    x: Sequence[float],
    top: Sequence[float],
    bottom: Sequence[float],
    label: Point | None,
) -> Route:
    source, target = chain[0], chain[-1]
    piece: list[Point] = [(x[source], top[vertices[source].layer] + vertices[source].height)]
    _extend(piece, (x[source], bottom[vertices[source].layer]))
    pieces: list[tuple[Point, ...]] = []
    place: Rect | None = None
    for at, item in enumerate(chain[1:-1]):
        layer = vertices[item].layer
        _extend(piece, (x[item], top[layer]))
        if at == 0 and label is not None:
            pieces.append(tuple(piece))
            place = Rect(x[item] - label[0] / 2, top[layer], *label)
            piece = [(x[item], top[layer] + label[1])]
        _extend(piece, (x[item], bottom[layer]))
    _extend(piece, (x[target], top[vertices[target].layer]))
    pieces.append(tuple(piece))
    return Route(tuple(pieces), place)


def _extend(piece: list[Point], point: Point) -> None:
    """Add a point; one on the straight way to the last takes its place."""
    if piece[-1] == point:
        return
    if len(piece) > 1 and piece[-1][0] == point[0] == piece[-2][0]:
        piece[-1] = point
    else:
        piece.append(point)
