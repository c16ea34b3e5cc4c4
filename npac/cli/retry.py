"""``npac retry``."""

from __future__ import annotations

from typing import Any

import click

from npac.cli.run import driver_options, place_options, take_driver, take_place


@click.command()
@click.argument("run_id")
@driver_options
@place_options
def command(run_id: str, **shared: Any) -> None:
    """Allow a run that failed, was cancelled or is blocked one more attempt, and go on."""
    from npac.cli.asking import carry_out
    from npac.running import open_ledger
    from npac.runtime.api import request_retry

    driver, place = take_driver(shared), take_place(shared)
    ledger = open_ledger(run_id, place["ledger"])
    request_retry(ledger)
    carry_out(ledger, "the request to retry", driver, place)
