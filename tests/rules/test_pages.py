"""The rule pages say what is so: their examples raise what they should, and no code lacks a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from npac.cli.explain import command
from npac.diagnostics.codes import BY_NAME, CODES
from npac.diagnostics.diagnostic import Severity
from npac.diagnostics.fixes import apply_fixes
from npac.errors import NpacError
from npac.text.source import decode
from tests.rules.pages import SECTIONS, Page, all_pages, findings

PAGES = all_pages()

each_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert sorted(PAGES) == sorted(CODES)


@each_page
def test_a_page_has_its_title_its_severity_and_its_sections(page: Page) -> None:
    code = CODES[page.code]
    lines = page.text.split("\n")
    assert lines[0] == f"# {code.id}: {code.name}"
    assert lines[2] == f"Severity: {code.severity.word}"
    assert tuple(line[3:] for line in lines if line.startswith("## ")) == SECTIONS
    assert page.section("Since") == "0.1.0"
    assert page.section("What it does") and page.section("Why it is bad") and page.section("Fix safety")
    assert page.text.isascii() and page.text.endswith("0.1.0\n")
    assert page.section("Example").startswith("```") and page.section("Use instead").startswith("```")


@each_page
def test_the_bad_example_raises_exactly_its_code(page: Page, tmp_path: Path) -> None:
    bad = page.example("bad")
    found = findings(page, bad, tmp_path)
    assert {item.code.id for item in found} == {page.code, *bad.options("also")}
    assert page.code not in bad.options("also")


@each_page
def test_the_good_example_is_clean(page: Page, tmp_path: Path) -> None:
    good = page.example("good")
    found = findings(page, good, tmp_path)
    assert {item.code.id for item in found} == set(good.options("also"))
    assert page.code not in good.options("also")
    assert all(item.severity < Severity.ERROR for item in found)


@each_page
def test_the_fix_is_what_the_page_says_and_mends_the_example(page: Page, tmp_path: Path) -> None:
    bad = page.example("bad")
    own = [item for item in findings(page, bad, tmp_path) if item.code.id == page.code]
    assert {("safe" if item.fix.safe else "unsafe") if item.fix else "" for item in own} == {page.fix}
    if page.fix:
        source, _ = decode("spec.yaml", bad.data)
        assert page.fix == "safe" or not apply_fixes(source, own).applied
        fixed = apply_fixes(source, own, unsafe=True)
        assert len(fixed.applied) == len(own)
        after = {item.code.id for item in findings(page, bad, tmp_path, fixed.data)}
        assert after == set(bad.options("also"))


@pytest.mark.parametrize("asked", ["NPA302", "npa302", "member-as-target", " Member-As-Target "])
def test_explain_prints_the_page_by_code_or_name(asked: str) -> None:
    result = CliRunner().invoke(command, [asked])
    assert result.exit_code == 0
    assert result.output == PAGES["NPA302"].text


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        ("member-as-tagret", "member-as-target"),
        ("NPA3020", "NPA302"),
        ("NPA999", "Codes that begin with NPA9: NPA901 to NPA903."),
        ("npa014", "Did you mean NPA012?"),
        ("NPA850", "Codes that begin with NPA8: NPA801"),
        ("zzz", "in brackets"),
    ],
)
def test_explain_suggests_what_may_be_meant(asked: str, remedy: str) -> None:
    result = CliRunner().invoke(command, [asked])
    assert isinstance(result.exception, NpacError)
    assert remedy in result.exception.remedy


def test_names_are_unique_and_read_as_words() -> None:
    assert len(BY_NAME) == len(CODES)
    assert all(name.replace("-", "").islower() for name in BY_NAME)
