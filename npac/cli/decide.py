"""``npac decide``."""

from __future__ import annotations

import getpass
import os
from typing import Any

import click

from npac.cli.run import driver_options, place_options, take_driver, take_lines, take_place


@click.command()
@click.argument("run_id")
@click.argument("gate")
@click.argument("decision")
@click.option("--reason", required=True, help="Why, for the log; a decision by hand is audited.")
@driver_options
@place_options
def command(run_id: str, gate: str, decision: str, reason: str, **shared: Any) -> None:
    """Give a blocked gate its decision, and go on.

    DECISION is promote_checkpoint (or promote) or loop_back (or loop_back_to_inner_loop), as in a
    decision artifact.
    """
    from npac.api import decide
    from npac.cli.asking import carry_out

    driver, place, lines = take_driver(shared), take_place(shared), take_lines(shared)
    if not reason.strip():
        raise click.UsageError("--reason is empty; say why, for the log")
    request = decide(run_id, gate, decision, reason, by=_user(), ledger=place["ledger"])
    carry_out(run_id, request, "the decision", driver, place, lines)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run as a user that has no name.
        return str(os.getuid())
