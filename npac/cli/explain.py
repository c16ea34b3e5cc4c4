"""``npac explain``."""

from __future__ import annotations

import click

from npac.api import explain


@click.command()
@click.argument("rule", metavar="CODE")
def command(rule: str) -> None:
    """Print the page about a finding's CODE, given as NPA302 or by its name, as member-as-target."""
    click.echo(explain(rule).rstrip("\n"))
