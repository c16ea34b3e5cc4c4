"""``npac check``."""

from __future__ import annotations

from typing import Any

import click

from npac.api import NpacError
from npac.api.checking import selectors
from npac.cli.checks import perform
from npac.cli.options import spec_options, take_options


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
    "--select",
    multiple=True,
    metavar="CODES",
    help="Only these codes, beginnings of codes (NPA3) or names of codes.",
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Not these codes, beginnings or names.")
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
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing; 1 if anything.")
@click.option(
    "--unsafe-fixes", is_flag=True, help="With --fix or --diff: mend also what may change the meaning."
)
@click.option("-q", "--quiet", is_flag=True, help="Show findings and nothing else.")
@click.option("--output-file", metavar="FILE", help="Write what is found to a file.")
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
    unsafe_fixes: bool,
    quiet: bool,
    output_file: str | None,
    stdin_filename: str | None,
    **shared: Any,
) -> None:
    """Check specs and show every fault with its place and remedy.

    PATHS are specs, folders, or - for standard input; without any, the specs below this folder are
    found. Exit codes: 0 clean, 1 findings, 2 usage or a file that cannot be read.
    """
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes says what to mend: give it with --fix or --diff")
    if statistics and format not in ("text", "json"):
        raise click.UsageError(f"--statistics are shown as text or json, not as {format}")
    if output_file is not None and diff:
        raise click.UsageError("--diff is written to standard output: leave --output-file out")
    perform(
        paths,
        take_options(shared)._replace(select=_codes(select), ignore=_codes(ignore)),
        format=format,
        color=color,
        strict=strict,
        least=least,
        statistics=statistics,
        skip_other=skip_other,
        exit_zero=exit_zero,
        fix=fix,
        diff=diff,
        unsafe_fixes=unsafe_fixes,
        quiet=quiet,
        output_file=output_file,
        stdin_filename=stdin_filename,
    )


def _codes(given: tuple[str, ...]) -> tuple[str, ...]:
    """Split lists at commas and see that each entry means some code."""
    found = [code.strip() for item in given for code in item.split(",") if code.strip()]
    try:
        return selectors(found)
    except NpacError as error:
        raise click.UsageError(f"{error}; {error.remedy[:1].lower()}{error.remedy[1:]}") from None
