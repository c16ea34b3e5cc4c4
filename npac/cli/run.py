"""``npac run``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from npac.api import NpacError, run
from npac.cli.options import link_options, spec_options, take_options
from npac.cli.streams import OutputLost, tell

F = TypeVar("F", bound=Callable[..., Any])

_DRIVER_OPTIONS = (
    click.option(
        "--retries",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="Payload failures forgiven, per wave.",
    ),
    click.option(
        "--max-infrastructure-recoveries",
        type=click.IntRange(0),
        default=1,
        show_default=True,
        help="Infrastructure failures forgiven, per wave.",
    ),
    click.option(
        "--poll-seconds",
        type=click.FloatRange(0.05),
        default=1.0,
        show_default=True,
        help="Longest pause between looks at a job.",
    ),
    click.option(
        "--max-wait",
        type=click.FloatRange(0),
        default=0.0,
        help="Bound of one attempt at a wave, in seconds; 0 for none.",
    ),
    click.option(
        "--on-timeout", type=click.Choice(["cancel", "detach"]), default="cancel", show_default=True
    ),
    click.option(
        "--on-interrupt", type=click.Choice(["ask", "cancel", "detach"]), default="ask", show_default=True
    ),
    click.option(
        "--max-status-outage",
        type=click.FloatRange(0),
        default=900.0,
        show_default=True,
        help="Seconds an engine may be silent.",
    ),
    click.option(
        "--launch-quiet",
        type=click.FloatRange(0),
        default=60.0,
        show_default=True,
        help="Seconds after which a launch that nobody has seen counts as never made.",
    ),
    click.option(
        "--max-gpu-hours",
        type=click.FloatRange(0),
        metavar="HOURS",
        help="GPU hours of the run after which nothing more is launched; 0 for none. Resumes keep it.",
    ),
    click.option(
        "--engine-moved",
        is_flag=True,
        help="I have checked that no job of this run is left at the engine where it was.",
    ),
    click.option(
        "--allow-shared-outputs", is_flag=True, help="Run although an unfinished run writes the same outputs."
    ),
    click.option("--verbose", is_flag=True, help="Show every change of every job, too."),
)
_PLACE_OPTIONS = (
    click.option(
        "--ledger",
        metavar="DIR",
        help="Folder or s3:// URL of run ledgers; else NPAC_HOME or the state folder.",
    ),
    click.option(
        "--secret-env",
        "secrets",
        multiple=True,
        metavar="NAME",
        help="Give tasks this environment variable.",
    ),
    click.option(
        "--sky-bin",
        metavar="FILE",
        help="SkyPilot engine: the command sky of the SkyPilot to use; else NPA_SKYPILOT_BIN.",
    ),
    click.option(
        "--state-dir",
        metavar="DIR",
        help="SkyPilot engine: an isolated SkyPilot with its home, user id and API server in this folder.",
    ),
    click.option(
        "--pretend", is_flag=True, help="Local engine: run commands that ask for images or GPUs without them."
    ),
    click.option(
        "--slots",
        type=click.IntRange(1),
        help="Local engine: tasks at one time; else the number of CPUs.",
    ),
)


def driver_options(function: F) -> F:
    """Add the options that say how a driver behaves."""
    for option in reversed(_DRIVER_OPTIONS):
        function = option(function)
    return function


def place_options(function: F) -> F:
    """Add the options that say where a run's ledger, secrets and engine are."""
    for option in reversed(_PLACE_OPTIONS):
        function = option(function)
    return function


def take_driver(values: dict[str, Any]) -> Any:
    """Take the driver's options out of a command's arguments."""
    from npac.api import RunOptions

    names = (
        "retries", "max_infrastructure_recoveries", "poll_seconds", "max_wait", "on_timeout", "on_interrupt",
        "max_status_outage", "launch_quiet", "max_gpu_hours", "engine_moved", "allow_shared_outputs",
    )  # fmt: skip
    return RunOptions(**{name: values.pop(name) for name in names})


def take_lines(values: dict[str, Any], doing: str = "") -> Any:
    """Take what concerns live lines out of a command's arguments; ``doing`` is said instead of "resumed"."""
    from npac.cli.progress import Lines

    return Lines(verbose=values.pop("verbose", False), doing=doing)


def take_place(values: dict[str, Any]) -> dict[str, Any]:
    """Take ledger, secrets and engine options out of a command's arguments."""
    from npac.cli.project_defaults import ledger_of

    engine: dict[str, Any] = {}
    if values.pop("pretend", False):
        engine["pretend"] = True
    slots = values.pop("slots", None)
    if slots is not None:
        engine["slots"] = slots
    for option, name in (("sky_bin", "bin"), ("state_dir", "state_dir")):
        given = values.pop(option, None)
        if given is not None:
            engine[name] = given
    return {
        "ledger": values.pop("ledger", None) or ledger_of(),
        "secrets": values.pop("secrets", ()),
        "engine_options": engine,
    }


def finish(result: Any, ledger: str | None) -> None:
    """Say how a run was left and exit with the code that belongs to it.

    For a run that failed, the end of the log of each task that failed comes first, on standard error.
    """
    try:
        _tell(result, ledger)
    except OutputLost as lost:
        # How a run ended is in its log, and its code says it: that holds whether this can be read or not.
        tell(str(lost))
    raise SystemExit(result.exit_code)


def _tell(result: Any, ledger: str | None) -> None:
    from npac.api import status
    from npac.cli.drivers import placed

    view = status(result.run_id, ledger=ledger)
    if result.state == "failed":
        from npac.cli.logs import show_ends

        show_ends(view, ledger)
    told = f": {result.reason}" if result.reason else ""
    if view.detached and not view.ended and view.state != "blocked":
        told = f": its driver has left ({view.detached}), its jobs go on"
    if result.state == "succeeded" and view.waves:
        told = f" at {list(view.waves.values())[-1].label}"
    click.echo(f"{result.run_id}: {result.state}{told}")
    if result.remedy:
        click.echo(f"  next: {placed(result.remedy, result.run_id, ledger)}")
    if result.state == "succeeded":
        _artifacts(view)


def _artifacts(view: Any) -> None:
    records = list(view.records.values()) if isinstance(view.records, dict) else list(view.records)
    if records:
        click.echo("artifacts:")
        for record in records:
            click.echo(f"  {record.uri}  ({record.state})")


@click.command()
@click.argument("target")
@spec_options
@link_options
@click.option(
    "--run-id", metavar="ID", help="Id of the run; made from the workflow's name and the time if left out."
)
@click.option("--engine", default="local", show_default=True, help="Where jobs run.")
@click.option(
    "--single-writer",
    is_flag=True,
    help="Ledger on a store without conditional writes: I start one driver at a time.",
)
@driver_options
@place_options
@click.option("--plan-only", is_flag=True, help="Plan and stop, as `npac plan` does.")
@click.option(
    "--runtime", is_flag=True, hidden=True, help="Accepted and without effect: there is one runtime."
)
@click.option("--assume-decision", "assume", metavar="DECISION", help="Only with --plan-only.")
def command(
    target: str,
    run_id: str | None,
    engine: str,
    single_writer: bool,
    plan_only: bool,
    runtime: bool,
    assume: str | None,
    **shared: Any,
) -> None:
    """Run a spec, a build or raw SkyPilot YAML to its end.

    Exit codes: 0 succeeded, 1 failed, 3 blocked, 4 cancelled, 2 usage or refused before anything was
    launched, 130 interrupted.
    """
    if assume is not None and not plan_only:
        raise NpacError(
            "--assume-decision is for previews only; a run takes only decisions that were really made",
            remedy="Use npac plan, or leave the option out.",
        )
    options = take_options(shared)
    driver = take_driver(shared)
    named = shared.get("ledger")
    place = take_place(shared)
    lines = take_lines(shared)
    if plan_only:
        from npac.cli.plan import show_plan

        show_plan(target, options, run_id, assume)
        return
    if place["ledger"] and named is None:
        from npac.api import runs_place

        tell(f"ledger: {runs_place(ledger=place['ledger'])} (from the project's configuration)")
    try:
        result = run(
            target,
            options,
            run_id=run_id,
            run_options=driver,
            engine=engine,
            single_writer=single_writer,
            progress=lines,
            handle_signals=True,
            **place,
        )
    finally:
        lines.close()
    finish(result, place["ledger"])
