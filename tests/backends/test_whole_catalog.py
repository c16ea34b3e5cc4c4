"""Every tool of the shipped catalog, rendered: one spec that uses them all, in all kinds of setup."""

from __future__ import annotations

import json
import shlex
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from npac.api import Options, compile
from npac.backends.skypilot.documents import LaunchValues, link_documents, unlinked
from npac.backends.skypilot.emit import to_yaml
from npac.catalog import load_catalog
from npac.catalog.model import Catalog
from npac.ir.linking import LinkRecord, link_program
from npac.ir.program import Program
from npac.syntax.templates import parse_template
from tests.backends.shell import demand_clean
from tests.ir.programs import BAKED_IMAGE, SOURCE_SHA

KINDS: dict[str, dict[str, str]] = {
    "source": {},
    "overlay": {"source_overlay": "true"},
    "baked": {"require_baked_npa": "true", "source_sha": SOURCE_SHA},
}
VALUE = 'it\'s "$(date)" `id` \\ 5 %'
"""A value that any careless quoting would break; it stands in every config key that is free text."""


@lru_cache(maxsize=1)
def _catalog() -> Catalog:
    return load_catalog([])


def _tokens(catalog: Catalog) -> list[str]:
    words = [word for tool in catalog.tools.values() for word in tool.argv]
    tokens = [token for word in words for token in parse_template(word).tokens]
    assert {token.scope for token in tokens} <= {"config", "run"}
    return sorted({token.path for token in tokens if token.scope == "config"})


@lru_cache(maxsize=len(KINDS))
def _program(kind: str) -> Program:
    catalog = _catalog()
    config = dict.fromkeys(_tokens(catalog), VALUE) | {"bucket": "b", "prefix": "p/{{run.id}}"}
    # The name of a secret, not its value.
    config |= {key: "name" for key in config if key.endswith("_secret")}
    states: dict[str, Any] = {}
    names = sorted(catalog.tools)
    for name, follow in zip(names, [*names[1:], "end"], strict=True):
        states[name] = {"toolRef": name, "resources": "p", "next": follow}
    states["end"] = {"terminal": True}
    profile: dict[str, Any] = {"cloud": "kubernetes", "cpus": 2}
    if kind == "baked":
        profile["image"] = BAKED_IMAGE
    spec = {
        "apiVersion": "npa.workflow/v0.0.1",
        "kind": "Workflow",
        "metadata": {"name": "whole-catalog"},
        "config": {**config, **KINDS[kind]},
        "resources": {"p": profile},
        "initial": names[0],
        "states": states,
    }
    options = Options(use_project=False)
    return compile("whole.yaml", options, data=json.dumps(spec).encode()).program


@lru_cache(maxsize=len(KINDS))
def _tasks(kind: str) -> tuple[dict[str, Any], ...]:
    program = _program(kind)
    link = LinkRecord("run-1", source_uri="s3://src/npa", endpoint_url="https://storage.example")
    link_program(program, link)
    found: list[dict[str, Any]] = []
    for wave in program.waves():
        documents = link_documents(unlinked(program, wave, 0), link, LaunchValues(1, 1, "l", wave.number))
        assert to_yaml(documents)
        found += documents
    return tuple(found)


@pytest.mark.parametrize("kind", KINDS)
def test_every_tool_is_rendered(kind: str) -> None:
    assert [task["envs"]["NPA_WORKFLOW_STATE"] for task in _tasks(kind)] == sorted(_catalog().tools)
    for task in _tasks(kind):
        assert task["run"] and task["setup"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_script_is_clean_for_bash_and_shellcheck(kind: str, tmp_path: Path) -> None:
    assert demand_clean((task[key] for task in _tasks(kind) for key in ("setup", "run")), tmp_path) > 100


def test_every_command_arrives_word_for_word() -> None:
    """The last line of each run script, read by bash, is the command of the program."""
    program = link_program(_program("source"), LinkRecord("run-1"))
    commands = {step.state: list(step.argv) for step in program.steps}
    script = []
    for task in _tasks("source"):
        line = task["run"].rstrip("\n").splitlines()[-1]
        assert line.startswith("exec -- ")
        script.append(f"printf '%s\\0' {line.removeprefix('exec -- ')}; printf '\\1'")
    done = subprocess.run(["bash"], input="\n".join(script).encode(), capture_output=True, check=True)
    said = done.stdout.decode().split("\1")[:-1]
    assert len(said) == len(commands)
    for task, words in zip(_tasks("source"), said, strict=True):
        state = task["envs"]["NPA_WORKFLOW_STATE"]
        assert words.split("\0")[:-1] == commands[state], state
        assert any(VALUE in word for word in map(str, commands[state])) or VALUE not in shlex.join(
            _catalog().tools[state].argv
        )


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_catalog_entry_gives_is_in_the_task(kind: str) -> None:
    for task in _tasks(kind):
        tool = _catalog().tools[task["envs"]["NPA_WORKFLOW_STATE"]]
        for name, value in tool.env.items():
            assert task["envs"][name] == value
        image = BAKED_IMAGE if kind == "baked" else tool.image
        assert task["envs"].get("NPA_TASK_IMAGE", "") == image
        assert task["resources"].get("image_id", "") == (f"docker:{image}" if image else "")
        if kind == "baked":
            assert "npac_install" not in task["setup"] and "NPA_SRC_S3_URI" not in task["envs"]
            assert task["envs"]["NPA_SIM2REAL_SOURCE_SHA"] == SOURCE_SHA
            continue
        for interpreter in tool.interpreters:
            assert shlex.quote(interpreter) in task["setup"]
        for _, requirement in tool.pip_requirements:
            assert f"npac_install {shlex.quote(requirement)}" in task["setup"]
        if tool.pip_extra:
            assert f"npac_extra={shlex.quote(tool.pip_extra)}" in task["setup"]
        assert ("npac_overlay=" in task["setup"]) == (kind == "overlay")
