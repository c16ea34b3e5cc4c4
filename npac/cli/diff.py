"""``npac diff``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from npac.api import load
from npac.cli.options import spec_options, take_options


@click.command()
@click.argument("a")
@click.argument("b")
@spec_options
@click.option(
    "--format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
def command(a: str, b: str, format: str, **shared: Any) -> None:
    """Compare two specs or builds by meaning: what will run differently (exit code 1 if anything)."""
    from npac.build.diff import diff_programs, render

    options = take_options(shared)
    changes = diff_programs(load(a, options), load(b, options))
    if format == "json":
        import json

        click.echo(json.dumps([asdict(change) for change in changes], indent=2, ensure_ascii=False))
    else:
        click.echo(render(changes).rstrip() or "no difference")
    if changes:
        raise SystemExit(1)
