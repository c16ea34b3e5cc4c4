"""``npac check``."""

from __future__ import annotations

import os
from typing import Any

import click

from npac.api import Checked, NpacError, Options, check
from npac.cli.options import spec_options, take_options
from npac.cli.show import failed, show_findings


@click.command()
@click.argument("paths", nargs=-1)
@spec_options
@click.option(
    "--format",
    type=click.Choice(["text", "concise", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="How findings are shown.",
)
@click.option("--color/--no-color", default=None, help="Use colour; else NO_COLOR, FORCE_COLOR, then the terminal.")
@click.option("--strict", is_flag=True, help="Let warnings fail the check too.")
@click.option("--stdin-filename", metavar="PATH", help="Name to show for a spec read from standard input (-).")
def command(
    paths: tuple[str, ...], format: str, color: bool | None, strict: bool, stdin_filename: str | None, **shared: Any
) -> None:
    """Check specs and show every fault with its place and remedy.

    PATHS are specs, folders, or - for standard input; without any, the specs below this folder are
    found. Exit codes: 0 clean, 1 findings, 2 usage or a file that cannot be read.
    """
    options = take_options(shared)
    results, unread = _check_all(paths, options, stdin_filename)
    show_findings(results, format, color)
    for message in unread:
        click.echo(f"error: {message}", err=True)
    if unread:
        raise SystemExit(2)
    if failed(results, strict=strict or _strict_project(results, options)):
        raise SystemExit(1)


def _check_all(
    paths: tuple[str, ...], options: Options, stdin_filename: str | None
) -> tuple[list[Checked], list[str]]:
    results: list[Checked] = []
    unread: list[str] = []
    for path in _expand(paths):
        try:
            if path == "-":
                from npac.checking import read_bytes

                results.append(check(stdin_filename or "-", options, data=read_bytes("-")))
            else:
                results.append(check(path, options))
        except NpacError as error:
            unread.append(str(error))
    return results, list(dict.fromkeys(unread))


def _expand(paths: tuple[str, ...]) -> list[str]:
    from npac.discovery import find_specs

    if not paths:
        return find_specs(".")
    found: list[str] = []
    for path in paths:
        found.extend(find_specs(path) if path != "-" and os.path.isdir(path) else [path])
    return found


def _strict_project(results: list[Checked], options: Options) -> bool:
    from npac.checking import project_for

    folders = {os.path.dirname(item.source.path) for item in results}
    return options.use_project and any(project_for(os.path.join(folder, "x"))[0].strict for folder in folders)
