"""A program as a Mermaid flowchart, one box for each node."""

from __future__ import annotations

from npac.ir.program import Gate, Program, Wave, label
from npac.report.drawing import Box, Drawing, Edge
from npac.report.mermaid import mermaid as written


def mermaid(program: Program) -> str:
    """Give the flowchart of ``program``: boxes are waves, rhombi are gates, the rounded box is the end."""
    boxes: list[Box] = []
    edges: list[Edge] = []
    for node in program.nodes:
        if isinstance(node, Wave):
            boxes.append(_wave(node, program))
            edges.append(Edge(node.id, node.next))
        elif isinstance(node, Gate):
            boxes.append(Box(node.id, "gate", f"{node.state}{_loops(node.loops)}?"))
            for decision, follow in (("promote_checkpoint", node.promote), ("loop_back", node.loop_back)):
                edges.append(Edge(node.id, follow, decision, decision))
        else:
            boxes.append(Box(node.id, "end", "end"))
    return written(Drawing(program.workflow, "", tuple(boxes), (), tuple(edges)), styled=False)


def _wave(wave: Wave, program: Program) -> Box:
    title = f"{wave.number}. {label(wave, program)}{_loops(wave.loops)}"
    if not wave.group:
        return Box(wave.id, "wave", title)
    members = ", ".join(program.steps[member.step].state for member in wave.members)
    return Box(wave.id, "group", f"{title}: {members}")


def _loops(loops: dict[str, int]) -> str:
    return f" ({', '.join(f'{loop} {iteration}' for loop, iteration in loops.items())})" if loops else ""
