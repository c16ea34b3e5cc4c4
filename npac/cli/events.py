"""``npac events``."""

from __future__ import annotations

import json

import click

from npac.api import events
from npac.cli.project_defaults import ledger_of


@click.command()
@click.argument("run_id")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, with all data.")
@click.option("--ledger", metavar="DIR", help="Folder or s3:// URL of run ledgers.")
def command(run_id: str, as_json: bool, ledger: str | None) -> None:
    """Show a run's event log, verified."""
    for event in events(run_id, ledger=ledger or ledger_of()):
        if as_json:
            data = {"number": event.number, "type": event.type, "fence": event.fence, "at": event.at}
            click.echo(json.dumps({**data, "data": dict(event.data), "digest": event.digest}, default=dict))
        else:
            named = [
                str(event.data[key])
                for key in ("node", "state", "status", "decision", "reason")
                if event.data.get(key)
            ]
            click.echo(f"{event.number:>5}  {event.at}  {event.type:<20}  {'  '.join(named)}".rstrip())
