"""Requests to a run: left for its driver, or carried out here when it has none."""

from __future__ import annotations

from typing import Any

import click

from npac.api import holder


def carry_out(run_id: str, what: str, driver: Any, place: dict[str, Any], lines: Any) -> None:
    """Say who deals with a request just left: the live driver, or this process by resuming."""
    last = holder(run_id, ledger=place["ledger"])
    if last is not None and not last["released"] and last["liveness"] != "dead":
        click.echo(f"{run_id}: {what} is left for the run's driver, which sees it at its next look")
        return
    from npac.cli.resume import go_on

    go_on(run_id, driver, place, lines)
