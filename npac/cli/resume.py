"""``npac resume``."""

from __future__ import annotations

from typing import Any

import click

from npac.api import Options, parse_pair, resume
from npac.cli.run import driver_options, finish, place_options, take_driver, take_lines, take_place


@click.command()
@click.argument("run_id")
@click.option(
    "--amend",
    metavar="SPEC",
    default="",
    help="Let the rest of the run follow this spec or build; what has finished must be the same in it.",
)
@click.option(
    "--var", "variables", multiple=True, metavar="KEY=VALUE", help="With --amend: override a config key, too."
)
@click.option(
    "--rerun-from",
    metavar="WAVE",
    default="",
    help="Run this wave (its number, node or state) again, and all that followed.",
)
@click.option("--as-stored", is_flag=True, help="Go on with the stored program, whatever its spec says now.")
@driver_options
@place_options
def command(
    run_id: str, amend: str, variables: tuple[str, ...], rerun_from: str, as_stored: bool, **shared: Any
) -> None:
    """Go on with a run from where its log says it is; nothing that has finished runs again.

    It goes on with the program that the run was started with, and refuses when its spec gives another one
    now: put the spec back, or use --amend or --as-stored. Exit codes as for npac run.
    """
    options = Options(vars=[parse_pair(item, "--var") for item in variables])
    course = {"amend": amend, "rerun_from": rerun_from, "as_stored": as_stored, "options": options}
    go_on(run_id, take_driver(shared), take_place(shared), take_lines(shared), **course)


def go_on(run_id: str, driver: Any, place: dict[str, Any], lines: Any, **course: Any) -> None:
    """Resume a run with live lines, and exit by its result; ``course`` says how, as of npac.api.resume."""
    try:
        result = resume(run_id, run_options=driver, progress=lines, handle_signals=True, **place, **course)
    finally:
        lines.close()
    finish(result, place["ledger"])
