"""``npac verify``."""

from __future__ import annotations

import click

from npac.api import restore, verify


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
        click.echo(f"{problem.kind}: {shown}")
    if problems:
        raise SystemExit(1)
    click.echo(f"{folder}: every file is what was compiled")
