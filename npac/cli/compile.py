"""``npac compile``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from npac.api import Compiled, NpacError, SpecError, build, compile, preview
from npac.cli.options import link_options, spec_options, take_options
from npac.cli.show import show_findings
from npac.cli.working import Working


@click.command()
@click.argument("specs", nargs=-1, required=True)
@spec_options
@link_options
@click.option("-o", "--output", metavar="DIR", help="Write a build: manifest, objects, readable documents.")
@click.option("--run-id", metavar="ID", help="Link for this run id: the final documents.")
@click.option("--endpoint", metavar="URL", help="With --run-id: the S3 endpoint that tasks use.")
@click.option("--source-uri", metavar="URI", help="With --run-id: where the tasks' source is.")
@click.option("--check", "compare", is_flag=True, help="Write nothing: see that DIR holds this very build.")
@click.option("--color/--no-color", default=None, help="Use colour for findings.")
def command(
    specs: tuple[str, ...],
    output: str | None,
    run_id: str | None,
    endpoint: str | None,
    source_uri: str | None,
    compare: bool,
    color: bool | None,
    **shared: Any,
) -> None:
    """Compile specs to SkyPilot YAML: to the screen, or to a build folder.

    With several SPECS, each gets a folder of its own below DIR, called after its workflow. Exit
    codes: 0 done, 1 the spec has errors or (with --check) DIR holds another build, 2 usage or the
    outside world.
    """
    if compare and output is None:
        raise click.UsageError("--check compares with a build: name its folder with -o DIR")
    if run_id is None and (endpoint is not None or source_uri is not None):
        raise click.UsageError("--endpoint and --source-uri are values of a run: name it with --run-id")
    options = take_options(shared)._replace(endpoint_url=endpoint or "", source_uri=source_uri or "")
    failed = []
    compiled: list[tuple[str, Compiled]] = []
    for spec in specs:
        try:
            with Working(f"checking {spec}"):
                compiled.append((spec, compile(spec, options)))
        except SpecError as error:
            failed.append(error.checked)
    if failed:
        show_findings(failed, "text", color, err=True)
    _demand_distinct(compiled, output)
    stale = False
    for spec, item in compiled:
        if output is None:
            _show(spec, item, run_id)
            continue
        folder = Path(output) / item.program.workflow if len(specs) > 1 else Path(output)
        if compare:
            stale = _report_drift(spec, item, folder, run_id) or stale
            continue
        with Working(spec) as working:
            manifest = build(item, folder, run_id=run_id, tell=working)
        click.echo(
            f"{folder}: {_counted(len(item.program.waves()), 'wave')}, "
            f"{_counted(len(item.program.gates()), 'gate')}, program sha256:{manifest.program[:16]}"
        )
    if failed or stale:
        raise SystemExit(1)


def _show(spec: str, item: Compiled, run_id: str | None) -> None:
    """Write the documents to standard output, one after the other."""
    with Working(spec) as working:
        documents = preview(item, run_id=run_id, tell=working)
        if sys.stdout.isatty():
            working.end()  # the documents show by themselves how far it is
        for at, (title, text) in enumerate(documents):
            working("writing documents", at, len(documents))
            click.echo(f"# {title}\n{text.rstrip()}")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _report_drift(spec: str, item: Compiled, folder: Path, run_id: str | None) -> bool:
    from npac.api import check_drift

    with Working(f"comparing {spec} with {folder}"):
        text = check_drift(item, folder, run_id=run_id)
    if text:
        click.echo(f"{folder} is not what {spec} compiles to:\n{text}")
        click.echo(f"  help: compile {spec} again into {folder}, look at what changed, and keep it")
    return bool(text)


def _demand_distinct(compiled: list[tuple[str, Compiled]], output: str | None) -> None:
    first: dict[str, str] = {}
    for spec, item in compiled:
        other = first.setdefault(item.program.workflow, spec)
        if output is not None and other != spec:
            raise NpacError(
                f"{other} and {spec} are both called {item.program.workflow}, and would share one folder",
                remedy="Compile them one by one, each with its own -o.",
            )
