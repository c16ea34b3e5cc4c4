"""``npac graph``."""

from __future__ import annotations

from typing import Any

import click

from npac.api import drawn, graph_format
from npac.cli.options import spec_options, take_options
from npac.cli.plan import path_options, take_path
from npac.cli.streams import tell


@click.command()
@click.argument("target", metavar="SPEC|BUILD")
@spec_options
@path_options
@click.option("-o", "--output", metavar="FILE", help="Write to a file; its ending says the format.")
@click.option(
    "--format", type=click.Choice(["svg", "mmd", "dot"]), help="Format; without -o the default is svg."
)
@click.option("--unrolled", is_flag=True, help="Draw the program itself: every round of a loop by itself.")
def command(
    target: str,
    run_id: str | None,
    assume: str | None,
    decisions: tuple[str, ...],
    output: str | None,
    format: str | None,
    unrolled: bool,
    **shared: Any,
) -> None:
    """Draw a spec or a build: states, groups, loops, gates with their decisions, ends.

    Drawn is the flow, each state once and loops as edges that lead back; with --unrolled, the
    program. With --assume-decision or --decide, what that path does not come to is faint. Formats:
    svg, mmd (Mermaid), dot (Graphviz).
    """
    kind = format or (graph_format(output) if output is not None else "svg")
    chosen = take_path(assume, decisions)
    item = drawn(target, take_options(shared), unrolled=unrolled, run_id=run_id, **chosen)
    if output is None:
        click.echo(item.as_text(kind), nl=False)
    else:
        item.write(output, kind)
        tell(f"{output}: {item.subtitle}")
