"""``npac why``."""

from __future__ import annotations

import click

from npac.api import NpacError, status
from npac.cli.project_defaults import ledger_of


@click.command()
@click.argument("run_id")
@click.argument("wave", required=False)
@click.option("--ledger", metavar="DIR", help="Folder of run ledgers.")
def command(run_id: str, wave: str | None, ledger: str | None) -> None:
    """Explain in one paragraph why a run (or one WAVE of it) is where it is, and what to do next."""
    from npac.runtime.why import why

    view = status(run_id, ledger=ledger or ledger_of())
    try:
        click.echo(why(view, wave or ""))
    except KeyError:
        known = (
            ", ".join(f"{item.number} {item.node}" for item in list(view.waves.values())[:8]) or "none yet"
        )
        raise NpacError(f"run {run_id} has no wave {wave!r}", remedy=f"Its waves so far: {known}.") from None
