"""What is given on the command line: refused where it is no text, or nothing at all."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from npac.diagnostics.credentials import credentials

PATHS = frozenset(
    (
        "a", "b", "catalogs", "config_files", "folder", "ledger", "output", "paths", "spec", "specs",
        "stdin_filename", "target",
    )
)  # fmt: skip
"""Parameters that name files and folders, which may have names that are no UTF-8."""
_SHOWN = frozenset(("output", "stdin_filename"))
"""Paths of which nothing has to be there, so that whatever is given is taken, made and shown."""


def vet(command: click.Command) -> None:
    """Let a command refuse empty values, and bytes that are no UTF-8 where no path is meant."""
    for param in command.params:
        if param.callback is None:
            param.callback = demand_said


def demand_said(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Give ``value`` back, or raise a usage error for texts in it that say nothing."""
    if ctx.get_parameter_source(str(param.name)) is ParameterSource.DEFAULT:
        return value
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str):
            _demand(param, text)
    return value


def _demand(param: click.Parameter, text: str) -> None:
    name = param.opts[-1] if isinstance(param, click.Option) else str(param.metavar or param.name).upper()
    if not text:
        raise click.UsageError(f"{name} is empty: give it a value, or leave it out")
    if param.name in PATHS:
        if "\0" in text:
            raise click.UsageError(f"{name} holds a NUL character, and no path can")
        if param.name in _SHOWN and (found := next(credentials(text), None)) is not None:
            raise click.UsageError(f"{name} was given what looks like {found.what}, and would show it")
        return
    try:
        text.encode()
    except UnicodeEncodeError:
        raise click.UsageError(f"{name} holds bytes that are no UTF-8 text: write it as UTF-8") from None
    if "\0" in text:
        raise click.UsageError(f"{name} holds a NUL character, which no text here can hold")
