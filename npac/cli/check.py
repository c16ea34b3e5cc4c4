"""``npac check``."""

from __future__ import annotations

import os
from typing import Any

import click

from npac.api import Checked, NpacError, Options, check, wants_strict
from npac.cli.options import spec_options, take_options
from npac.cli.show import failed, show_findings, show_statistics
from npac.diagnostics.codes import CODES
from npac.diagnostics.diagnostic import Severity


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
@click.option(
    "--color/--no-color", default=None, help="Use colour; else NO_COLOR, FORCE_COLOR, then the terminal."
)
@click.option("--strict", is_flag=True, help="Let warnings fail the check too.")
@click.option(
    "--select", multiple=True, metavar="CODES", help="Only these codes, or beginnings of codes (NPA3)."
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Not these codes, or beginnings of codes.")
@click.option(
    "--severity",
    "least",
    type=click.Choice(["note", "warning", "error"]),
    default="note",
    show_default=True,
    help="Least severity that is shown.",
)
@click.option("--statistics", is_flag=True, help="Count findings by code instead of showing each.")
@click.option(
    "--skip-other",
    is_flag=True,
    help="Pass over named files that are no npac specs, or that the project excludes: for hooks.",
)
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option("--fix", is_flag=True, help="Mend what can be mended safely, in the files.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--stdin-filename", metavar="PATH", help="Name to show for a spec read from standard input (-)."
)
def command(
    paths: tuple[str, ...],
    format: str,
    color: bool | None,
    strict: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    least: str,
    statistics: bool,
    skip_other: bool,
    exit_zero: bool,
    fix: bool,
    diff: bool,
    stdin_filename: str | None,
    **shared: Any,
) -> None:
    """Check specs and show every fault with its place and remedy.

    PATHS are specs, folders, or - for standard input; without any, the specs below this folder are
    found. Exit codes: 0 clean, 1 findings, 2 usage or a file that cannot be read.
    """
    options = take_options(shared)._replace(select=_codes(select), ignore=_codes(ignore))
    results, unread, piped = _check_all(_expand(paths, skip_other), options, stdin_filename)
    if fix or diff:
        from npac.cli.mending import show_mended

        write = fix and not diff
        results = [
            show_mended(item, options, write=write, color=color, piped=item is piped) for item in results
        ]
    if statistics:
        show_statistics(results, Severity[least.upper()])
    elif not diff:
        # with --fix, standard output carries the mended text of standard input
        err = fix and "-" in paths
        show_findings(results, format, color, err=err, least=Severity[least.upper()])
    for message in unread:
        click.echo(message, err=True)
    if unread:
        raise SystemExit(2)
    if not exit_zero and failed(results, strict=strict or wants_strict(results, options)):
        raise SystemExit(1)


def _codes(given: tuple[str, ...]) -> tuple[str, ...]:
    """Split lists at commas and see that each entry begins some code."""
    found = tuple(code.strip() for item in given for code in item.split(",") if code.strip())
    for code in found:
        if not any(known.startswith(code) for known in CODES):
            raise click.UsageError(f"{code!r} is no code and no beginning of one; codes look like NPA302")
    return found


def _check_all(
    paths: list[str], options: Options, stdin_filename: str | None
) -> tuple[list[Checked], list[str], Checked | None]:
    """Give what was checked, what is to be said of files that were not, and which was standard input."""
    results: list[Checked] = []
    unread: list[str] = []
    piped: Checked | None = None
    for path in paths:
        try:
            if path == "-":
                from npac.api import read_bytes

                piped = check(stdin_filename or "-", options, data=read_bytes("-"))
                results.append(piped)
            else:
                results.append(check(path, options))
        except NpacError as error:
            unread.append(f"error: {error}" + (f"\n  help: {error.remedy}" if error.remedy else ""))
    return results, list(dict.fromkeys(unread)), piped


def _expand(paths: tuple[str, ...], skip_other: bool) -> list[str]:
    """Give the files to check; what holds no spec, a folder or a test, is said on standard error."""
    found: list[str] = []
    named = list(paths) or ["."]
    if skip_other:
        from npac.api import keep_specs

        named = keep_specs(named)
    for path in named:
        if path != "-" and os.path.isdir(path):
            from npac.api import find_specs

            below = find_specs(path)
            if not below:
                click.echo(f"no npac specs below {path}", err=True)
            found.extend(below)
        elif path.endswith(".test.yaml"):
            click.echo(f"{path} is a test of a spec: npac test runs it", err=True)
        else:
            found.append(path)
    return list(dict.fromkeys(found))
