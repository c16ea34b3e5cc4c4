"""What docs/testing-specs.md shows is what npac does."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from npac.api import Options, check
from npac.cli.test import command
from npac.diagnostics.diagnostic import Severity
from npac.spectest import expect, parse
from tests.docs.pages import REPOSITORY, blocks

PAGE = REPOSITORY / "docs" / "testing-specs.md"
FILES = [block for block in blocks("yaml", "tested") if block.page == PAGE]
OUTPUTS = [block for block in blocks("text", "tested") if block.page == PAGE]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for block in FILES:
        (tmp_path / block.words[2]).write_text(block.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_has_examples() -> None:
    assert len(FILES) == 3 and len(OUTPUTS) == 2


def test_the_spec_checks_without_a_warning(folder: Path) -> None:
    checked = check("refine.yaml", Options(use_project=False))
    warned = [item for item in checked.findings if item.severity >= Severity.WARNING]
    assert [f"{item.code.id} {item.message}" for item in warned] == []


@pytest.mark.parametrize("block", OUTPUTS, ids=str)
def test_the_output_is_real(folder: Path, block: object) -> None:
    (name,) = block.words[2:]  # type: ignore[attr-defined]
    done = CliRunner().invoke(command, [f"{name}.test.yaml"])
    assert done.output == block.text  # type: ignore[attr-defined]
    assert done.exit_code == (1 if "FAIL" in done.output else 0)


def test_the_page_names_every_key() -> None:
    text = PAGE.read_text(encoding="utf-8")
    keys = {*parse.TOP_KEYS, *parse.CASE_KEYS, *expect.KEYS, *expect.STEP_KEYS, *expect.WAVE_KEYS}
    keys |= {*expect.GATE_KEYS, "contains", "matches", "schema", "kind"} - {"codes"}
    spans = [span for line in text.splitlines() for span in line.split("`")[1::2]]
    missing = [key for key in sorted(keys) if not any(key in span for span in spans)]
    assert missing == []


def test_the_examples_are_valid_by_the_schema() -> None:
    import json

    import jsonschema

    schema = json.loads((REPOSITORY / "schemas" / "npac.test.schema.json").read_text(encoding="utf-8"))
    for block in FILES:
        if block.words[2].endswith(parse.ENDING):
            jsonschema.Draft202012Validator(schema).validate(yaml.safe_load(block.text))
