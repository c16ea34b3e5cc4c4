"""``npac test``."""

from __future__ import annotations

import os
import sys

import click

from npac.api import TEST_FORMATS, run_tests

_EXIT_CODES = {"passed": 0, "failed": 1, "error": 2}


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--format", type=click.Choice(TEST_FORMATS), default="text", show_default=True, help="Output.")
@click.option(
    "-k",
    "select",
    multiple=True,
    metavar="TEXT",
    help="Only cases whose FILE::NAME holds this text; given again, all must be held.",
)
@click.option("--color/--no-color", default=None, help="Use colour in text.")
def command(paths: tuple[str, ...], format: str, select: tuple[str, ...], color: bool | None) -> None:
    """Run the tests of specs: x.test.yaml beside x.yaml.

    PATHS are test files, specs that have one, or folders; without any, the tests below this folder are
    run. Exit codes: 0 all passed, 1 some failed or a test file is malformed, 2 usage, nothing to run, or
    a case that could not be tried.
    """
    from npac.diagnostics.color import wants_color
    from npac.diagnostics.render import emit

    done = run_tests(paths, select=select)
    use_color = format == "text" and wants_color(color, os.environ, sys.stdout)
    emit(done.as_text(format, color=use_color), sys.stdout)
    if code := _EXIT_CODES[done.outcome]:
        raise SystemExit(code)
