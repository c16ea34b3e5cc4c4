"""``npac graph``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npac.api import NpacError, planned
from npac.cli.options import spec_options, take_options
from npac.cli.plan import path_options, take_path

if TYPE_CHECKING:
    from npac.flow.flow import Flow
    from npac.report.drawing import Drawing, Outline

FORMATS = ("svg", "mmd", "dot")
MOST_BOXES = 800
"""Boxes of the largest SVG; laying out more takes long, and nobody can read it."""


@click.command()
@click.argument("spec")
@spec_options
@path_options
@click.option("-o", "--output", metavar="FILE", help="Write to a file; its ending says the format.")
@click.option("--format", type=click.Choice(FORMATS), help="Format; without -o the default is svg.")
@click.option("--unrolled", is_flag=True, help="Draw the program itself: every round of a loop by itself.")
def command(
    spec: str,
    run_id: str,
    assume: str | None,
    decisions: tuple[str, ...],
    output: str | None,
    format: str | None,
    unrolled: bool,
    **shared: Any,
) -> None:
    """Draw a spec: states, groups, loops, gates with their decisions, ends.

    Drawn is the flow, each state once and loops as edges that lead back; with --unrolled, the
    program. With --assume-decision or --decide, what that path does not come to is faint. Formats:
    svg, mmd (Mermaid), dot (Graphviz).
    """
    kind = format or _ending(output)
    item = planned(spec, take_options(shared), run_id=run_id, **take_path(assume, decisions))
    late = {"run.id": run_id}
    if unrolled:
        from npac.report.unrolled import unroll as view
    else:
        from npac.report.folded import fold as view
    flow = item.checked.unit.flow if item.checked.unit is not None else None
    drawing = view(item.program, late, outline(flow), item.path)
    text = _written(drawing, kind, unrolled)
    if output is None:
        click.echo(text, nl=False)
        return
    Path(output).write_text(text, encoding="utf-8", newline="\n")
    click.echo(f"{output}: {drawing.subtitle}", err=True)


def outline(flow: Flow | None) -> Outline:
    """Give what a spec says and its program does not keep; nothing for raw SkyPilot YAML."""
    from npac.report.drawing import Outline

    if flow is None or flow.graph is None:
        return Outline()
    begin = flow.graph.begin
    unreached = tuple(name for name in flow.spec.states if not flow.reached(begin[name]))
    return Outline(_descriptions(flow), _ends(flow), unreached)


def _descriptions(flow: Flow) -> dict[str, str]:
    from npac.text.yaml_nodes import Map, Scalar, Seq

    states = flow.spec.top.entries["states"][1] if "states" in flow.spec.top.entries else None
    found: dict[str, str] = {}
    if isinstance(states, Map):
        items = [(name, state) for name, (_, state) in states.entries.items()]
    elif isinstance(states, Seq):
        items = []
        for state in states.items:
            name = state.entries.get("name") if isinstance(state, Map) else None
            if name is not None and isinstance(name[1], Scalar):
                items.append((name[1].value, state))
    else:
        items = []
    for title, state in items:
        entry = state.entries.get("description") if isinstance(state, Map) else None
        if entry is not None and isinstance(entry[1], Scalar):
            found[title] = " ".join(entry[1].value.split())
    return found


def _ends(flow: Flow) -> dict[tuple[str, str], str]:
    """Name the terminal states without work, by the states and decisions that lead to them."""
    from npac.ir.program import PROMOTE

    states, exits = flow.spec.states, flow.structure.exits

    def idle_end(name: str | None) -> str:
        """Follow states that neither work nor decide; give the terminal one at which that ends."""
        seen: set[str] = set()
        while name is not None and name not in seen:
            seen.add(name)
            state = states[name]
            if state.works or state.is_group or name not in exits or exits[name].decides:
                return ""
            if state.terminal:
                return name
            name = exits[name].promote
        return ""

    found: dict[tuple[str, str], str] = {}
    for name, leads in exits.items():
        ways = [("", leads.promote)]
        if leads.decides:
            ways = [(PROMOTE, leads.promote), ("loop_back", leads.loop_back)]
        for decision, target in ways:
            if end := idle_end(target):
                found[name, decision] = end
    if flow.spec.initial is not None and (end := idle_end(flow.spec.initial.value)):
        found["", ""] = end
    return found


def _ending(output: str | None) -> str:
    if output is None:
        return "svg"
    ending = Path(output).suffix.removeprefix(".").lower()
    kind = "mmd" if ending == "mermaid" else "dot" if ending == "gv" else ending
    if kind not in FORMATS:
        raise NpacError(
            f"the ending of {output} names no format that npac draws",
            remedy="End it in .svg, .mmd or .dot, or add --format.",
        )
    return kind


def _written(drawing: Drawing, kind: str, unrolled: bool) -> str:
    if kind == "mmd":
        from npac.report.mermaid import mermaid

        return mermaid(drawing)
    if kind == "dot":
        from npac.report.dot import dot

        return dot(drawing)
    from npac.report.svg import svg

    if len(drawing.boxes) > MOST_BOXES:
        instead = "Draw it without --unrolled, " if unrolled else "Look at it with npac plan, "
        raise NpacError(
            f"the drawing would have {len(drawing.boxes):,} boxes, and an SVG is drawn up to {MOST_BOXES}",
            remedy=f"{instead}or write it as .dot and lay it out with Graphviz.",
        )
    return svg(drawing)
