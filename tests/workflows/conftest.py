"""Runs of the example specs on the embedded engine, each test with its own state folder and artifacts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from npac import api
from npac.runtime.options import RunOptions, RunResult
from npac.runtime.view import RunView

WORKFLOWS = Path(__file__).resolve().parents[2] / "workflows"


@dataclass(frozen=True)
class Finished:
    """A run that has ended, and where its artifacts are."""

    result: RunResult
    folder: Path
    view: RunView

    def read(self, name: str) -> Any:
        """Give one JSON artifact."""
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def decisions(self, gate: str) -> list[str]:
        """Give what one gate has decided, in the order in which it was read."""
        found = [
            each
            for each in self.view.decisions.values()
            if each.node.partition("@")[0].partition("[")[0] == gate
        ]
        return [each.decision for each in sorted(found, key=lambda each: each.at)]

    def states(self) -> list[str]:
        """Give the states that ran, in the order of their waves; members of a group together."""
        waves = sorted(self.view.waves.values(), key=lambda wave: wave.number)
        return [state for wave in waves for state in wave.states]


class Runner:
    """Runs specs with their artifacts below ``artifacts``."""

    def __init__(self, artifacts: Path) -> None:
        self.artifacts = artifacts

    def run(self, spec: str, values: Mapping[str, str] | None = None, *, run_id: str = "run-1") -> Finished:
        """Run a spec below ``workflows/`` to its end."""
        options = api.Options(vars={"artifacts": str(self.artifacts), **(values or {})})
        result = api.run(WORKFLOWS / spec, options, run_id=run_id, run_options=RunOptions(poll_seconds=0.1))
        return Finished(result, self.artifacts / run_id, api.status(run_id))


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Give a runner whose ledgers, jobs and artifacts are all in a temporary folder."""
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    return Runner(tmp_path / "artifacts")
