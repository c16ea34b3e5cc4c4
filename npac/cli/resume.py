"""``npac resume``."""

from __future__ import annotations

from typing import Any

import click

from npac.api import resume
from npac.cli.run import driver_options, finish, place_options, take_driver, take_lines, take_place


@click.command()
@click.argument("run_id")
@driver_options
@place_options
def command(run_id: str, **shared: Any) -> None:
    """Go on with a run from where its log says it is; nothing that has finished runs again.

    It goes on with the program that the run was started with. Exit codes as for npac run.
    """
    go_on(run_id, take_driver(shared), take_place(shared), take_lines(shared))


def go_on(run_id: str, driver: Any, place: dict[str, Any], lines: Any) -> None:
    """Resume a run with live lines, and exit by its result."""
    try:
        result = resume(run_id, run_options=driver, progress=lines, handle_signals=True, **place)
    finally:
        lines.close()
    finish(result, place["ledger"])
