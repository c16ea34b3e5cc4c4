"""A drawing as a Mermaid flowchart."""

from __future__ import annotations

from npac.report.drawing import Box, Drawing, Edge, Group

_SHAPES = {
    "wave": ("[", "]"),
    "group": ("[[", "]]"),
    "more": ("[", "]"),
    "gate": ("{", "}"),
    "end": ("([", "])"),
}
_CLASSES = (
    "classDef wave fill:#eef3fd,stroke:#5b84d8,color:#15233f",
    "classDef more fill:none,stroke:#6f7787,color:#6f7787,stroke-dasharray:3 3",
    "classDef gate fill:#fff3d1,stroke:#cf9418,color:#473203",
    "classDef end_ fill:#dff3e6,stroke:#2f9a5c,color:#12452a",
    "classDef start fill:#6f7787,stroke:#6f7787",
    "classDef off opacity:0.4",
)


def mermaid(drawing: Drawing, *, styled: bool = True) -> str:
    """Give the flowchart's text; without ``styled``, only its shapes, without titles, notes and colours."""
    items: tuple[Box | Group, ...] = (*drawing.boxes, *drawing.groups)
    names = {item.id: f"n{at}" for at, item in enumerate(items)}
    inside: dict[str, list[Box | Group]] = {}
    for each in items:
        inside.setdefault(each.group, []).append(each)
    lines = ["flowchart TD"]
    if styled:
        lines.insert(0, f"%% {text(f'{drawing.title}: {drawing.subtitle}')}")
    # a frame is closed when all that is in it has been written
    stack: list[tuple[Box | Group | None, int]] = [(item, 1) for item in reversed(inside.get("", []))]
    while stack:
        item, depth = stack.pop()
        indent = "  " * depth
        if item is None:
            lines.append(f"{indent}end")
        elif isinstance(item, Group):
            title = text(f"{item.title}: {', '.join(item.lines)}" if item.lines else item.title)
            lines.append(f'{indent}subgraph {names[item.id]}["{title}"]')
            stack.append((None, depth))
            stack.extend((child, depth + 1) for child in reversed(inside.get(item.id, [])))
        else:
            lines.append(f"{indent}{_box(item, names[item.id], styled)}")
    lines += [f"  {_edge(edge, names, inside, styled)}" for edge in drawing.edges]
    if styled:
        lines += [f"  %% {text(note)}" for note in drawing.footnotes]
        lines += [f"  {line}" for line in _CLASSES]
    return "\n".join(lines) + "\n"


def text(value: str) -> str:
    """Give a text for a quoted label; what Mermaid or HTML would read as markup is written by its code."""
    clean = "".join(char if char.isprintable() else " " for char in value)
    for char in '#&"<>`':
        clean = clean.replace(char, "\0" if char == "#" else f"#{ord(char)};")
    return clean.replace("\0", "#35;")


def _box(box: Box, name: str, styled: bool) -> str:
    style = "end_" if box.kind == "end" else box.kind
    class_ = f":::{'off' if box.off else style}" if styled else ""
    if box.kind == "start":
        return f'{name}((" ")){class_}'
    left, right = _SHAPES[box.kind]
    label = "<br/>".join(text(line) for line in (box.title, *box.lines))
    return f'{name}{left}"{label}"{right}{class_}'


def _edge(edge: Edge, names: dict[str, str], inside: dict[str, list[Box | Group]], styled: bool) -> str:
    source, target = edge.source, edge.target
    if source == target and source in inside:  # no frame may lead to itself
        source = target = inside[source][0].id
    arrow = "-.->" if edge.again or edge.off else "-->"
    label = ""
    if edge.label:
        # one word needs no quotes, and a plain drawing is to be read as text, too
        plain = not styled and edge.label.isascii() and edge.label.isidentifier()
        label = f"|{edge.label}|" if plain else f'|"{text(edge.label)}"|'
    return f"{names[source]} {arrow}{label} {names[target]}"
