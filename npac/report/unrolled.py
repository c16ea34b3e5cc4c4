"""A program as it is: every wave, gate and round a box of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npac.ir.program import PROMOTE, End, Gate, Node, Program, Wave, successors
from npac.report.captions import counted
from npac.report.drawing import Box, Drawing, Edge, Group, Outline
from npac.report.folded import walked
from npac.report.frames import gate_box, parallel_boxes, wave_box


def unroll(
    program: Program,
    late: Mapping[str, str],
    outline: Outline = Outline(),
    path: Sequence[Node] | None = None,
) -> Drawing:
    """Draw a program's DAG.  With ``path``, what that walk does not come to is marked as off."""
    index = program.index()
    visited = {node.id for node in path or ()}
    steps = walked(path)
    boxes: list[Box] = [Box("start", "start")]
    groups: list[Group] = []
    edges: list[Edge] = []
    ends: list[Box] = []

    def lead(source: str, node: Node | None, target: str, kind: str, label: str) -> None:
        off = path is not None and node is not None and (node.id, target) not in steps
        key = f"node:{target}"
        if isinstance(index[target], End):
            key = f"end:{source}:{label}"
            ends.append(Box(key, "end", "end", off=off))
        edges.append(Edge(source, key, kind, label, off=off))

    lead("start", None, program.entry, "next", "")
    for node in program.nodes:
        if isinstance(node, End):
            continue
        key = f"node:{node.id}"
        off = path is not None and node.id not in visited
        extra = tuple(f"{name} {iteration}" for name, iteration in node.loops.items())
        line = (", ".join(extra),) if extra else ()
        if isinstance(node, Gate):
            boxes.append(gate_box(key, node, late, group="", off=off, extra=line))
        elif node.group:
            frame, inside = parallel_boxes(
                key, node, program, late, outline, group="", off=off, number=True, extra=line
            )
            groups.append(frame)
            boxes += inside
        else:
            boxes.append(
                wave_box(key, node, program, late, outline, group="", off=off, number=True, extra=line)
            )
        if isinstance(node, Wave):
            lead(key, node, node.next, "next", "")
        elif node.promote == node.loop_back:
            lead(key, node, node.promote, "next", "either decision")
        else:
            for decision, follow in zip((PROMOTE, "loop_back"), successors(node), strict=True):
                lead(key, node, follow, decision, decision)
    subtitle = f"{counted(len(program.waves()), 'wave')}, {counted(len(program.gates()), 'gate')}, unrolled"
    return Drawing(program.workflow, subtitle, (*boxes, *ends), tuple(groups), tuple(edges))
