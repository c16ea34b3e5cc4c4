"""Topological order, numbers and names of the nodes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from npac.flow.flow import Flow
from npac.flow.graph import Kind
from npac.ir.values import to_json
from npac.lower.specialise import RawNode, Specialised


def topological_order(dag: Specialised) -> list[int]:
    """Give the nodes so that every edge goes to a later one; a gate's ``promote`` side comes first."""
    order: list[int] = []
    seen = [False] * len(dag.nodes)
    stack: list[tuple[int, int]] = [(0, 0)]
    seen[0] = True
    while stack:
        at, turn = stack.pop()
        successors = dag.nodes[at].successors
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


def loop_numbers(flow: Flow, node: RawNode) -> dict[str, int]:
    """Give the iterations of the loops around a node, outermost first, its own leaf loop included."""
    assert flow.graph is not None
    point = flow.graph.points[node.point]
    if point.kind is Kind.END:
        return {}
    names = list(flow.structure.enclosing_loops(flow.spec, point.state))
    inside_own = point.kind is Kind.WAVE or point.role == "until"
    if flow.spec.states[point.state].loop is not None and inside_own:
        names.append(point.state)
    return {name: int(str(node.env[f"loop.{name}"])) for name in names}


def node_names(flow: Flow, dag: Specialised, order: Sequence[int]) -> list[str]:
    """Give every node its id, by index: its path, and 8 hex of its other live values where needed."""
    paths: dict[str, list[int]] = {}
    for index in order:
        paths.setdefault(_path(flow, dag.nodes[index]), []).append(index)
    names = [""] * len(dag.nodes)
    for path, members in paths.items():
        if len(members) == 1:
            names[members[0]] = path
            continue
        used: set[str] = set()
        for index in members:
            digest = _digest(flow, dag.nodes[index])
            name = f"{path}~{digest[:8]}"
            if name in used:
                name = f"{path}~{digest[:24]}"
            used.add(name)
            names[index] = name
    return names


def _path(flow: Flow, node: RawNode) -> str:
    assert flow.graph is not None
    point = flow.graph.points[node.point]
    if point.kind is Kind.END:
        return "end"
    parts = []
    for name in (*flow.structure.ancestors(point.state), point.state):
        looped = flow.spec.states[name].loop is not None
        inside = name != point.state or point.kind is Kind.WAVE or point.role == "until"
        parts.append(f"{name}[{node.env[f'loop.{name}']}]" if looped and inside else name)
    path = "/".join(parts)
    return f"{path}@{point.role}" if point.kind is Kind.GATE else path


def _digest(flow: Flow, node: RawNode) -> str:
    own = {f"loop.{name}" for name in loop_numbers(flow, node)}
    data = [
        [[name, to_json(value)] for name, value in node.env.items() if name not in own],
        [
            [group.group, [to_json(item.uri) for item in group.outputs]]
            for group in (*node.opens, *node.checks)
        ],
    ]
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
