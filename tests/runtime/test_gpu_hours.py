"""GPU hours are counted from what jobs asked for and how long they ran, and bounded before each launch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from npac.engines.local.engine import LocalEngine
from npac.launch.ports import JobRow
from npac.runtime import api, gpu_hours
from npac.runtime.api import RunOptions
from tests.runtime.faults import FaultyEngine
from tests.runtime.programs import Bench, chain, step

HOUR = 3600.0


def engine(bench: Bench, hours: float, *, tells: bool = True) -> FaultyEngine:
    """Give an engine whose ended jobs ran for so long by its own clock."""

    def see(row: JobRow) -> JobRow:
        if row.ended_at is None:
            return row
        ended = row.started_at + hours * HOUR if row.started_at is not None else row.ended_at
        return replace(row, ended_at=ended if tells else None)

    return FaultyEngine(LocalEngine(bench.root / "engine", slots=4, pretend=True), see=see)


def on(accelerators: Any, **more: Any) -> dict[str, Any]:
    return {"profile": {"accelerators": accelerators}, **more}


def test_the_bound_is_met_before_a_launch_and_named_with_a_remedy(bench: Bench) -> None:
    program = chain(*(step(name, bench.count(name), **on("H100:4", num_nodes=2)) for name in "abc"))
    result = bench.start(program, RunOptions(max_gpu_hours=10), engine=engine(bench, 0.75))
    # a and b use 2 x 4 x 0.75 = 6 hours each: after a there are 6, after b 12.
    assert bench.trace() == ["a", "a", "b", "b"]
    view = bench.view()
    assert (result.state, result.exit_code, view.code) == ("blocked", 3, "GPU_HOURS_SPENT")
    assert result.reason == (
        "c is not launched: the jobs of this run have used 12 GPU hours, and --max-gpu-hours is 10"
    )
    assert result.remedy.startswith("npac resume run --max-gpu-hours 30 (")
    assert [e["seconds"] for e in bench.events("batch-ended")] == [0.75 * HOUR] * 2
    again = bench.resume(RunOptions(), engine=engine(bench, 0.75))
    assert again.state == "blocked", "a bound stays until it is changed"
    done = bench.resume(RunOptions(max_gpu_hours=30), engine=engine(bench, 0.75))
    assert done.state == "succeeded" and bench.trace()[4:] == ["c", "c"]


def test_attempts_that_failed_and_passes_that_were_set_aside_count(bench: Bench) -> None:
    program = chain(step("a", bench.count("a"), **on({"L4": 2})), step("b", "exit 3", **on("L4")))
    place = engine(bench, 1)
    assert bench.start(program, RunOptions(retries=5, max_gpu_hours=4), engine=place).state == "blocked"
    assert len(bench.engine().jobs()) == 3, "2 hours of a, then 1 of b, and 1 more"
    ledger = bench.ledgers().open("run")
    stored = api.load(ledger)
    world = bench.world(stored.program, stored.link, engine=place)
    back = api.resume_run(ledger, world, RunOptions(max_gpu_hours=5), rerun_from="a")
    assert (back.state, len(bench.engine().jobs())) == ("blocked", 4), "a once more, which makes it 6"


def test_no_bound_and_no_accelerators_cost_nothing(bench: Bench) -> None:
    program = chain(step("a", "true"), step("b", "true", **on("L4")))
    assert bench.start(program, RunOptions(max_gpu_hours=0), engine=engine(bench, 99)).state == "succeeded"
    assert [e["gpus"] for e in bench.events("wave-started")] == [[], [1]]


def test_a_time_that_the_engine_does_not_tell_is_that_of_the_attempt(bench: Bench) -> None:
    program = chain(step("a", "sleep 0.3", **on("L4:3600")), step("b", bench.count("b")))
    # 3600 GPUs for 0.3 seconds or more are at least 0.3 hours.
    result = bench.start(program, RunOptions(max_gpu_hours=0.25), engine=engine(bench, 0, tells=False))
    assert result.state == "blocked" and bench.trace() == []
    assert bench.events("batch-ended")[0]["seconds"] is None


@pytest.mark.parametrize(
    ("document", "gpus"),
    [
        ({}, 0),
        ({"resources": {"cpus": 4}}, 0),
        ({"resources": {"accelerators": "H100"}}, 1),
        ({"resources": {"accelerators": "H100:8"}, "num_nodes": 3}, 24),
        ({"resources": {"accelerators": {"H100": 8, "A100": 4}}}, 8),
        ({"resources": {"accelerators": ["L4:2", {"T4": 4}]}}, 4),
        ({"resources": {"any_of": [{"accelerators": "L4:2"}, {"accelerators": "T4:6"}]}}, 6),
        ({"resources": [{"accelerators": "L4:2"}]}, 2),
        ({"resources": {"accelerators": "L4:0.5"}}, 1),
        ({"resources": {"accelerators": {"L4": None}}}, 1),
    ],
)
def test_what_a_task_asks_for(document: dict[str, Any], gpus: int) -> None:
    assert gpu_hours.count(document) == gpus


@pytest.mark.parametrize("bound", [-1.0, float("nan")])
def test_a_bound_that_means_nothing_is_refused(bound: float) -> None:
    with pytest.raises(ValueError, match="max_gpu_hours"):
        RunOptions(max_gpu_hours=bound)
