"""The catalog that ships: what it says, that it is up to date, and what loading it costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from npac.catalog import load_catalog, precompile
from npac.catalog.loader import DATA
from npac.resources import schema_text

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(Path(DATA).glob("*.yaml"))


def _facts() -> dict[str, Any]:
    """Interface facts of the tools, kept beside the checkout."""
    path = Path(os.environ.get("NPAC_TOOL_FACTS", ROOT.parent / "shared" / "catalog" / "tool-facts.json"))
    if not path.is_file():
        pytest.skip(f"the tool facts are not at {path}; set NPAC_TOOL_FACTS to their path")
    facts: dict[str, Any] = json.loads(path.read_text())["tools"]
    return facts


def test_every_tool_says_exactly_what_its_facts_say() -> None:
    facts = _facts()
    catalog = load_catalog()
    assert set(catalog.tools) == set(facts)
    assert len(facts) == 99
    told = {}
    for name, tool in catalog.tools.items():
        fact = {
            "argv": list(tool.argv),
            "image": tool.image,
            "image_key": tool.image_key,
            "secrets": list(tool.secrets),
            "eula": tool.eula,
            "interpreters": list(tool.interpreters),
            "pip_extra": tool.pip_extra,
            "pip_requirements": [list(pair) for pair in tool.pip_requirements],
            "drop_when_empty": sorted(tool.drop_when_empty),
            "config_defaults": tool.config_defaults,
            "contract": tool.contract,
            "multi_node_mode": tool.multi_node_mode,
            "shard_activation": tool.shard_activation,
            "shard_output": tool.shard_output,
            "variant_count": tool.variant_count,
        }
        told[name] = {key: value for key, value in fact.items() if value}
    assert told == facts


def test_an_image_key_is_one_image() -> None:
    facts = _facts()
    images = {fact["image_key"]: fact["image"] for fact in facts.values() if "image_key" in fact}
    assert load_catalog().images == images


def test_licence_terms_come_with_the_tool() -> None:
    tools = load_catalog().tools
    assert tools["workbench.rl.publish_policy"].env == {"ACCEPT_EULA": "Y"}
    assert tools["workbench.token_factory.caption"].env == {}
    for tool in tools.values():
        assert ("ACCEPT_EULA" in tool.env) == (tool.eula == "isaac"), tool.name


def test_a_tool_names_its_file() -> None:
    tools = load_catalog().tools
    assert tools["workbench.cosmos.check"].source == "cosmos.yaml"
    assert {tool.source for tool in tools.values()} == {path.name for path in FILES}


def test_the_precompiled_file_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert precompile.main(["--check"]) == 0, "run `make catalog`"
    assert "up to date" in capsys.readouterr().out


def test_drift_is_found_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.yaml").write_text("catalog: npac.catalog/v1\ntools: {a: {command: [echo, hi]}}\n")
    target = tmp_path / "shipped.json"
    monkeypatch.setattr(precompile, "DATA", str(tmp_path))
    monkeypatch.setattr(precompile, "SHIPPED", str(target))
    assert precompile.main(["--check"]) == 1
    assert "make catalog" in capsys.readouterr().err
    assert precompile.main([]) == 0
    assert json.loads(target.read_text())["tools"] == {"one.yaml": {"a": {"command": ["echo", "hi"]}}}
    assert precompile.main(["--check"]) == 0
    (tmp_path / "one.yaml").write_text("catalog: npac.catalog/v1\ntools: {a: {command: [echo, ho]}}\n")
    assert precompile.main(["--check"]) == 1


def test_a_name_is_defined_once_among_the_shipped_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text("catalog: npac.catalog/v1\ntools: {a: {command: [echo]}}\n")
    monkeypatch.setattr(precompile, "DATA", str(tmp_path))
    assert precompile.main(["--check"]) == 1
    error = capsys.readouterr().err
    assert "two.yaml" in error and "`a` is defined in another file already" in error


def test_precompile_refuses_other_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert precompile.main(["--chek"]) == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_files_keep_the_schema(path: Path) -> None:
    schema = json.loads(schema_text("npac.catalog.schema.json"))
    validator = jsonschema.Draft202012Validator(schema)
    assert [error.message for error in validator.iter_errors(yaml.safe_load(path.read_text()))] == []


def test_the_schema_is_one_and_describes_every_key() -> None:
    schema = json.loads(schema_text("npac.catalog.schema.json"))
    jsonschema.Draft202012Validator.check_schema(schema)
    silent = []

    def visit(node: Any, path: str) -> None:
        if isinstance(node, dict):
            for section in ("properties", "patternProperties", "$defs"):
                for key, value in node.get(section, {}).items():
                    if "description" not in value:
                        silent.append(f"{path}/{section}/{key}")
            for key, value in node.items():
                visit(value, f"{path}/{key}")

    visit(schema, "")
    assert silent == []


def test_loading_the_shipped_catalog_parses_no_yaml() -> None:
    code = (
        "import sys; from npac.catalog import load_catalog; load_catalog();"
        "print(sorted({'yaml', 'lark', 'pydantic', 'jsonschema', 'jinja2', 'difflib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == "[]"
