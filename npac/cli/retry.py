"""``npac retry``."""

from __future__ import annotations

from typing import Any

import click

from npac.cli.run import driver_options, place_options, take_driver, take_lines, take_place


@click.command()
@click.argument("run_id")
@driver_options
@place_options
def command(run_id: str, **shared: Any) -> None:
    """Allow a run that failed, was cancelled or is blocked one more attempt, and go on.

    It goes on with the program stored with the run; a changed spec needs a new run. A run that has
    succeeded, or is going on, is left as it is (exit code 2).
    """
    from npac.api import retry
    from npac.cli.asking import carry_out

    driver, place, lines = take_driver(shared), take_place(shared), take_lines(shared, "trying again")
    request = retry(run_id, ledger=place["ledger"])
    carry_out(run_id, request, "the request to retry", driver, place, lines)
