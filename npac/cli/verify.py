"""``npac verify``."""

from __future__ import annotations

import click

from npac.api import restore, verify
from npac.diagnostics.credentials import redacted


@click.command()
@click.argument("folder")
@click.option(
    "--restore", "again", is_flag=True, help="Make the readable files again from the objects first."
)
def command(folder: str, again: bool) -> None:
    """Hash a build again and say which file was changed, is lacking, or is extra (exit code 1)."""
    if again:
        restore(folder)
    problems = verify(folder)
    for problem in problems:
        # what is said begins with the path already, where that reads well
        shown = (
            problem.message
            if problem.message.startswith(problem.path)
            else f"{problem.path}: {problem.message}"
        )
        # the folder's name stands in it, and may be anything that was given by mistake
        click.echo(redacted(f"{problem.kind}: {shown}"))
    if problems:
        raise SystemExit(1)
    click.echo(f"{folder}: every file is what was compiled")
