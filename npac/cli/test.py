"""``npac test``."""

from __future__ import annotations

import os
import sys

import click

from npac.api import NpacError
from npac.api import test as run_tests
from npac.spectest.render import FORMATS


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--format", type=click.Choice(FORMATS), default="text", show_default=True, help="Output.")
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
    from npac.spectest.render import render
    from npac.spectest.run import ERROR, FAILED

    results = [run_tests(path, select=select) for path in _expand(paths)]
    tried = [case for result in results for case in result.results]
    broken = any(result.findings for result in results)
    if not tried and not broken:
        raise NpacError(
            f"no case is called {' and '.join(map(repr, select))}", remedy="Run without -k to see the names."
        )
    use_color = format == "text" and wants_color(color, os.environ, sys.stdout)
    emit(render(format, results, color=use_color), sys.stdout)
    outcomes = {case.outcome for case in tried}
    if ERROR in outcomes:
        raise SystemExit(2)
    if broken or FAILED in outcomes:
        raise SystemExit(1)


def _expand(paths: tuple[str, ...]) -> list[str]:
    from npac.discovery import find_tests
    from npac.spectest.parse import ENDING

    found: list[str] = []
    for path in paths or (".",):
        if os.path.isdir(path):
            below = find_tests(path)
            if not below:
                where = "this folder" if path == "." else path
                raise NpacError(
                    f"there is no test below {where}", remedy=f"A test of x.yaml is called x{ENDING}."
                )
            found += below
        elif path.endswith(ENDING):
            found.append(path)
        else:
            beside = os.path.splitext(path)[0] + ENDING
            if not os.path.isfile(beside):
                raise NpacError(f"{path} has no test", remedy=f"Write {beside}.")
            found.append(beside)
    return list(dict.fromkeys(found))
