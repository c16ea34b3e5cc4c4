"""Results for people: a line for each case, and for a failure what was expected, what came, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from npac.diagnostics.color import paint
from npac.diagnostics.render import render as render_findings
from npac.diagnostics.render.visible import visible
from npac.spectest.judge_texts import Failure
from npac.spectest.run import ERROR, FAILED, PASSED, CaseResult, FileResult

_WORDS = {PASSED: ("ok", "help"), FAILED: ("FAIL", "error"), ERROR: ("ERROR", "error")}


def render(results: Sequence[FileResult], *, color: bool) -> str:
    """Give a block for each file and one line at the end."""
    lines: list[str] = []
    for result in results:
        lines.append(paint(visible(result.source.path), "strong", color))
        if result.findings:
            text = render_findings("text", result.findings, color=color)
            lines += [f"  {line}" if line else "" for line in text.rstrip().splitlines()]
        for case in result.results:
            lines += _case(case, color)
        lines.append("")
    lines.append(summary(results))
    return "\n".join(lines) + "\n"


def summary(results: Sequence[FileResult]) -> str:
    """Give one line: how many passed, failed, could not be tried, were left out."""
    cases = [case for result in results for case in result.results]
    counts = [
        (sum(case.outcome == PASSED for case in cases), "passed"),
        (sum(case.outcome == FAILED for case in cases), "failed"),
        (sum(case.outcome == ERROR for case in cases), "could not be tried"),
        (sum(result.left_out for result in results), "not selected"),
    ]
    said = [f"{count} {word}" for count, word in counts if count] or ["no case was run"]
    broken = sum(bool(result.findings) for result in results)
    if broken:
        said.append(f"{broken} file{'s' if broken > 1 else ''} cannot be used")
    return ", ".join(said)


def _case(result: CaseResult, color: bool) -> Iterator[str]:
    word, style = _WORDS[result.outcome]
    yield f"  {paint(word, style, color)}  {visible(result.case.name.value)}"
    if result.error:
        yield f"      {visible(result.error)}"
    for failure in result.failures:
        yield from _failure(failure, color)


def _failure(failure: Failure, color: bool) -> Iterator[str]:
    source = failure.span.source
    line, column = source.position(failure.span.start)
    place = paint(f"{visible(source.path)}:{line}:{column}", "gutter", color)
    yield f"      {place}: {visible(failure.message)}"
    if failure.checked is not None:
        text = render_findings("text", failure.checked.findings, color=color, hidden=failure.checked.hidden)
        yield f"        expected: {visible(failure.expected)}"
        yield from (f"        {found}".rstrip() for found in text.rstrip().splitlines())
        return
    expected, got = failure.expected.splitlines(), failure.got.splitlines()
    if len(expected) <= 1 and len(got) <= 1:
        if expected or got:
            yield f"        expected: {visible(failure.expected)}"
            yield f"        got:      {visible(failure.got)}"
    else:
        yield from (f"        {found}".rstrip() for found in _compare(expected, got, color))


def _compare(expected: Sequence[str], got: Sequence[str], color: bool) -> Iterator[str]:
    """Give the lines of both, ``-`` before what was expected only and ``+`` before what came only."""
    yield "- expected, + got"
    matcher = SequenceMatcher(None, expected, got, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            yield from (f"  {visible(line)}" for line in expected[a:b])
            continue
        yield from (paint(f"- {visible(line)}", "error", color) for line in expected[a:b])
        yield from (paint(f"+ {visible(line)}", "help", color) for line in got[c:d])
