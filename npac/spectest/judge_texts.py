"""Comparing one text, or one list of words, with what is expected of it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from npac.checking import Checked
from npac.spectest.model import Match, Text, Words
from npac.text.source import Span


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that does not hold.

    ``expected`` and ``got`` are for people, several lines where there are several things; both are
    empty where the message says it all.  ``checked`` holds the findings that explain it.
    """

    span: Span
    message: str
    expected: str = ""
    got: str = ""
    checked: Checked | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """What was expected, in words, and where the test file says so."""

    span: Span
    expected: str


def match_problem(wanted: Match, got: str) -> Problem | None:
    """Give the first thing about ``got`` that does not hold, or None.

    Line feeds at the end do not count where the whole text is compared.
    """
    if wanted.exact is not None and wanted.exact.rstrip("\n") != got.rstrip("\n"):
        return Problem(wanted.span, wanted.exact)
    for part in wanted.contains:
        if part.value not in got:
            return Problem(part.span, f"text that contains {part.value}")
    for pattern, span in wanted.matches:
        if pattern.search(got) is None:
            return Problem(span, f"text that matches {pattern.pattern}")
    return None


def words_problem(wanted: Words, got: Sequence[str]) -> Problem | None:
    """Give the first thing about a list of words that does not hold, or None."""
    if wanted.exact is not None and [text.value for text in wanted.exact] != list(got):
        return Problem(_first_difference(wanted.exact, got) or wanted.span, said(wanted.exact))
    for run in wanted.contains:
        if not _has_run(run, got):
            return Problem(run[0].span, f"among the words: {said(run)}")
    line = shlex.join(got)
    for pattern, span in wanted.matches:
        if pattern.search(line) is None:
            return Problem(span, f"words that match {pattern.pattern}")
    return None


def said(texts: Sequence[Text]) -> str:
    """Give words as one shell line."""
    return shlex.join(text.value for text in texts) or "no word"


def _first_difference(wanted: Sequence[Text], got: Sequence[str]) -> Span | None:
    for place, text in enumerate(wanted):
        if place >= len(got) or text.value != got[place]:
            return text.span
    return None


def _has_run(run: Sequence[Text], got: Sequence[str]) -> bool:
    wanted = [text.value for text in run]
    return any(list(got[at : at + len(wanted)]) == wanted for at in range(len(got) - len(wanted) + 1))
