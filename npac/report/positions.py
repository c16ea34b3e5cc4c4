"""Horizontal positions within ordered layers: short, straight edges, nothing too near its neighbour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

APART = 36.0
"""Pixels between two boxes."""
BESIDE = 20.0
"""Pixels between a box, a label or a passing edge and its neighbour."""
ROUNDS = 6
SETTLING = 24
STRAIGHTENING = 4


class Extent(Protocol):
    """What is asked of a vertex: its extents to both sides of its axis, and its neighbours."""

    layer: int
    left: float
    right: float
    real: bool
    up: list[int]
    down: list[int]


def place_layers(vertices: Sequence[Extent], layers: Sequence[Sequence[int]]) -> list[float]:
    """Give the axis of every vertex, in pixels; the order of every layer is kept."""
    x = [0.0] * len(vertices)
    for layer in layers:
        _settle(vertices, layer, [0.0] * len(layer), [1.0] * len(layer), x)
    for _ in range(ROUNDS):
        for layer in layers[1:]:
            _pull(vertices, layer, x, lambda vertex: vertex.up)
        for layer in reversed(layers[:-1]):
            _pull(vertices, layer, x, lambda vertex: vertex.down)
    for sweep in range(SETTLING):
        for layer in layers if sweep % 2 else reversed(layers):
            _pull(vertices, layer, x, lambda vertex: [*vertex.up, *vertex.down])
    limits = _Limits(vertices, layers, x)
    chains = _chains(vertices)
    for _ in range(STRAIGHTENING):
        for chain in chains:
            limits.straighten(chain)
    return x


def _weight(one: Extent, other: Extent) -> float:
    """Say how much an edge between two vertices resists a slope: the inside of a long edge the most."""
    return 1.0 + (not one.real) * 1.5 + (not other.real) * 1.5


def _pull(
    vertices: Sequence[Extent], layer: Sequence[int], x: list[float], near: Callable[[Extent], list[int]]
) -> None:
    wish: list[float] = []
    weights: list[float] = []
    for item in layer:
        others = near(vertices[item])
        pulls = [_weight(vertices[item], vertices[other]) for other in others]
        total = sum(pulls)
        if others:
            wish.append(sum(pull * x[other] for pull, other in zip(pulls, others, strict=True)) / total)
            weights.append(total)
        else:
            wish.append(x[item])
            weights.append(0.05)
    _settle(vertices, layer, wish, weights, x)


def _distance(left: Extent, right: Extent) -> float:
    """Give the least distance of two neighbours' axes."""
    apart = APART if left.real and right.real else BESIDE
    return left.right + apart + right.left


def _settle(
    vertices: Sequence[Extent],
    layer: Sequence[int],
    wish: Sequence[float],
    weights: Sequence[float],
    x: list[float],
) -> None:
    """Put a layer as near to its wishes (least squares) as the distances allow.

    With the least distances taken off, the task is isotonic regression: neighbours that would
    overtake one another are pooled at their weighted mean.
    """
    offset = 0.0
    offsets: list[float] = []
    pools: list[tuple[float, float, int]] = []
    for at, item in enumerate(layer):
        if at:
            offset += _distance(vertices[layer[at - 1]], vertices[item])
        offsets.append(offset)
        mean, weight, size = wish[at] - offset, weights[at], 1
        while pools and pools[-1][0] >= mean:
            other, heft, many = pools.pop()
            mean = (mean * weight + other * heft) / (weight + heft)
            weight += heft
            size += many
        pools.append((mean, weight, size))
    at = 0
    for mean, _, size in pools:
        for _ in range(size):
            x[layer[at]] = mean + offsets[at]
            at += 1


def _chains(vertices: Sequence[Extent]) -> list[list[int]]:
    """Give the longest runs in which each vertex has the next one alone, and is its only one.

    Every vertex is in one run, if need be by itself.
    """
    follows: dict[int, int] = {}
    for item, vertex in enumerate(vertices):
        if len(vertex.down) == 1 and len(vertices[vertex.down[0]].up) == 1:
            follows[item] = vertex.down[0]
    inner = set(follows.values())
    chains: list[list[int]] = []
    for item in range(len(vertices)):
        if item not in inner:
            chain = [item]
            while chain[-1] in follows:
                chain.append(follows[chain[-1]])
            chains.append(chain)
    return sorted(chains, key=lambda chain: (-len(chain), chain[0]))


class _Limits:
    """Moves single vertices between their neighbours."""

    def __init__(self, vertices: Sequence[Extent], layers: Sequence[Sequence[int]], x: list[float]) -> None:
        self.vertices = vertices
        self.layers = layers
        self.x = x
        self.place = {item: at for layer in layers for at, item in enumerate(layer)}

    def room(self, item: int) -> tuple[float, float]:
        """Give how far left and right an axis can go."""
        layer = self.layers[self.vertices[item].layer]
        at = self.place[item]
        low, high = float("-inf"), float("inf")
        if at:
            other = layer[at - 1]
            low = self.x[other] + _distance(self.vertices[other], self.vertices[item])
        if at + 1 < len(layer):
            other = layer[at + 1]
            high = self.x[other] - _distance(self.vertices[item], self.vertices[other])
        return low, high

    def straighten(self, chain: Sequence[int]) -> None:
        """Put as much of a chain as can be on one axis, in the middle of what the chain is joined to."""
        vertices = self.vertices
        others = [*vertices[chain[0]].up, *vertices[chain[-1]].down]
        wish = sum(self.x[item] for item in others or chain) / len(others or chain)
        at = 0
        while at < len(chain):
            low, high = self.room(chain[at])
            end = at + 1
            while end < len(chain):
                below, above = self.room(chain[end])
                if max(low, below) > min(high, above):
                    break
                low, high = max(low, below), min(high, above)
                end += 1
            axis = min(max(wish, low), high)
            if low <= axis <= high:
                for item in chain[at:end]:
                    self.x[item] = axis
            at = end
