"""Results as one JSON array, an entry for each file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from npac.diagnostics.render.json import as_data
from npac.spectest.judge_texts import Failure
from npac.spectest.run import CaseResult, FileResult
from npac.text.source import Span


def render(results: Sequence[FileResult], *, color: bool) -> str:
    """Give the array, indented, in plain ASCII so that every stream and reader takes it."""
    return json.dumps([_file(result) for result in results], indent=2) + "\n"


def _file(result: FileResult) -> dict[str, Any]:
    return {
        "path": result.source.path,
        "spec": result.spec,
        "findings": [as_data(item) for item in result.findings],
        "cases": [_case(case) for case in result.results],
        "not_selected": result.left_out,
    }


def _case(result: CaseResult) -> dict[str, Any]:
    return {
        "name": result.case.name.value,
        "range": _range(result.case.name.span),
        "outcome": result.outcome,
        "error": result.error,
        "failures": [_failure(failure) for failure in result.failures],
    }


def _failure(failure: Failure) -> dict[str, Any]:
    findings = failure.checked.findings if failure.checked is not None else []
    return {
        "message": failure.message,
        "range": _range(failure.span),
        "expected": failure.expected,
        "got": failure.got,
        "findings": [as_data(item) for item in findings],
    }


def _range(span: Span) -> dict[str, dict[str, int]]:
    line, column, end_line, end_column = span.range()
    return {"start": {"line": line, "column": column}, "end": {"line": end_line, "column": end_column}}
