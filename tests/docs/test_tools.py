"""``npac tools`` lists and shows what the catalog page says that it does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from npac import api
from npac.catalog import load_catalog
from npac.cli.tools import command
from npac.errors import NpacError
from tests.docs.pages import blocks

TOOL = "robots.arm.calibrate"


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The catalog of the page, with nothing else configured."""
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("yaml", "catalog", "robots.yaml")
    Path("robots.yaml").write_text(block.text, encoding="utf-8")
    return "robots.yaml"


def tools(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_every_tool_is_listed(catalog: str) -> None:
    result = tools()
    assert result.exit_code == 0
    names = [line for line in result.output.splitlines() if line and not line.startswith(" ")]
    assert names == sorted(load_catalog().tools)


def test_a_pattern_lists_those_whose_names_hold_it(catalog: str) -> None:
    listed = tools("ARM.C*e", "--catalog", catalog).output
    assert listed == (
        f"{TOOL}\n  image    registry.example.com/robots/arm:2.1\n"
        "  config   recordings_uri, calibration_uri\n  secrets  ROBOT_API_KEY\n"
    )


def test_a_name_shows_the_command_and_every_config_key(catalog: str) -> None:
    lines = tools(TOOL, "--catalog", catalog).output.splitlines()
    assert lines[:4] == [TOOL, "", "command", "  python3"]
    assert "  {{config.recordings_uri}}" in lines
    assert [line.split(maxsplit=1) for line in lines[lines.index("config keys") + 1 :][:4]] == [
        ["recordings_uri", "needed"],
        ["calibration_uri", "needed"],
        ["iterations", "default '50'"],
        ["notes", "default ''"],
    ]
    assert "env: ROBOT_MODE=offline" in lines and "flags left out when empty: --notes" in lines


def test_the_projects_own_catalogs_count(catalog: str) -> None:
    Path("npac.toml").write_text('catalogs = ["robots.yaml"]\n', encoding="utf-8")
    (found,) = json.loads(tools(TOOL, "--format", "json").output)
    assert found["name"] == TOOL and found["secrets"] == ["ROBOT_API_KEY"]
    assert found["config"]["iterations"] == "50" and found["config"]["recordings_uri"] is None


def test_what_names_no_tool_gets_the_nearest(catalog: str) -> None:
    result = tools("robots.arm.calibrat3", "--catalog", catalog)
    assert isinstance(result.exception, NpacError)
    assert TOOL in result.exception.remedy


def test_the_keys_are_those_of_the_command_and_of_its_nodes() -> None:
    for entry in api.tools():
        tool = entry.tool
        assert all(
            f"config.{key}" in " ".join(tool.argv)
            for key in set(entry.config)
            - set(tool.config_defaults)
            - {tool.shard_activation, tool.shard_output, tool.variant_count}
        )
