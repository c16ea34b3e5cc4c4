"""What was compiled is run as it was compiled: overrides that would change nothing are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.command import invoke
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]


@pytest.mark.parametrize("override", [("--var", "x=1"), ("--set", "x=1"), ("--config", "over.yaml")])
def test_overrides_of_a_build_or_a_raw_file_are_refused(
    home: Path, capsys: pytest.CaptureFixture[str], override: tuple[str, str]
) -> None:
    (home / "over.yaml").write_text("x: 1\n")
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    assert invoke(capsys, "compile", spec, "-o", home / "build").code == 0
    (home / "raw.yaml").write_text("name: x\nrun: 'true'\n")
    for target, said in (("build", "is a build"), ("raw.yaml", "is raw SkyPilot YAML")):
        done = invoke(capsys, "run", home / target, "--run-id", "r", *override)
        assert done.code == 2 and said in done.err and "--var, --set and --config" in done.err
    assert not (home / "home" / "runs" / "r").exists()


@pytest.mark.parametrize("name", ["graph.mmd", "program.json"])
def test_a_changed_build_is_not_compared(home: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    assert invoke(capsys, "compile", spec, "-o", home / "build").code == 0
    assert invoke(capsys, "diff", home / "build", spec).code == 0
    with open(home / "build" / name, "a") as file:
        file.write(" ")
    done = invoke(capsys, "diff", home / "build", spec)
    assert done.code == 2 and f"{name} was changed" in done.err
