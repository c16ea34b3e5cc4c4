"""Start-up stays short: what ``npac check`` imports, as a list that only grows on purpose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.command import ROOT
from tests.api.specs import BROKEN, GOOD, PLAIN, WARNED

HEAVY = {
    "pydantic", "pydantic_core", "jinja2", "jsonschema", "networkx", "rfc8785", "boto3", "botocore", "sky",
    "kubernetes", "rich", "lark", "asyncio", "http", "email", "ssl", "socket", "sqlite3", "subprocess",
    "hashlib", "logging", "unittest", "dataclasses", "multiprocessing", "concurrent", "xml", "tomllib",
    "pathlib", "shutil", "tempfile", "difflib", "textwrap",
}  # fmt: skip
"""What a check of a sound spec has no need of; some of these cost as much as all the rest."""

OWN = {
    "npac.backends", "npac.build", "npac.engines", "npac.ledger", "npac.launch", "npac.runtime",
    "npac.report", "npac.lower", "npac.running",
}  # fmt: skip
"""Parts of npac that checking does not touch."""

_CODE = """
import json, sys
from npac.cli.main import entry
try:
    entry(sys.argv[1:])
except SystemExit as end:
    code = end.code
print("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def modules(*argv: str, cwd: Path) -> tuple[int, set[str]]:
    """Run npac without the site's own start-up files; give its exit code and the modules it holds."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(ROOT), *_packages()])}
    done = subprocess.run(
        [sys.executable, "-S", "-c", _CODE, *argv],
        cwd=cwd,
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    code, names = json.loads(done.stdout.splitlines()[-1])
    return code, set(names)


def _packages() -> list[str]:
    return [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]


def among(names: set[str], packages: set[str]) -> set[str]:
    return {name for name in names if name in packages or any(name.startswith(f"{p}.") for p in packages)}


@pytest.mark.parametrize("text", [PLAIN, GOOD, WARNED], ids=["plain", "good", "warned"])
def test_checking_a_sound_spec_imports_nothing_heavy(text: str, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(text, encoding="utf-8")
    code, names = modules("check", "spec.yaml", cwd=tmp_path)
    assert code in (0, None)
    assert among(names, HEAVY) == set()
    assert among(names, OWN) == set()


def test_checking_a_broken_spec_imports_no_third_party_but_click_and_yaml(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(BROKEN, encoding="utf-8")
    code, names = modules("check", "spec.yaml", cwd=tmp_path)
    assert code == 1
    heavy = {"pydantic", "jinja2", "jsonschema", "networkx", "boto3", "kubernetes", "sky", "rich", "asyncio"}
    assert among(names, heavy) == set()
    assert among(names, OWN) == set()


def test_help_imports_no_command(tmp_path: Path) -> None:
    code, names = modules("--help", cwd=tmp_path)
    assert code in (0, None)
    commands = {name for name in names if name.startswith("npac.cli.")}
    assert commands == {"npac.cli.main", "npac.cli.commands", "npac.cli.given", "npac.cli.streams"}
    # click itself wraps its help with these two
    wrapping = {"shutil", "textwrap"}
    assert among(names, (HEAVY - wrapping) | {"yaml", "npac.api", "npac.catalog"}) == set()


def test_planning_imports_no_backend(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(GOOD, encoding="utf-8")
    code, names = modules("plan", "spec.yaml", "--assume-decision", "default", cwd=tmp_path)
    assert code in (0, None)
    assert (
        among(names, {"pydantic", "jinja2", "jsonschema", "boto3", "kubernetes", "sky", "asyncio"}) == set()
    )
    assert among(names, {"npac.backends", "npac.engines", "npac.ledger", "npac.launch"}) == set()


def test_checking_files_without_options_reads_no_command_line_by_click(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(PLAIN, encoding="utf-8")
    code, names = modules("check", "spec.yaml", cwd=tmp_path)
    assert code in (0, None)
    assert "click" not in names
    assert "yaml" in names
