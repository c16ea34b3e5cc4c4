"""``npac why``."""

from __future__ import annotations

import click

from npac.api import damage, holder, result_of, status, why
from npac.cli.drivers import driver_word, placed
from npac.cli.project_defaults import ledger_of


@click.command()
@click.argument("run_id")
@click.argument("wave", required=False)
@click.option("--ledger", metavar="DIR", help="Folder or s3:// URL of run ledgers.")
def command(run_id: str, wave: str | None, ledger: str | None) -> None:
    """Explain in one paragraph why a run (or one WAVE of it) is where it is, and what to do next."""
    root = ledger or ledger_of()
    text = why(run_id, wave or "", ledger=root)
    view = status(run_id, ledger=root)
    word = driver_word(holder(run_id, ledger=root))
    faults = [] if wave else damage(run_id, ledger=root)
    remedy = faults[0][1] if faults else result_of(view, word).remedy
    text += "".join(f" It is damaged: {fault}." for fault, _ in faults)
    if remedy and remedy not in text:
        driver = {"dead": "Its driver is dead", "none": "It has no driver"}.get(word)
        jobs = ", and its jobs go on by themselves" if view.run_uid else ""
        text += f" {driver}{jobs}." if driver else ""
        text += f" Next: {remedy}"
    click.echo(placed(text, run_id, root))
