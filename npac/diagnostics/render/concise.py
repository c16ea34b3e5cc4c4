"""Findings as one line each: ``path:line:column: error[CODE] message``."""

from __future__ import annotations

from collections.abc import Sequence

from npac.diagnostics.color import paint
from npac.diagnostics.diagnostic import Diagnostic
from npac.diagnostics.render.options import Options
from npac.diagnostics.render.visible import visible


def render(diagnostics: Sequence[Diagnostic], options: Options) -> str:
    """Give a line for each finding; nothing when there is none."""
    return "".join(_line(found, options.color) for found in diagnostics)


def _line(found: Diagnostic, on: bool) -> str:
    source = found.span.source
    line, column = source.position(found.span.start)
    word = found.severity.word
    code = paint(f"{word}[{found.code.id}]", word, on)
    return f"{paint(visible(source.path), 'strong', on)}:{line}:{column}: {code} {visible(found.message)}\n"
