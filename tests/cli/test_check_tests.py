"""Tests of specs stand beside them, and a shell's `*.yaml` names both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.command import invoke
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]


def test_a_test_is_not_taken_for_a_spec(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    test = home / "spec.test.yaml"
    test.write_text("cases: []\n")
    done = invoke(capsys, "check", spec, test)
    assert done.code == 0 and "1 file" not in done.err
    assert f"{test} is a test of a spec: npac test runs it" in done.err
    write(home, "  first: {next: nowhere}\n", "bad.yaml")
    assert invoke(capsys, "check", home / "bad.yaml", test).code == 1
