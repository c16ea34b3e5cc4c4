"""Killed drivers, killed supervisors, restarted machines, removed folders."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from npac.engines.local import processes
from npac.engines.local.folder import JobFolder
from npac.engines.local.states import Outcome


def test_the_launcher_is_killed_right_after_the_launch(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    script = (
        "import os, sys, signal\n"
        "from pathlib import Path\n"
        "from npac.engines.local.engine import LocalEngine\n"
        "engine = LocalEngine(Path(sys.argv[1]))\n"
        "run = 'while [ ! -e %s ]; do sleep 0.02; done; echo done' % sys.argv[2]\n"
        "engine.launch([{'name': 'work', 'run': run}], 'job', 'l', {'K': 'v'})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, engine.root, str(tmp_path / "go")], timeout=60)
    assert done.returncode == -signal.SIGKILL
    bench.wait_status(engine, "1", "RUNNING")
    (tmp_path / "go").touch()
    assert bench.finish(engine, "1").status == "SUCCEEDED"
    assert bench.log(engine, "1") == "done\n"


@pytest.mark.parametrize("delay", range(6))
def test_a_launcher_killed_at_any_moment_leaves_one_job_or_none(bench: Any, delay: int) -> None:
    engine = bench.engine()
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from npac.engines.local.engine import LocalEngine\n"
        "engine = LocalEngine(Path(sys.argv[1]))\n"
        "print('ready', flush=True)\n"
        "engine.launch([{'name': 'work', 'run': 'echo done'}], 'job', 'l', {})\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, engine.root]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as launcher:
        assert launcher.stdout is not None
        launcher.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            launcher.wait(delay * 0.015)
        launcher.kill()
    # The same launch again: whatever came of the first, there is one job, and it runs once.
    job = bench.launch(engine, bench.task("echo done"), launch_id="l")
    assert bench.finish(engine, job).status == "SUCCEEDED"
    assert [row.id for row in engine.jobs()] == [job]
    assert bench.log(engine, job) == "done\n"


def test_a_killed_supervisor_is_seen_and_no_orphan_is_left(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    # The last one has neither the job's environment nor a parent in the job.
    script = (
        "sleep 600 & setsid sleep 600 & env -i sleep 600 & "
        f"( env -i sleep 600 & echo $! > {tmp_path}/pid ); echo started; wait"
    )
    job = bench.launch(engine, bench.task(script))
    bare = int(bench.wait_for(tmp_path / "pid"))
    bench.wait_until(lambda: len(bench.living(engine, job)) >= 4, "all processes of the job")
    os.kill(bench.supervisor(engine, job), signal.SIGKILL)
    row = bench.finish(engine, job)
    assert row.status == "FAILED_CONTROLLER"
    assert "supervisor (pid " in row.reason
    assert "not known" in row.reason
    assert row.tasks[0].status == "FAILED_CONTROLLER"
    assert row.ended_at is not None
    assert bench.living(engine, job) == []
    assert processes.stat(bare) is None
    assert bench.log(engine, job) == "started\n"


def test_a_killed_supervisor_frees_its_slots_without_any_reader(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine(slots=1)
    first = bench.launch(engine, bench.task("sleep 600"))
    bench.wait_status(engine, first, "RUNNING")
    second = bench.launch(engine, bench.task("sleep 600"))
    third = bench.launch(engine, bench.task(f"echo ran > {tmp_path}/third"))
    # Both the one that runs and the one that is first in the queue.
    os.kill(bench.supervisor(engine, second), signal.SIGKILL)
    os.kill(bench.supervisor(engine, first), signal.SIGKILL)
    assert bench.wait_for(tmp_path / "third") == "ran\n"
    assert bench.finish(engine, third).status == "SUCCEEDED"
    assert bench.row(engine, first).status == "FAILED_CONTROLLER"
    row = bench.row(engine, second)
    assert row.status == "FAILED_CONTROLLER"
    assert "nothing of it has run" in row.reason


def test_exit_statuses_on_disk_outlive_the_supervisor(bench: Any) -> None:
    # As when the supervisor is killed between the record of an exit and the row in the queue.
    engine = bench.engine()
    members = [{"name": name, "run": "sleep 600"} for name in ("a", "b")]
    job = bench.launch(engine, {"name": "g", "execution": "parallel"}, *members)
    bench.wait_status(engine, job, "RUNNING")
    os.kill(bench.supervisor(engine, job), signal.SIGKILL)
    folder = JobFolder(engine.root, int(job))
    folder.write_outcome(0, Outcome("a", "SUCCEEDED", 0))
    folder.write_outcome(1, Outcome("b", "FAILED", 9, "run exited with code 9"))
    row = bench.finish(engine, job)
    assert (row.status, row.reason) == ("FAILED", "task b: run exited with code 9")
    assert [(one.status, one.exit_code) for one in row.tasks] == [("SUCCEEDED", 0), ("FAILED", 9)]


def test_a_supervisor_that_is_told_to_end_ends_its_job(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("sleep 600"))
    bench.wait_status(engine, job, "RUNNING")
    os.kill(bench.supervisor(engine, job), signal.SIGTERM)
    row = bench.finish(engine, job)
    assert (row.status, row.reason) == ("FAILED_CONTROLLER", "the job's supervisor was asked to end")
    assert bench.living(engine, job) == []


def test_a_job_of_an_earlier_boot_is_over_and_nothing_is_killed_for_it(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("sleep 600"))
    bench.wait_status(engine, job, "RUNNING")
    supervisor = bench.supervisor(engine, job)
    os.kill(supervisor, signal.SIGKILL)
    bench.wait_until(lambda: processes.stat(supervisor) is None, "the supervisor's end")
    orphans = bench.living(engine, job)
    with sqlite3.connect(Path(engine.root, "queue.sqlite")) as sql:
        sql.execute("UPDATE job SET boot = 'another boot'")
    sql.close()
    row = bench.row(engine, job)
    assert (row.status, "restarted" in row.reason) == ("FAILED_CONTROLLER", True)
    assert bench.living(engine, job) == orphans != []
    for one in orphans:
        os.kill(one, signal.SIGKILL)
    bench.wait_until(lambda: bench.living(engine, job) == [], "the orphans' end")


def test_a_folder_removed_under_its_jobs_ends_them(bench: Any) -> None:
    engine = bench.engine(slots=1)
    first = bench.launch(engine, bench.task("sleep 600"))
    second = bench.launch(engine, bench.task("sleep 600"))
    bench.wait_status(engine, first, "RUNNING")
    supervisors = [bench.supervisor(engine, job) for job in (first, second)]
    pids = bench.living(engine)
    assert pids
    shutil.rmtree(engine.root)
    bench.wait_until(lambda: not any(map(processes.stat, [*supervisors, *pids])), "the end of all of it")


def test_a_pid_that_is_someone_elses_now_is_left_alone(bench: Any, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as stranger:
        try:
            found = processes.stat(stranger.pid)
            assert found is not None
            assert processes.find("no such marker", [(stranger.pid, found.start - 1)]) == []
            found.start -= 1
            assert not processes.send(found, signal.SIGKILL)
            assert stranger.poll() is None
            assert not processes.alive(stranger.pid, found.start, processes.boot_id())
            assert processes.alive(stranger.pid, found.start + 1, processes.boot_id())
        finally:
            stranger.kill()


def test_a_supervisor_killed_at_any_moment_leaves_a_clear_end(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    for step in range(16):
        out = tmp_path / f"ran{step}"
        job = bench.launch(engine, bench.task(f"echo x >> {out}; sleep 0.03", setup="true"))
        supervisor = bench.supervisor(engine, job)
        time.sleep(step * 0.005)
        with contextlib.suppress(ProcessLookupError):
            os.kill(supervisor, signal.SIGKILL)
        row = bench.finish(engine, job)
        assert row.status in ("FAILED_CONTROLLER", "SUCCEEDED")
        assert bench.living(engine, job) == []
        if row.status == "SUCCEEDED":
            assert out.read_text() == "x\n"
        elif out.exists():
            assert out.read_text() in ("", "x\n")
            assert "nothing of it has run" not in row.reason
