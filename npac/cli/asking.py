"""Requests to a run: left for its driver, or carried out here when it has none."""

from __future__ import annotations

from typing import Any

import click

from npac.ledger.ports import RunLedger


def carry_out(ledger: RunLedger, what: str, driver: Any, place: dict[str, Any], lines: Any) -> None:
    """Say who deals with a request just left: the live driver, or this process by resuming."""
    holder = ledger.holder()
    if holder is not None and not holder["released"] and holder["liveness"] != "dead":
        click.echo(f"{ledger.run_id}: {what} is left for the run's driver, which sees it at its next look")
        return
    from npac.cli.resume import go_on

    go_on(ledger.run_id, driver, place, lines)
