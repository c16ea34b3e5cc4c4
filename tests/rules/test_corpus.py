"""Real specs check without an error, and every warning and note about them is accounted for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from npac.api import Options, check
from npac.diagnostics.diagnostic import Severity
from tests.corpus.place import each_spec, names, needs_corpus, spec_path

TABLE = Path(__file__).resolve().parents[2] / "docs" / "corpus-findings.md"
_ROW = re.compile(r"\| (\S+) \| (NPA\d{3}) \| (\d+:\d+) \| (.+) \| (.+) \|\Z")


class Row(NamedTuple):
    """One line of the table."""

    spec: str
    code: str
    place: str
    message: str


def _table() -> list[tuple[Row, str]]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    body = lines[lines.index("| --- | --- | --- | --- | --- |") + 1 :]
    matches = [_ROW.match(line) for line in body]
    assert all(matches), "a row of docs/corpus-findings.md cannot be read"
    return [(Row(*match.groups()[:4]), match[5]) for match in matches if match is not None]


def _found(name: str) -> list[Row]:
    rows = []
    for item in check(spec_path(name), Options(use_project=False)).findings:
        line, column = item.span.source.position(item.span.start)
        rows.append(Row(name, item.code.id, f"{line}:{column}", item.message))
    return rows


@needs_corpus
def test_there_are_38_specs() -> None:
    assert len(names()) == 38


@each_spec
def test_no_spec_has_an_error_or_a_warning(name: str) -> None:
    found = check(spec_path(name), Options(use_project=False)).findings
    assert [item.message for item in found if item.severity > Severity.NOTE] == []


@needs_corpus
def test_the_table_lists_every_finding_in_order() -> None:
    assert [row for row, _ in _table()] == [row for name in names() for row in _found(name)]


def test_every_finding_of_the_table_is_accounted_for() -> None:
    assert all(len(why) > 20 and why.endswith(".") for _, why in _table())
