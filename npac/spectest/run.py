"""Running test files: each case gets an outcome, and a file that cannot be used gets findings."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from npac.checking import read_bytes
from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.errors import NpacError
from npac.spectest.judge import judge, not_refused
from npac.spectest.judge_texts import Failure
from npac.spectest.model import Case
from npac.spectest.parse import parse_suite
from npac.spectest.walking import Compile, Undecided, Walker
from npac.syntax.nearest import nearest
from npac.text.source import SourceFile, decode

PASSED = "passed"
FAILED = "failed"
ERROR = "error"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case ended."""

    case: Case
    outcome: str
    """``passed``, ``failed`` (an expectation does not hold) or ``error`` (it could not be tried)."""
    failures: tuple[Failure, ...] = ()
    error: str = ""
    """For an error: what stood in the way, and what to do."""
    seconds: float = 0.0


@dataclass(slots=True)
class FileResult:
    """What one test file gave.  With ``findings`` at error level none of its cases was tried."""

    source: SourceFile
    spec: str = ""
    findings: list[Diagnostic] = field(default_factory=list)
    results: list[CaseResult] = field(default_factory=list)
    left_out: int = 0
    """Cases that the selection left out."""


def run_file(path: str, compile: Compile, select: Sequence[str] = ()) -> FileResult:
    """Run the cases of one test file, whose spec ``compile`` compiles for each.

    ``select`` keeps the cases whose ``path::name`` holds each of its texts, case ignored.  Raises
    :class:`NpacError` when the file cannot be read.
    """
    source, bad = decode(path, read_bytes(path))
    if bad is not None:
        message = "the bytes here are no UTF-8 text"
        item = finding("unreadable-file", message, source.span(bad, bad + 1), "save the file as UTF-8")
        return FileResult(source, findings=[item])
    suite, findings = parse_suite(source)
    result = FileResult(source, findings=findings)
    if suite is None or findings:
        return result
    result.spec = suite.spec
    if not os.path.isfile(suite.spec):
        message = f"there is no spec {suite.spec}"
        help_text = f"{_near(suite.spec)}name it with spec: PATH, seen from this file's folder"
        result.findings.append(finding("unreadable-file", message, suite.spec_at, help_text))
        return result
    walker = Walker(suite, compile)
    for case in suite.cases:
        if selected(path, case.name.value, select):
            result.results.append(_run(walker, case))
        else:
            result.left_out += 1
    return result


def _near(path: str) -> str:
    """Give a question that names the file which a misspelt path may have meant; empty for none."""
    folder, name = os.path.split(path)
    try:
        near = nearest(name, sorted(os.listdir(folder or os.curdir)), 1)
    except (OSError, ValueError):
        return ""
    return f"did you mean {near[0]}? else " if near else ""


def selected(path: str, name: str, select: Sequence[str]) -> bool:
    """Say whether a selection takes the case ``name`` of the file ``path``."""
    full = f"{path}::{name}".casefold()
    return all(text.casefold() in full for text in select)


def _run(walker: Walker, case: Case) -> CaseResult:
    start = time.perf_counter()
    try:
        failures = judge(case, walker.walk(case))
    except Undecided as error:
        failures = _undecided(case, error)
    except NpacError as error:
        return CaseResult(case, ERROR, error=error.in_one_line(), seconds=time.perf_counter() - start)
    outcome = FAILED if failures else PASSED
    return CaseResult(case, outcome, tuple(failures), seconds=time.perf_counter() - start)


def _undecided(case: Case, error: Undecided) -> list[Failure]:
    if case.expected.error is not None:
        return [not_refused(case.expected.error)]
    gate = error.gate
    message = (
        f"the walk reads the gate {gate.id}, and the case decides nothing there; add "
        f"decide: {{{gate.state}: [promote]}}, or assume: promote_checkpoint"
    )
    return [Failure(text.span, said) for text, said in error.unknown] + [Failure(case.name.span, message)]
