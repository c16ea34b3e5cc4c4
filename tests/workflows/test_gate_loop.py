"""The gate loop: its threshold decides how often it goes round, and a killed driver loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npac import api
from tests.workflows.conftest import WORKFLOWS, Runner

BODY = ("collect-grasps", "train-classifier", "evaluate-classifier")
REPOSITORY = WORKFLOWS.parent


def journal_after(iterations: int) -> list[str]:
    """Give the journal of a run that went round so often, each step once."""
    rounds = [f"{state} {number}" for number in range(1, iterations + 1) for state in BODY]
    return ["sample-held-out 0", *rounds]


@pytest.mark.parametrize(
    ("threshold", "iterations", "end"),
    [("0.7", 1, "publish-model"), ("0.85", 2, "publish-model"), ("0.999", 3, "report-shortfall")],
)
def test_the_threshold_decides_the_number_of_iterations(
    runner: Runner, threshold: str, iterations: int, end: str
) -> None:
    done = runner.run("testing/gate-loop.yaml", {"min_accuracy": threshold, "max_iterations": "3"})
    assert done.result.state == "succeeded", done.result
    assert (done.folder / "journal.txt").read_text().splitlines() == journal_after(iterations)
    assert done.states()[-1] == end

    reached = [done.read(f"{number}/decision.json")["accuracy"] for number in range(1, iterations + 1)]
    promoted = [accuracy >= float(threshold) for accuracy in reached]
    assert promoted == [False] * (iterations - 1) + [end == "publish-model"]
    words = ["promote_checkpoint" if each else "loop_back" for each in promoted]
    assert done.decisions("refine") == words
    assert done.decisions("route") == words[-1:]


def test_the_model_of_the_last_iteration_is_published(runner: Runner) -> None:
    done = runner.run("testing/gate-loop.yaml", {"min_accuracy": "0.85"})
    assert done.read("published-model.json") == done.read("2/model.json")
    assert done.read("2/model.json") != done.read("1/model.json")
    assert done.read("2/model.json")["trained_on"] == 200


class Killed:
    """A run whose driver was killed in the middle, by ``kill -9``."""

    def __init__(self, folder: Path, lines: int) -> None:
        self.artifacts = folder / "artifacts"
        self.journal = self.artifacts / "killed" / "journal.txt"
        self.environment = {**os.environ, "NPAC_HOME": str(folder / "home"), "PYTHONPATH": str(REPOSITORY)}
        command = [
            "run",
            str(WORKFLOWS / "testing/gate-loop.yaml"),
            "--run-id",
            "killed",
            "--poll-seconds",
            "0.1",
        ]
        command += ["--var", f"artifacts={self.artifacts}"]
        driver = subprocess.Popen(
            self._line(*command),
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        end = time.monotonic() + 60
        while len(self.lines()) < lines:
            assert driver.poll() is None, f"the run was over too early: {driver.communicate()[1]}"
            assert time.monotonic() < end, "the run made no progress in a minute"
            time.sleep(0.01)
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
        assert driver.returncode == -signal.SIGKILL

    def _line(self, *words: str) -> list[str]:
        return [sys.executable, "-c", "from npac.cli.main import entry; entry()", *words]

    def lines(self) -> list[str]:
        return self.journal.read_text().splitlines() if self.journal.exists() else []

    def npac(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._line(*words), env=self.environment, capture_output=True, text=True, timeout=120, check=False
        )


@pytest.mark.parametrize("lines", [2, 5, 7])
def test_a_killed_driver_loses_nothing_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    run = Killed(tmp_path, lines)
    monkeypatch.setenv("NPAC_HOME", run.environment["NPAC_HOME"])
    before = api.status("killed")
    finished = {node for node, wave in before.waves.items() if wave.state == "succeeded"}
    assert not before.ended
    assert finished, "nothing had finished when the driver was killed"

    resumed = run.npac("resume", "killed", "--poll-seconds", "0.1")
    assert resumed.returncode == 0, resumed.stderr
    assert "killed: succeeded" in resumed.stdout

    # Every step stands in the journal once: no finished wave ran again, and none that was under way.
    assert run.lines() == journal_after(4)
    after = api.status("killed")
    assert after.state == "succeeded"
    assert finished < set(after.waves)
    assert all(len(wave.attempts) == 1 for wave in after.waves.values())
    assert len(after.fences) == 2, "two drivers have had the run"
    assert [each.decision for each in after.decisions.values()].count("promote_checkpoint") == 2
