"""Showing findings, in the format and colour that the user wants."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from npac.checking import Checked
from npac.diagnostics.diagnostic import Severity


def show_findings(
    checked: Sequence[Checked], format: str, color: bool | None, *, err: bool = False, least: Severity = Severity.NOTE
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
        width=max(60, min(shutil.get_terminal_size((120, 24)).columns, 200)),
    )
    emit(text, stream)


def failed(checked: Sequence[Checked], *, strict: bool = False) -> bool:
    """Say whether the findings stop the work."""
    limit = Severity.WARNING if strict else Severity.ERROR
    return any(item.severity >= limit for one in checked for item in one.findings)
