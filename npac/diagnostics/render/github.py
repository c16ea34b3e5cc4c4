"""Findings as workflow commands, which GitHub Actions shows as annotations in the changed files."""

from __future__ import annotations

from collections.abc import Sequence

from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.diagnostics.render.options import Options
from npac.diagnostics.render.visible import glyph

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(diagnostics: Sequence[Diagnostic], options: Options) -> str:
    """Give a command for each finding, one a line; nothing when there is none."""
    return "".join(_command(found) for found in diagnostics)


def _command(found: Diagnostic) -> str:
    line, column, end_line, end_column = found.span.range()
    properties = {
        "file": found.span.source.path.removeprefix("./"),
        "line": str(line),
        "endLine": str(end_line),
    }
    if line == end_line:  # columns are refused for an annotation over several lines
        properties |= {"col": str(column), "endColumn": str(end_column)}
    properties["title"] = f"{found.code.id} {found.code.name}"
    settings = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    text = f"{found.message}\n{found.help}" if found.help else found.message
    return f"::{_COMMANDS[found.severity]} {settings}::{_data(text)}\n"


def _data(text: str) -> str:
    """Escape a command's message; line ends survive as escapes, other control characters become visible."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text if text.isprintable() else "".join(map(glyph, text))


def _property(text: str) -> str:
    """Escape a command's property, where colon and comma are separators too."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
