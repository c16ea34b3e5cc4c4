"""``npac diff``."""

from __future__ import annotations

from typing import Any

import click

from npac.api import Difference, diff
from npac.cli.options import link_options, spec_options, take_options


@click.command()
@click.argument("a")
@click.argument("b")
@spec_options
@link_options
@click.option(
    "--format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
def command(a: str, b: str, format: str, **shared: Any) -> None:
    """Compare two specs or builds by meaning: what will run differently (exit code 1 if anything)."""
    found = diff(a, b, take_options(shared))
    if format == "json":
        import json

        click.echo(json.dumps(found.as_data(), indent=2, ensure_ascii=False))
    else:
        click.echo(found.as_text().rstrip() or _none(found))
    if found.changes:
        raise SystemExit(1)


def _none(found: Difference) -> str:
    if found.same_text:
        return "no difference"
    return "no difference in anything that runs: only the text of the specs differs"
