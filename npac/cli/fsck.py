"""What ``npac runs fsck`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from npac.api import LedgerFault, LedgerReport, runs_place
from npac.cli.drivers import placed

Unknown = Sequence[tuple[str, LedgerFault]]
"""Ids of runs of which nothing could be found out, each with why."""


def exit_code(reports: Sequence[LedgerReport], unknown: Unknown) -> int:
    """Give 1 where damage was found, else 2 where something could not be found out, else 0."""
    if any(report.faults for report in reports):
        return 1
    return 2 if unknown else 0


def show_text(reports: Sequence[LedgerReport], unknown: Unknown, ledger: str | None) -> None:
    """Print a line for each run, and below it what is wrong with it and what to do."""
    if not reports and not unknown:
        click.echo(f"no runs in {runs_place(ledger=ledger)}")
    for report in reports:
        click.echo(f"{report.run_id}: {_sum(report)}")
        for fault in report.faults:
            click.echo(f"  {fault.message}")
            _help(fault, report.run_id, ledger)
    for name, fault in unknown:
        click.echo(f"{name}: not known: {fault.message}")
        _help(fault, name, ledger)


def show_json(reports: Sequence[LedgerReport], unknown: Unknown) -> None:
    """Print one JSON object: ``runs``, and ``unknown`` for those that could not be read."""
    import json

    data = {
        "runs": [_data(report) for report in reports],
        "unknown": [
            {"run_id": name, "message": fault.message, "remedy": fault.remedy} for name, fault in unknown
        ],
    }
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def _help(fault: LedgerFault, run_id: str, ledger: str | None) -> None:
    if fault.remedy:
        click.echo(f"    help: {placed(fault.remedy, run_id, ledger)}")


def _sum(report: LedgerReport) -> str:
    if report.faults:
        first = report.first_bad_event
        return "damaged" if first is None else f"damaged from event {first} on"
    events = f"{report.events} event{'' if report.events == 1 else 's'}"
    blobs = f"{report.blobs} stored object{'' if report.blobs == 1 else 's'}"
    return f"the log is whole ({events}, {blobs})"


def _data(report: LedgerReport) -> dict[str, Any]:
    return {
        "run_id": report.run_id,
        "whole": not report.faults,
        "events": report.events,
        "blobs": report.blobs,
        "first_bad_event": report.first_bad_event,
        "faults": [
            {"event": fault.event, "message": fault.message, "remedy": fault.remedy}
            for fault in report.faults
        ],
    }
