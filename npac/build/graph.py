"""A program as a Mermaid flowchart."""

from __future__ import annotations

from npac.ir.program import End, Gate, Program, Wave, label


def mermaid(program: Program) -> str:
    """Give the flowchart of ``program``: boxes are waves, rhombi are gates, the rounded box is the end."""
    name = {node.id: f"n{at}" for at, node in enumerate(program.nodes)}
    lines = ["flowchart TD"]
    for node in program.nodes:
        here = name[node.id]
        if isinstance(node, Wave):
            text = f"{node.number}. {label(node, program)}{_loops(node.loops)}"
            if node.group:
                members = ", ".join(program.steps[member.step].state for member in node.members)
                lines.append(f'  {here}[["{_text(f"{text}: {members}")}"]]')
            else:
                lines.append(f'  {here}["{_text(text)}"]')
        elif isinstance(node, Gate):
            lines.append(f'  {here}{{"{_text(f"{node.state}{_loops(node.loops)}?")}"}}')
        else:
            lines.append(f'  {here}(["end"])')
    for node in program.nodes:
        here = name[node.id]
        if isinstance(node, Wave):
            lines.append(f"  {here} --> {name[node.next]}")
        elif isinstance(node, Gate):
            lines.append(f"  {here} -->|promote_checkpoint| {name[node.promote]}")
            lines.append(f"  {here} -->|loop_back| {name[node.loop_back]}")
        else:
            assert isinstance(node, End)
    return "\n".join(lines) + "\n"


def _loops(loops: dict[str, int]) -> str:
    return f" ({', '.join(f'{loop} {iteration}' for loop, iteration in loops.items())})" if loops else ""


def _text(text: str) -> str:
    return text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
