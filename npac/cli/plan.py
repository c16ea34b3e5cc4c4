"""``npac plan``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from npac.api import Options, parse_decisions, planned
from npac.cli.options import spec_options, take_options

F = TypeVar("F", bound=Callable[..., Any])

_PATH_OPTIONS = (
    click.option(
        "--run-id", metavar="ID", help="Run id to plan for; else RUN-ID, or that of a linked build."
    ),
    click.option(
        "--assume-decision",
        "assume",
        metavar="DECISION",
        help="Assume promote_checkpoint, loop_back or default at every gate.",
    ),
    click.option(
        "--decide", "decisions", multiple=True, metavar="GATE=D1,D2", help="Decisions of one gate, by visit."
    ),
)


def path_options(function: F) -> F:
    """Add the options that choose one path through a program."""
    for option in reversed(_PATH_OPTIONS):
        function = option(function)
    return function


def take_path(assume: str | None, decisions: tuple[str, ...]) -> dict[str, Any]:
    """Give the arguments of :func:`npac.api.planned` that choose a path.  Raises :class:`NpacError`."""
    return {"assume": assume, "decide": parse_decisions(decisions)}


@click.command()
@click.argument("target", metavar="SPEC|BUILD")
@spec_options
@path_options
@click.option(
    "--format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
@click.option("--wide", is_flag=True, help="Shorten nothing, also on a terminal.")
def command(
    target: str,
    run_id: str | None,
    assume: str | None,
    decisions: tuple[str, ...],
    format: str,
    wide: bool,
    **shared: Any,
) -> None:
    """Show what a spec or a build would run: waves, images, accelerators, artifacts, secrets.

    With --assume-decision or --decide, the one path that these decisions lead along; without, the
    whole program, each state once, with the rounds of its loops. On a terminal, lines are fitted to
    its width; elsewhere nothing is shortened.
    """
    show_plan(target, take_options(shared), run_id, assume, parse_decisions(decisions), format, wide)


def show_plan(
    target: str,
    options: Options,
    run_id: str | None,
    assume: str | None,
    decide: dict[str, list[str]] | None = None,
    format: str = "text",
    wide: bool = False,
) -> None:
    """Plan a spec or a build and print the result."""
    item = planned(target, options, run_id=run_id, assume=assume, decide=decide)
    if format == "json":
        click.echo(item.as_json())
    else:
        click.echo(item.as_text(None if wide else _columns()), nl=False)


def _columns() -> int | None:
    """Give the width of the terminal that standard output is, None when it is none.

    The environment (``COLUMNS``) has no say: it is not to change what a plan prints.
    """
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else None
    except (OSError, ValueError, AttributeError):
        return None
