"""``npac.api`` as a whole: its names, what importing it costs, and that the command line has no other way."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import npac
from npac import api
from tests.api.command import ROOT
from tests.api.specs import GOOD
from tests.api.test_imports import among, modules

SHOWING = {"api", "cli", "diagnostics", "errors", "_version"}
"""What the command line may import: the API, itself, and what is needed to show findings and errors."""


def test_every_name_is_there_once_and_no_other() -> None:
    assert len(api.__all__) == len(set(api.__all__))
    for name in api.__all__:
        assert getattr(api, name) is getattr(api, name)
    assert set(api.__all__) <= set(dir(api))
    with pytest.raises(AttributeError, match="'chekc'"):
        getattr(api, "chekc")  # noqa: B009  # a type checker refuses the plain form


def test_importing_it_imports_nothing_else() -> None:
    code = "import json, sys, npac.api; print(json.dumps([n for n in sys.modules if n.startswith('npac')]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert set(json.loads(done.stdout)) == {"npac", "npac.api"}


def test_a_name_imports_its_own_module_only() -> None:
    code = (
        "import json, sys; from npac.api import explain, schema;"
        "print(json.dumps([n for n in sys.modules if n.startswith('npac')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert set(json.loads(done.stdout)) == {"npac", "npac.api", "npac.api.pages", "npac.errors"}


def test_a_check_takes_one_module_of_it(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(GOOD, encoding="utf-8")
    code, names = modules("check", "spec.yaml", cwd=tmp_path)
    assert code in (0, None)
    assert among(names, {"npac.api", "npac.operations", "npac.discovery"}) == {
        "npac.api",
        "npac.api.checking",
    }


def test_the_contract_of_the_command_line_names_every_part_below_the_api() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [
        each
        for each in settings["tool"]["importlinter"]["contracts"]
        if each["type"] == "forbidden" and each["source_modules"] == ["npac.cli"]
    ]
    folder = Path(npac.__path__[0])
    parts = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/*.py")}
    below = {f"npac.{part}" for part in parts - SHOWING - {"__init__"}}
    assert set(contract["forbidden_modules"]) == below
