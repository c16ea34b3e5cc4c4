"""Results as JUnit XML, which CI systems show by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from npac.diagnostics.diagnostic import Diagnostic
from npac.spectest.judge_texts import Failure
from npac.spectest.run import ERROR, FAILED, CaseResult, FileResult

# What XML 1.0 cannot hold, however it is escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(results: Sequence[FileResult], *, color: bool) -> str:
    """Give one ``testsuites`` element; a file that cannot be used is one case that has an error."""
    body = [line for result in results for line in _suite(result)]
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *body, "</testsuites>", ""])


def _suite(result: FileResult) -> list[str]:
    cases = result.results
    failed = sum(case.outcome == FAILED for case in cases)
    errors = sum(case.outcome == ERROR for case in cases) + bool(result.findings)
    count = len(cases) + bool(result.findings)
    seconds = sum(case.seconds for case in cases)
    head = (
        f'  <testsuite name={_attribute(result.source.path)} tests="{count}" failures="{failed}" '
        f'errors="{errors}" skipped="0" time="{seconds:.3f}">'
    )
    lines = [head]
    if result.findings:
        text = "\n".join(_finding(item) for item in result.findings)
        lines += _element(result.source.path, "the test file", 0.0, "error", text.splitlines()[0], text)
    for case in cases:
        lines += _case(result.source.path, case)
    return [*lines, "  </testsuite>"]


def _case(path: str, result: CaseResult) -> list[str]:
    name = result.case.name.value
    if result.outcome == ERROR:
        return _element(path, name, result.seconds, "error", result.error, result.error)
    if result.outcome == FAILED:
        text = "\n\n".join(_failure(failure) for failure in result.failures)
        return _element(path, name, result.seconds, "failure", result.failures[0].message, text)
    return [
        f'    <testcase classname={_attribute(path)} name={_attribute(name)} time="{result.seconds:.3f}"/>'
    ]


def _element(path: str, name: str, seconds: float, kind: str, message: str, text: str) -> list[str]:
    return [
        f'    <testcase classname={_attribute(path)} name={_attribute(name)} time="{seconds:.3f}">',
        f"      <{kind} message={_attribute(message)}>{escape(_clean(text))}</{kind}>",
        "    </testcase>",
    ]


def _failure(failure: Failure) -> str:
    lines = [f"{_place(failure)}: {failure.message}"]
    if failure.expected or failure.got:
        lines += [f"expected: {failure.expected}", f"got: {failure.got}"]
    if failure.checked is not None:
        lines += [_finding(item) for item in failure.checked.findings]
    return "\n".join(lines)


def _place(failure: Failure) -> str:
    line, column = failure.span.source.position(failure.span.start)
    return f"{failure.span.source.path}:{line}:{column}"


def _finding(item: Diagnostic) -> str:
    line, column = item.span.source.position(item.span.start)
    return f"{item.span.source.path}:{line}:{column}: {item.severity.word}[{item.code.id}] {item.message}"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text), {"\n": "&#10;"})


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
