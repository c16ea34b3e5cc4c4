from __future__ import annotations

from pathlib import Path

from tests.workflows.conftest import WORKFLOWS, Runner

FOLDER = WORKFLOWS / "testing" / "own-scripts"
SPEC = "testing/own-scripts/own-scripts.yaml"


def test_scripts_beside_the_spec_run_through_an_absolute_path(runner: Runner) -> None:
    done = runner.run(SPEC, {"code": str(FOLDER), "samples": "40"})
    assert done.result.state == "succeeded", done.result
    assert done.states() == ["sample", "average"]
    samples = done.read("samples.json")
    assert len(samples) == 40
    mean = done.read("mean.json")
    assert mean["samples"] == 40
    assert abs(mean["mean"] - sum(samples) / 40) < 1e-12


def test_a_folder_without_the_scripts_fails_the_run(runner: Runner, tmp_path: Path) -> None:
    done = runner.run(SPEC, {"code": str(tmp_path)})
    assert done.result.state == "failed"
    assert "sample" in done.result.reason
    assert not (done.folder / "mean.json").exists()
