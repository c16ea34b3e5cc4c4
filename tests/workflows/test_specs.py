"""What holds for every example spec."""

from __future__ import annotations

import re

import pytest

from npac import api
from tests.golden.cases import WORKFLOWS, specs_below

SPECS = specs_below(WORKFLOWS)
OPERATOR_INPUTS = {"partners/example/baked-kubernetes.yaml"}


def test_all_kinds_of_examples_are_there() -> None:
    folders = {spec.rpartition("/")[0] for spec in SPECS}
    assert folders == {"", "testing", "testing/own-scripts", "main", "partners/example"}
    assert "quickstart.yaml" in SPECS


@pytest.mark.parametrize("spec", SPECS)
def test_checks_without_an_error_or_a_warning(spec: str) -> None:
    findings = api.check(WORKFLOWS / spec).findings
    loud = [item for item in findings if item.severity > api.Severity.NOTE]
    assert loud == []
    names = {item.code.name for item in findings}
    assert names == ({"operator-input-empty"} if spec in OPERATOR_INPUTS else set())


@pytest.mark.parametrize("spec", SPECS)
def test_says_in_its_head_what_it_does_and_how_to_run_it(spec: str) -> None:
    text = (WORKFLOWS / spec).read_text(encoding="utf-8")
    head = text.partition("apiVersion:")[0]
    assert head.startswith("# ")
    assert re.search(rf"^#     npac (run|compile) workflows/{re.escape(spec)}", head, re.MULTILINE)


@pytest.mark.parametrize("spec", SPECS)
def test_stands_in_the_catalog_page(spec: str) -> None:
    page = (WORKFLOWS / "README.md").read_text(encoding="utf-8")
    assert f"]({spec})" in page, f"workflows/README.md has no entry for {spec}"


def test_the_catalog_page_names_no_file_that_is_not_there() -> None:
    page = (WORKFLOWS / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", page):
        assert (WORKFLOWS / target).resolve().exists(), f"workflows/README.md links to {target}"
    for named in re.findall(r"`(tests/[^`:]+\.py)", page):
        assert (WORKFLOWS.parent / named).exists(), f"workflows/README.md names {named}"
