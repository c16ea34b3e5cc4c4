"""A drawing in Graphviz' DOT language."""

from __future__ import annotations

from npac.report.drawing import Box, Drawing, Edge, Group

_SHAPES = {
    "start": 'shape=circle, width=0.15, fixedsize=true, label="", style=filled, fillcolor="#6f7787"',
    "wave": 'shape=box, style="rounded,filled", fillcolor="#eef3fd", color="#5b84d8"',
    "more": 'shape=box, style="rounded,dashed", color="#6f7787"',
    "gate": 'shape=diamond, style=filled, fillcolor="#fff3d1", color="#cf9418"',
    "end": 'shape=box, style="rounded,filled", fillcolor="#dff3e6", color="#2f9a5c"',
}
_FRAMES = {"sequence": "#8a93a5", "loop": "#8f6be8", "parallel": "#2a9d90"}
_EDGES = {"next": "#7c8597", "promote_checkpoint": "#238c50", "loop_back": "#cc6114"}


def dot(drawing: Drawing) -> str:
    """Give the text of a directed graph."""
    items: tuple[Box | Group, ...] = (*drawing.boxes, *drawing.groups)
    names = {item.id: f"n{at}" for at, item in enumerate(items)}
    inside: dict[str, list[Box | Group]] = {}
    for each in items:
        inside.setdefault(each.group, []).append(each)
    lines = [
        f"digraph {quoted(drawing.title)} {{",
        f"  label={quoted(f'{drawing.title}: {drawing.subtitle}')}; labelloc=t; compound=true; "
        "bgcolor=transparent;",
        '  graph [fontname="Helvetica"]; node [fontname="Helvetica", fontsize=11]; '
        'edge [fontname="Helvetica", fontsize=10];',
    ]
    stack: list[tuple[Box | Group | None, int]] = [(item, 1) for item in reversed(inside.get("", []))]
    while stack:
        item, depth = stack.pop()
        indent = "  " * depth
        if item is None:
            lines.append(f"{indent}}}")
        elif isinstance(item, Group):
            title = quoted("\n".join((item.title, *item.lines)))
            lines.append(f"{indent}subgraph {quoted(f'cluster_{names[item.id]}')} {{")
            lines.append(
                f'{indent}  label={title}; style=rounded; color="{_FRAMES[item.kind]}"; fontsize=11;'
            )
            stack.append((None, depth))
            stack.extend((child, depth + 1) for child in reversed(inside.get(item.id, [])))
        else:
            lines.append(f"{indent}{names[item.id]} [{_attributes(item)}];")
    lines += [f"  {_edge(edge, names, inside)}" for edge in drawing.edges]
    return "\n".join((*lines, "}", ""))


def quoted(text: str) -> str:
    """Give a text as a quoted string; line ends become centred lines, all else stays text."""
    clean = "".join(char if char.isprintable() or char == "\n" else " " for char in text)
    return '"' + clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _attributes(box: Box) -> str:
    parts = [_SHAPES[box.kind]]
    if box.kind != "start":
        parts.append(f"label={quoted(chr(10).join((box.title, *box.lines)))}")
    if box.note:
        parts.append(f"tooltip={quoted(box.note)}")
    if box.off:
        parts.append('fontcolor="#a0a6b2"')
    return ", ".join(parts)


def _edge(edge: Edge, names: dict[str, str], inside: dict[str, list[Box | Group]]) -> str:
    attributes = [f'color="{_EDGES[edge.kind]}"']
    ends = []
    for item, end in ((edge.source, "ltail"), (edge.target, "lhead")):
        if item in inside:  # Graphviz joins boxes only; the edge is cut off at the frame
            members = inside[item]
            ends.append(names[members[len(members) // 2].id])
            if edge.source != edge.target:
                attributes.append(f'{end}="cluster_{names[item]}"')
        else:
            ends.append(names[item])
    if edge.label:
        attributes.append(f"label={quoted(edge.label)}")
    if edge.again:
        attributes.append("constraint=false")
    if edge.off:
        attributes.append("style=dashed")
    return f"{ends[0]} -> {ends[1]} [{', '.join(attributes)}];"
