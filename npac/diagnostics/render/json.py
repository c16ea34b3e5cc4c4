"""Findings as one JSON array, for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from npac.diagnostics.diagnostic import Diagnostic, Fix
from npac.diagnostics.render.options import MANY, Options, rule_command
from npac.diagnostics.render.visible import glyph
from npac.text.source import Span


def render(diagnostics: Sequence[Diagnostic], options: Options) -> str:
    """Give the array in plain ASCII, so that every stream and reader takes it.

    It is indented; of very many findings each has a line instead, which is far quicker to write and read.
    """
    if len(diagnostics) > MANY:
        return "[\n" + ",\n".join(json.dumps(as_data(found)) for found in diagnostics) + "\n]\n"
    return json.dumps([as_data(found) for found in diagnostics], indent=2) + "\n"


def as_data(found: Diagnostic) -> dict[str, Any]:
    """Give one finding as plain data; lines and columns count from 1, the end is exclusive."""
    return {
        "code": found.code.id,
        "name": found.code.name,
        "severity": found.severity.word,
        "message": found.message,
        "path": named(found.span.source.path),
        "range": _range(found.span),
        "related": [
            {"message": other.message, "path": named(other.span.source.path), "range": _range(other.span)}
            for other in found.related
        ],
        "help": found.help,
        "fix": None if found.fix is None else _fix(found.fix),
        "explain": rule_command(found.code.id),
    }


def named(path: str) -> str:
    """Give a path as text; a byte that is no UTF-8, which no JSON text can hold, as ``\\xff``."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return "".join(glyph(char) if "\ud800" <= char <= "\udfff" else char for char in path)
    return path


def _range(span: Span) -> dict[str, dict[str, int]]:
    line, column, end_line, end_column = span.range()
    return {"start": {"line": line, "column": column}, "end": {"line": end_line, "column": end_column}}


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [{"range": _range(edit.span), "text": edit.text} for edit in fix.edits]
    return {"message": fix.message, "safe": fix.safe, "edits": edits}
