from __future__ import annotations

import pytest

from tests.workflows.conftest import Runner

MEMBERS = ["try-k-1", "try-k-5", "try-k-15", "try-k-75"]


def test_the_best_of_the_sweep_is_picked_and_tested(runner: Runner) -> None:
    done = runner.run("testing/parallel-sweep.yaml", {"samples": "200"})
    assert done.result.state == "succeeded", done.result
    assert done.states() == ["record-terrain", *MEMBERS, "select-best", "test-best"]

    measured = {k: done.read(f"sweep/k-{k}.json")["accuracy"] for k in (1, 5, 15, 75)}
    assert len(set(measured.values())) > 1, "the members' metrics do not differ, so there is nothing to pick"
    best = done.read("best.json")
    assert best["validation_accuracy"] == max(measured.values()) == measured[best["k"]]
    assert {each["k"]: each["accuracy"] for each in best["tried"]} == measured
    tested = done.read("test.json")
    assert (tested["k"], tested["split"]) == (best["k"], "test")


def test_the_metric_is_really_that_of_the_nearest_neighbours(runner: Runner) -> None:
    done = runner.run("testing/parallel-sweep.yaml", {"samples": "120"})
    splits = done.read("terrain.json")
    assert {name: len(rows) for name, rows in splits.items()} == {"train": 60, "validation": 30, "test": 30}
    right = 0
    for slip, vibration, gravel in splits["validation"]:
        nearest = min(splits["train"], key=lambda row: (row[0] - slip) ** 2 + (row[1] - vibration) ** 2)
        right += nearest[2] == gravel
    assert done.read("sweep/k-1.json")["accuracy"] == right / 30


@pytest.mark.parametrize(("most", "batches"), [("2", 2), ("4", 1), ("1", 4)])
def test_members_run_in_batches_of_the_size_that_config_says(runner: Runner, most: str, batches: int) -> None:
    done = runner.run("testing/parallel-sweep.yaml", {"samples": "40", "max_concurrency": most})
    assert done.result.state == "succeeded", done.result
    (sweep,) = [wave for wave in done.view.waves.values() if wave.node == "sweep"]
    assert len(sweep.last.launches) == batches
