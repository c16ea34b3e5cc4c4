"""What the machine runs out of: processes, room on the disk, memory; many jobs at once, and much output."""

from __future__ import annotations

import errno
import os
import resource
import time
from pathlib import Path
from typing import Any

import pytest

from npac.engines.local import supervisor
from npac.engines.local.engine import LocalEngine
from npac.engines.local.queue import Queue
from npac.launch.ports import EngineError, Indexed

SOAK = bool(os.environ.get("NPAC_SOAK"))
MANY = 500 if SOAK else 60
MUCH = (1 << 30) if SOAK else (96 << 20)
"""Bytes of output."""

_WITHOUT_PROCESSES = """\
import os, runpy, sys
real, left = os.fork, {left}
def fork():
    global left
    left -= 1
    if left < 0:
        raise OSError({number}, os.strerror({number}))
    return real()
os.fork = fork
runpy.run_path({supervisor!r}, run_name="__main__")
"""
"""A supervisor for which the machine has no process left after the first few; 0: not even for itself."""


def _bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int, number: int = errno.EAGAIN) -> None:
    script = tmp_path / "supervisor.py"
    text = _WITHOUT_PROCESSES.format(left=left, number=number, supervisor=supervisor.__file__)
    script.write_text(text)
    monkeypatch.setattr(supervisor, "__file__", str(script))


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.EAGAIN, "Resource temporarily unavailable"), (errno.ENOMEM, "Cannot allocate memory")],
)
def test_no_process_for_the_supervisor_itself(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    engine = bench.engine()
    with monkeypatch.context() as patch:
        _bound(tmp_path, patch, 0, number)
        with pytest.raises(EngineError, match=words) as caught:
            bench.launch(engine, bench.task("true"), launch_id="l")
    assert caught.value.phase == "never-sent"
    assert "processes left" in caught.value.remedy
    assert list(engine.jobs()) == [] and os.listdir(Path(engine.root, "incoming")) == []
    # The same launch again, now that there is one.
    job = bench.launch(engine, bench.task("true"), launch_id="l")
    assert bench.finish(engine, job).status == "SUCCEEDED"


@pytest.mark.parametrize("phase", ["setup", "run"])
def test_no_process_for_a_task(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    engine = bench.engine()
    scripts = {"setup": "true"} if phase == "setup" else {}
    with monkeypatch.context() as patch:
        _bound(tmp_path, patch, 1)
        job = bench.launch(engine, bench.task(f"touch {tmp_path}/ran", **scripts))
        row = bench.finish(engine, job)
    assert row.status == "FAILED_CONTROLLER"
    assert row.reason == f"a process could not be started for {phase}: Resource temporarily unavailable"
    assert not (tmp_path / "ran").exists()


def test_no_process_for_the_second_node_ends_the_first(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = bench.engine()
    with monkeypatch.context() as patch:
        _bound(tmp_path, patch, 2)
        job = bench.launch(engine, bench.task("sleep 600", num_nodes=2))
        row = bench.finish(engine, job)
    assert (row.status, bench.living(engine, job)) == ("FAILED_CONTROLLER", [])
    assert row.reason.startswith("a process could not be started for run: Resource temporarily unavailable")


def test_a_full_disk_is_named_at_the_launch(bench: Any, small_disk: Path) -> None:
    engine = LocalEngine(small_disk / "engine", slots=2)
    filler = small_disk / "filler"
    with open(filler, "wb") as file, pytest.raises(OSError, match="No space left"):
        while True:
            os.write(file.fileno(), bytes(4096))
    with pytest.raises(EngineError, match=r"No space left|disk is full") as caught:
        engine.launch([bench.task("true # " + "x" * 50_000)], "job", "l", {})
    assert caught.value.phase in ("rejected", "never-sent")
    assert "disk" in caught.value.remedy
    filler.unlink()
    assert list(engine.jobs()) == []
    job = engine.launch([bench.task("true")], "job", "l", {}).job_id
    assert bench.finish(engine, job).status == "SUCCEEDED"


def test_many_jobs_wait_and_end_within_the_slots(bench: Any, tmp_path: Path) -> None:
    slots = os.cpu_count() or 1
    engine = bench.engine(slots=slots)
    place = tmp_path / "at-work"
    place.mkdir()
    # Each job counts those that are at work with it.
    script = f"touch {place}/$$; ls {place} | wc -l; rm {place}/$$"
    jobs = [bench.launch(engine, bench.task(script)) for _ in range(MANY)]
    bench.wait_until(
        lambda: all(row.terminal for row in engine.jobs()), f"the end of {MANY} jobs", seconds=60 + 2 * MANY
    )
    assert {row.status for row in engine.jobs()} == {"SUCCEEDED"}
    at_work = [int(bench.log(engine, job)) for job in jobs]
    assert max(at_work) <= slots
    begun = [bench.row(engine, job).started_at for job in jobs]
    assert begun == sorted(begun), "in the order of submission"


def test_how_many_wait_makes_no_look_at_the_queue_longer(tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path / "engine", slots=1)
    steps: dict[int, int] = {}
    with Queue(engine.root) as queue:
        for number in range(1, 2001):
            queue.begin()
            queue.insert(f"l{number}", "job", [("work", 1)], (os.getpid(), 1, "boot"), time.time())
            queue.commit()
            if number in (20, 2000):
                counted = [0]

                def count(counted: list[int] = counted) -> int:
                    counted[0] += 1
                    return 0

                queue._sql.set_progress_handler(count, 1)
                assert queue.try_start(number)[1][0].id == number - 1
                assert [job.id for job in queue.jobs_of(f"l{number}", "another")] == [number]
                queue._sql.set_progress_handler(None, 1)
                steps[number] = counted[0]
    # Steps of SQLite's machine: the same, but for the depth of its trees.
    assert steps[2000] < 2 * steps[20], steps


def test_a_launch_costs_the_same_whatever_came_before(tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path / "engine", slots=1)
    assert isinstance(engine, Indexed)
    with Queue(engine.root) as queue:
        queue.begin()
        for number in range(1, 1001):
            queue.insert(f"l{number}", f"job-{number}", [("work", 1)], (1, 1, "boot"), time.time())
        queue.commit()
        plan = queue._sql.execute("EXPLAIN QUERY PLAN SELECT id FROM job WHERE launch_id = 'l' OR name = 'n'")
        assert not [step for *_, step in plan if step.startswith("SCAN")]
        found = queue.jobs_of("l7", "job-9")
    assert [(job.id, job.launch_id, len(job.tasks)) for job in found] == [(7, "l7", 1), (9, "l9", 1)]
    # What the whole list shows of a launch is what is found of it.
    rows = engine.jobs()
    assert engine.jobs_of("l7", "job-9") == [row for row in rows if row.id in ("7", "9")]


def test_much_output_neither_fills_memory_nor_holds_the_job_up(bench: Any) -> None:
    engine = LocalEngine(bench.folder / "engine", slots=1, log_limit=32 << 20)
    bench.engines.append(engine)
    job = bench.launch(engine, bench.task(f"head -c {MUCH} /dev/zero | tr '\\0' x; echo; echo last"))
    watched = bench.supervisor(engine, job)
    largest = 0
    deadline = time.monotonic() + 300
    while not (row := bench.row(engine, job)).terminal:
        assert time.monotonic() < deadline
        largest = max(largest, _resident(watched))
        time.sleep(0.02)
    assert row.status == "SUCCEEDED"
    # It holds no output at all: what it takes is what an idle one takes.
    assert 0 < largest < 40 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tail, size = "", 0
    for piece in engine.logs(job):
        size += len(piece)
        tail = (tail + piece)[-1000:]
    assert size <= 34 << 20 and tail.endswith("last\n")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10  # KiB


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0
