"""``npac cancel``."""

from __future__ import annotations

from typing import Any

import click

from npac.cli.run import driver_options, place_options, take_driver, take_lines, take_place


@click.command()
@click.argument("run_id")
@click.option("--reason", default="", help="Why, for the log.")
@driver_options
@place_options
def command(run_id: str, reason: str, **shared: Any) -> None:
    """Cancel a run: its jobs are ended by id, and the run ends as cancelled (exit code 4).

    A run that is being driven is cancelled by its driver, which is waited for. A run that has ended is
    left as it is (exit code 0).
    """
    from npac.api import NpacError, cancel, status
    from npac.cli.asking import carry_out

    driver, place, lines = take_driver(shared), take_place(shared), take_lines(shared, "cancelling")
    try:
        request = cancel(run_id, reason, ledger=place["ledger"])
    except NpacError as error:
        if not status(run_id, ledger=place["ledger"]).ended:
            raise
        # Nothing of the run goes on, as was wanted: that is no failure.
        click.echo(str(error))
        return
    carry_out(run_id, request, "the request to cancel", driver, place, lines, ends=True)
