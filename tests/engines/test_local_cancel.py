"""Cancelling jobs that run, that wait, that resist, and that nobody attends to any more."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from npac.launch.ports import EngineError


def test_cancel_ends_a_running_job_and_its_children(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("sleep 600 & setsid sleep 600 & echo up; wait"))
    bench.wait_until(lambda: len(bench.living(engine, job)) >= 3, "the job's processes")
    before = time.monotonic()
    engine.cancel(job)
    assert bench.row(engine, job).status in ("CANCELLING", "CANCELLED")
    engine.cancel(job)
    row = bench.finish(engine, job)
    assert (row.status, row.reason) == ("CANCELLED", "cancelled while it ran")
    assert (row.tasks[0].status, row.tasks[0].exit_code) == ("CANCELLED", None)
    assert time.monotonic() - before < 4
    assert bench.living(engine, job) == []
    engine.cancel(job)
    assert bench.row(engine, job) == row


def test_a_child_that_traps_the_signal_may_finish_within_the_grace(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    child = f'trap "echo saved > {tmp_path}/saved; exit 0" TERM; echo up > {tmp_path}/up; sleep 600 & wait'
    script = f"bash -c '{child}' & wait"
    job = bench.launch(engine, bench.task(script))
    bench.wait_for(tmp_path / "up")
    engine.cancel(job)
    assert bench.finish(engine, job).status == "CANCELLED"
    assert (tmp_path / "saved").read_text() == "saved\n"


def test_a_child_that_ignores_the_signal_is_killed_after_the_grace(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    script = f"trap '' TERM; echo up > {tmp_path}/up; sleep 600; while :; do sleep 1; done"
    job = bench.launch(engine, bench.task(script))
    bench.wait_for(tmp_path / "up")
    before = time.monotonic()
    engine.cancel(job)
    assert bench.row(engine, job).status == "CANCELLING"
    assert bench.finish(engine, job).status == "CANCELLED"
    assert 4.5 < time.monotonic() - before < 12
    assert bench.living(engine, job) == []


def test_a_pending_job_that_is_cancelled_never_starts(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine(slots=1)
    first = bench.launch(engine, bench.task(f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"))
    second = bench.launch(engine, bench.task(f"touch {tmp_path}/second"))
    third = bench.launch(engine, bench.task(f"touch {tmp_path}/third"))
    bench.wait_status(engine, first, "RUNNING")
    engine.cancel(second)
    row = bench.row(engine, second)
    assert (row.status, row.reason) == ("CANCELLED", "cancelled before it started")
    assert (row.started_at, row.tasks[0].status) == (None, "CANCELLED")
    (tmp_path / "go").touch()
    assert bench.finish(engine, third).status == "SUCCEEDED"
    assert (tmp_path / "third").exists()
    assert not (tmp_path / "second").exists()
    assert bench.row(engine, second) == row


def test_cancel_works_when_the_supervisor_is_dead(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("trap '' TERM; while :; do sleep 1; done"))
    bench.wait_status(engine, job, "RUNNING")
    supervisor = bench.supervisor(engine, job)
    engine.cancel(job)
    assert bench.row(engine, job).status == "CANCELLING"
    os.kill(supervisor, signal.SIGKILL)
    row = bench.finish(engine, job)
    assert row.status == "CANCELLED"
    assert bench.living(engine, job) == []


def test_a_success_that_came_before_the_cancel_stays_one(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("true"))
    row = bench.finish(engine, job)
    engine.cancel(job)
    assert bench.row(engine, job) == row
    assert row.status == "SUCCEEDED"


def test_cancel_of_a_group_ends_all_members(bench: Any) -> None:
    engine = bench.engine()
    members = [{"name": name, "run": "sleep 600"} for name in ("a", "b")]
    job = bench.launch(engine, {"name": "g", "execution": "parallel"}, {"name": "c", "run": "true"}, *members)
    bench.wait_until(lambda: bench.row(engine, job).tasks[0].status == "SUCCEEDED", "the end of one member")
    bench.wait_status(engine, job, "RUNNING")
    engine.cancel(job)
    row = bench.finish(engine, job)
    assert row.status == "CANCELLED"
    assert [one.status for one in row.tasks] == ["SUCCEEDED", "CANCELLED", "CANCELLED"]
    assert bench.living(engine, job) == []


def test_cancel_of_what_is_not_there_is_refused(bench: Any) -> None:
    with pytest.raises(EngineError, match="no job '5'") as caught:
        bench.engine().cancel("5")
    assert caught.value.phase == "rejected"
