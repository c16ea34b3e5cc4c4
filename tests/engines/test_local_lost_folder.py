"""A state folder that is removed, made anew, or cannot be written while jobs are in it."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from npac.engines.local import processes
from npac.engines.local.engine import LocalEngine
from npac.launch.ports import EngineError


def all_dead(pids: list[int]) -> bool:
    return not any(processes.stat(pid) for pid in pids)


def forbid_writing(pid: int) -> None:
    """Let every write of a process to a file fail, as on a disk that is full or only readable."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))


def allow_writing(pid: int) -> None:
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("status", ["STARTING", "RUNNING"])
@pytest.mark.parametrize("lost", ["", "queue.sqlite"])
def test_jobs_end_when_the_folder_or_its_queue_is_removed(bench: Any, status: str, lost: str) -> None:
    engine = bench.engine()
    stubborn = "trap '' TERM; setsid sleep 600 & while :; do sleep 1; done"
    scripts = {"setup": stubborn, "run": "true"} if status == "STARTING" else {"run": stubborn}
    job = bench.launch(engine, {"name": "work", **scripts})
    bench.wait_until(lambda: len(bench.living(engine, job)) >= 3, "the job's processes")
    bench.wait_status(engine, job, status)
    pids = [bench.supervisor(engine, job), *bench.living(engine, job)]
    if lost:
        Path(engine.root, lost).unlink()
    else:
        shutil.rmtree(engine.root)
    bench.wait_until(lambda: all_dead(pids), "the end of all of it", seconds=15)
    bench.engines.clear()


def test_a_folder_that_was_made_anew_is_another_one(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("sleep 600"))
    bench.wait_status(engine, job, "RUNNING")
    pids = [bench.supervisor(engine, job), *bench.living(engine, job)]
    shutil.rmtree(engine.root)
    second = LocalEngine(Path(engine.root), slots=4)
    bench.engines[:] = [second]
    assert bench.launch(second, bench.task("sleep 600")) == job
    # The first job's supervisor must not take the new job 1 for its own.
    bench.wait_until(lambda: all_dead(pids), "the end of the first job", seconds=15)
    assert bench.wait_status(second, job, "RUNNING").reason == ""
    assert not Path(engine.root, "jobs", job, "0", "outcome.json").exists()
    for call in (engine.jobs, engine.capabilities, lambda: engine.job(job), lambda: engine.cancel(job)):
        with pytest.raises(EngineError, match="is another engine's now") as caught:
            call()
        assert caught.value.remedy.endswith(".")
    with pytest.raises(EngineError, match="is another engine's now") as caught:
        bench.launch(engine, bench.task("true"))
    assert caught.value.phase == "never-sent"


def test_a_folder_that_is_missing_is_said_by_every_call(bench: Any) -> None:
    engine = bench.engine()
    shutil.rmtree(engine.root)
    bench.engines.clear()
    calls = (
        engine.jobs,
        engine.capabilities,
        lambda: engine.job("1"),
        lambda: engine.cancel("1"),
        lambda: list(engine.logs("1")),
        lambda: list(engine.logs("1", follow=True)),
    )
    for call in calls:
        with pytest.raises(EngineError, match=f"state folder {engine.root} is missing") as caught:
            call()
        assert caught.value.phase == "maybe-sent" and caught.value.remedy.endswith(".")
    with pytest.raises(EngineError, match="is missing") as caught:
        bench.launch(engine, bench.task("true"))
    assert caught.value.phase == "never-sent"
    assert not Path(engine.root).exists()


def test_a_follower_is_told_when_the_folder_is_removed(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("echo first; sleep 600"))
    log = engine.logs(job, follow=True)
    assert next(log) == "first\n"
    shutil.rmtree(engine.root)
    bench.engines.clear()
    with pytest.raises(EngineError, match="is missing"):
        list(log)


def test_a_job_can_be_cancelled_when_its_supervisor_cannot_write(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("trap '' TERM; sleep 600; while :; do sleep 1; done"))
    bench.wait_status(engine, job, "RUNNING")
    supervisor = bench.supervisor(engine, job)
    forbid_writing(supervisor)
    engine.cancel(job)
    bench.wait_until(lambda: bench.living(engine, job) == [], "the end of the processes")
    assert bench.row(engine, job).status == "CANCELLING"
    before = processor_seconds(supervisor)
    time.sleep(2)
    assert processor_seconds(supervisor) - before < 0.3, "it must wait, not spin"
    allow_writing(supervisor)
    row = bench.finish(engine, job)
    assert (row.status, row.reason) == ("CANCELLED", "cancelled while it ran")


def test_a_supervisor_that_cannot_write_still_ends_when_it_is_told_to(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("sleep 600"))
    bench.wait_status(engine, job, "RUNNING")
    supervisor = bench.supervisor(engine, job)
    forbid_writing(supervisor)
    os.kill(supervisor, signal.SIGTERM)
    bench.wait_until(lambda: processes.stat(supervisor) is None, "the supervisor's end", seconds=15)
    assert bench.living(engine, job) == []
    assert bench.finish(engine, job).status == "FAILED_CONTROLLER"


def test_a_group_is_attended_to_while_nothing_can_be_written(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"
    members = [
        {"name": "a", "run": f"{wait}; exit 3"},
        {"name": "b", "num_nodes": 2, "run": f"{wait}; [ $SKYPILOT_NODE_RANK = 0 ] && exit 4; sleep 600"},
    ]
    job = bench.launch(engine, {"name": "g", "execution": "parallel"}, *members)
    bench.wait_status(engine, job, "RUNNING")
    supervisor = bench.supervisor(engine, job)
    forbid_writing(supervisor)
    (tmp_path / "go").touch()
    # The end of the first member cannot be written; the second one's other node is ended all the same.
    bench.wait_until(lambda: bench.living(engine, job) == [], "the end of the processes")
    assert bench.row(engine, job).status == "RUNNING"
    allow_writing(supervisor)
    row = bench.finish(engine, job)
    assert [(one.status, one.exit_code) for one in row.tasks] == [("FAILED", 3), ("FAILED", 4)]


@pytest.mark.parametrize("started", [True, False])
def test_a_cancel_passes_a_queue_that_cannot_be_written(bench: Any, started: bool) -> None:
    engine = bench.engine(slots=1)
    first = bench.launch(engine, bench.task("sleep 600"))
    bench.wait_status(engine, first, "RUNNING")
    job = first if started else bench.launch(engine, bench.task("true"))
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from npac.engines.local.engine import LocalEngine\n"
        "engine = LocalEngine(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "engine.cancel(sys.argv[2])\n"
    )
    subprocess.run([sys.executable, "-c", script, engine.root, job], timeout=60, check=True)
    row = bench.finish(engine, job)
    words = "cancelled while it ran" if started else "cancelled before it started"
    assert (row.status, row.reason) == ("CANCELLED", words)


def test_a_cancel_that_nobody_hears_is_an_error(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("sleep 600"))
    bench.wait_status(engine, job, "RUNNING")
    os.kill(bench.supervisor(engine, job), signal.SIGKILL)
    bench.wait_until(lambda: processes.stat(bench.supervisor(engine, job)) is None, "the supervisor's end")
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from npac.engines.local.engine import LocalEngine\n"
        "from npac.launch.ports import EngineError\n"
        "engine = LocalEngine(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "try:\n"
        "    engine.cancel(sys.argv[2])\n"
        "except EngineError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, engine.root, job],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "did not answer" in done.stdout
    assert bench.finish(engine, job).status == "FAILED_CONTROLLER"
