"""``npac compile``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from npac.api import Compiled, NpacError, SpecError, build, compile, preview
from npac.cli.options import link_options, spec_options, take_options
from npac.cli.show import show_findings


@click.command()
@click.argument("specs", nargs=-1, required=True)
@spec_options
@link_options
@click.option("-o", "--output", metavar="DIR", help="Write a build: manifest, objects, readable documents.")
@click.option("--run-id", metavar="ID", help="Link for this run id: the final documents.")
@click.option("--color/--no-color", default=None, help="Use colour for findings.")
def command(
    specs: tuple[str, ...], output: str | None, run_id: str | None, color: bool | None, **shared: Any
) -> None:
    """Compile specs to SkyPilot YAML: to the screen, or to a build folder.

    With several SPECS, each gets a folder of its own below DIR, called after its workflow. Exit
    codes: 0 done, 1 the spec has errors, 2 usage or the outside world.
    """
    options = take_options(shared)
    failed = []
    compiled: list[tuple[str, Compiled]] = []
    for spec in specs:
        try:
            compiled.append((spec, compile(spec, options)))
        except SpecError as error:
            failed.append(error.checked)
    if failed:
        show_findings(failed, "text", color, err=True)
    _demand_distinct(compiled, output)
    for _, item in compiled:
        if output is None:
            for title, text in preview(item, run_id=run_id):
                click.echo(f"# {title}\n{text.rstrip()}")
            continue
        folder = Path(output) / item.program.workflow if len(specs) > 1 else Path(output)
        build(item, folder, run_id=run_id)
        click.echo(
            f"{folder}: {len(item.program.waves())} waves, {len(item.program.gates())} gates, "
            f"program sha256:{item.digest[:16]}"
        )
    if failed:
        raise SystemExit(1)


def _demand_distinct(compiled: list[tuple[str, Compiled]], output: str | None) -> None:
    first: dict[str, str] = {}
    for spec, item in compiled:
        other = first.setdefault(item.program.workflow, spec)
        if output is not None and other != spec:
            raise NpacError(
                f"{other} and {spec} are both called {item.program.workflow}, and would share one folder",
                remedy="Compile them one by one, each with its own -o.",
            )
