"""Showing findings, in the format and colour that the user wants."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

from npac.api import Checked
from npac.diagnostics.diagnostic import Severity


def show_findings(
    checked: Sequence[Checked],
    format: str,
    color: bool | None,
    *,
    err: bool = False,
    least: Severity = Severity.NOTE,
    quiet: bool = False,
    output: str | None = None,
) -> None:
    """Render the findings of all files to standard output, with ``err`` to standard error.

    With ``output`` they go to that file.  With ``quiet`` nothing is said where nothing was found, and
    nothing is summed up.
    """
    from npac.diagnostics.render import render

    stream = sys.stderr if err else sys.stdout
    everything = [item for one in checked for item in one.findings]
    findings = [item for item in everything if item.severity >= least]
    hidden = [span for one in checked for span in one.hidden]
    text = render(
        format,
        findings,
        color=_colored(color, stream) if format == "text" and output is None else False,
        checked=len(checked),
        hidden=hidden,
        width=_width(),
        raw=sum(one.raw for one in checked),
        silenced=sum(len(one.silenced) for one in checked),
        lesser=len(everything) - len(findings),
        quiet=quiet,
    )
    put(text, output, stream)


def put(text: str, output: str | None, stream: TextIO | None = None) -> None:
    """Write a text to a file, or to a stream (standard output).  Raises :class:`NpacError`."""
    from npac.diagnostics.render import emit

    if output is None:
        emit(text, stream or sys.stdout)
    else:
        from npac.api.writing import write_file

        write_file(output, text.encode("utf-8", "backslashreplace"))


def _colored(color: bool | None, stream: TextIO) -> bool:
    from npac.diagnostics.color import wants_color

    return wants_color(color, os.environ, stream)


def failed(checked: Sequence[Checked], *, strict: bool = False) -> bool:
    """Say whether the findings stop the work."""
    limit = Severity.WARNING if strict else Severity.ERROR
    return any(item.severity >= limit for one in checked for item in one.findings)


def show_statistics(
    checked: Sequence[Checked], least: Severity, *, format: str = "text", output: str | None = None
) -> None:
    """Show how often each code was found, the most frequent first, as text or as JSON."""
    counts: dict[tuple[str, str, str], int] = {}
    for one in checked:
        for item in one.findings:
            if item.severity >= least:
                key = (item.code.id, item.code.name, item.severity.word)
                counts[key] = counts.get(key, 0) + 1
    rows = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    if format == "json":
        import json

        data = [
            {"code": code, "name": name, "severity": word, "count": count}
            for (code, name, word), count in rows
        ]
        text = json.dumps(data, indent=2) + "\n"
    else:
        text = "".join(f"{count:>6}  {code}  {word:<7}  {name}\n" for (code, name, word), count in rows)
    put(text, output)


def _width() -> int:
    """Give the width to render for: the terminal's, within reason; 120 where there is none."""
    try:
        columns = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 0
    except (OSError, ValueError):
        columns = 0
    return max(60, min(columns or 120, 200))
