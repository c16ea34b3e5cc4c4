"""Showing findings, in the format and colour that the user wants."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from npac.api import Checked
from npac.diagnostics.diagnostic import Severity


def show_findings(
    checked: Sequence[Checked],
    format: str,
    color: bool | None,
    *,
    err: bool = False,
    least: Severity = Severity.NOTE,
) -> None:
    """Render the findings of all files to standard output (or, with ``err``, standard error)."""
    from npac.diagnostics.color import wants_color
    from npac.diagnostics.render import emit, render

    stream = sys.stderr if err else sys.stdout
    findings = [item for one in checked for item in one.findings if item.severity >= least]
    hidden = [span for one in checked for span in one.hidden]
    text = render(
        format,
        findings,
        color=wants_color(color, os.environ, stream) if format == "text" else False,
        checked=len(checked),
        hidden=hidden,
        width=_width(),
        raw=sum(one.raw for one in checked),
    )
    emit(text, stream)


def failed(checked: Sequence[Checked], *, strict: bool = False) -> bool:
    """Say whether the findings stop the work."""
    limit = Severity.WARNING if strict else Severity.ERROR
    return any(item.severity >= limit for one in checked for item in one.findings)


def show_statistics(checked: Sequence[Checked], least: Severity) -> None:
    """Print how often each code was found, the most frequent first."""
    counts: dict[tuple[str, str, str], int] = {}
    for one in checked:
        for item in one.findings:
            if item.severity >= least:
                key = (item.code.id, item.code.name, item.severity.word)
                counts[key] = counts.get(key, 0) + 1
    for (code, name, word), count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])):
        print(f"{count:>6}  {code}  {word:<7}  {name}")


def _width() -> int:
    """Give the width to render for: the terminal's, within reason; 120 where there is none."""
    try:
        columns = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 0
    except (OSError, ValueError):
        columns = 0
    return max(60, min(columns or 120, 200))
