"""``npac verify``."""

from __future__ import annotations

from pathlib import Path

import click

from npac.api import NpacError


@click.command()
@click.argument("folder")
def command(folder: str) -> None:
    """Hash a build again and say which file was changed, is lacking, or is extra (exit code 1)."""
    from npac.build.errors import BuildError
    from npac.build.verify import verify_build

    try:
        problems = verify_build(Path(folder))
    except BuildError as error:
        raise NpacError(str(error), remedy=error.remedy) from error
    for problem in problems:
        click.echo(f"{problem.path}: {problem.kind}: {problem.message}")
    if problems:
        raise SystemExit(1)
    click.echo(f"{folder}: every file is what was compiled")
