"""``npac verify``."""

from __future__ import annotations

import os

import click

from npac.api import NpacError, restore, verify
from npac.diagnostics.credentials import redacted


@click.command()
@click.argument("folder")
@click.option(
    "--restore", "again", is_flag=True, help="Make the readable files again from the objects first."
)
def command(folder: str, again: bool) -> None:
    """Hash a build again and say which file was changed, is lacking, or is extra (exit code 1)."""
    _demand_folder(folder)
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
    for remedy in dict.fromkeys(problem.remedy for problem in problems if problem.remedy):
        click.echo(redacted(f"  help: {remedy}"))
    if problems:
        raise SystemExit(1)
    click.echo(f"{folder}: every file is what was compiled")


def _demand_folder(folder: str) -> None:
    """Refuse what is no folder: nothing is said then of any build (exit code 2)."""
    if os.path.isdir(folder):
        return
    if os.path.exists(folder):
        raise NpacError(
            f"{folder} is not a folder, so it is no build",
            remedy="Name the folder that was given to npac compile with -o.",
        )
    raise NpacError(f"there is no folder {folder}", remedy="Check the path.")
