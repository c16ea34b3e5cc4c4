"""Orders within the layers of a layout, with few crossings."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

SWEEPS = 10


class Placed(Protocol):
    """What is asked of a vertex: its layer, and its neighbours in the layers above and below."""

    layer: int
    up: list[int]
    down: list[int]


def order_layers(vertices: Sequence[Placed], count: int) -> list[list[int]]:
    """Give the vertices of each layer from left to right; the best of several sweeps is taken."""
    layers = _first_order(vertices, count)
    best = [list(layer) for layer in layers]
    fewest = _crossings(vertices, layers)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        for at in range(1, count) if downwards else range(count - 2, -1, -1):
            _by_medians(vertices, layers, at, downwards)
        found = _crossings(vertices, layers)
        if found < fewest:
            fewest = found
            best = [list(layer) for layer in layers]
    return best


def _first_order(vertices: Sequence[Placed], count: int) -> list[list[int]]:
    """Order by a walk from the sources, each edge in the order in which it was given."""
    layers: list[list[int]] = [[] for _ in range(count)]
    seen = [False] * len(vertices)
    for root in range(len(vertices)):
        if vertices[root].up or seen[root]:
            continue
        stack = [root]
        while stack:
            at = stack.pop()
            if seen[at]:
                continue
            seen[at] = True
            layers[vertices[at].layer].append(at)
            stack.extend(reversed(vertices[at].down))
    return layers


def _by_medians(vertices: Sequence[Placed], layers: list[list[int]], at: int, downwards: bool) -> None:
    beside = layers[at - 1] if downwards else layers[at + 1]
    position = {item: place for place, item in enumerate(beside)}
    key: dict[int, float] = {}
    for place, item in enumerate(layers[at]):
        near = sorted(position[other] for other in (vertices[item].up if downwards else vertices[item].down))
        middle = len(near) // 2
        if not near:
            key[item] = float(place)
        elif len(near) % 2:
            key[item] = float(near[middle])
        else:
            key[item] = (near[middle - 1] + near[middle]) / 2
    layers[at].sort(key=key.__getitem__)


def _crossings(vertices: Sequence[Placed], layers: Sequence[Sequence[int]]) -> int:
    """Count the pairs of edges that cross between neighbouring layers."""
    total = 0
    for above, below in pairwise(layers):
        position = {item: place for place, item in enumerate(below)}
        ends: list[int] = []
        for item in above:
            places = sorted(position[follow] for follow in vertices[item].down)
            total += sum(len(ends) - bisect_right(ends, place) for place in places)
            for place in places:
                insort(ends, place)
    return total
