"""Jobs that resist: that start slowly, multiply, flood their log, hide, stop their supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from npac.engines.local.folder import INCOMING, sweep
from npac.engines.local.log_files import LIMIT, open_log, trim
from npac.engines.local.logs import Tail, present
from npac.launch.ports import EngineError

_GROUP = {"name": "g", "execution": "parallel"}


def test_a_job_over_the_bounds_is_refused_and_makes_nothing(bench: Any) -> None:
    engine = bench.engine()
    members = [{"name": f"m{at}", "run": "x"} for at in range(1001)]
    wide = [{"name": f"m{at}", "run": "x", "num_nodes": 32} for at in range(129)]
    large = {f"V{at}": "v" * 100_000 for at in range(11)}
    for documents, words in (
        ([bench.task("x", num_nodes=33)], "'work' has num_nodes 33; a task takes 1 to 32"),
        ([bench.task("x", num_nodes=999_999)], "num_nodes 999999; a task takes 1 to 32"),
        ([bench.task("x", num_nodes=1 << 80_000)], "num_nodes of 80001 bits"),
        ([_GROUP, *members], "1001 tasks; the local engine runs at most 1000"),
        ([_GROUP, *wide], "4128 nodes together; the local engine runs at most 4096"),
        ([bench.task("x", envs=large)], "take 11000.. bytes; a task takes at most 1048576"),
        ([bench.task("x", envs={"A": 1 << 80_000})], "'A' .* of 80001 bits"),
        ([bench.task("a\ud800b")], "run script"),
        ([bench.task("x", secrets=["A"])], "secrets of task 'work' are not a mapping"),
        ([bench.task("x", resources={"accelerators": {}, "any_of": 3, "image_id": "i"})], "image 'i'"),
    ):
        with pytest.raises(EngineError, match=words) as caught:
            engine.launch(documents, "job", "l", {})
        assert caught.value.phase == "rejected" and caught.value.remedy.endswith(".")
        assert len(str(caught.value)) < 300
    assert list(engine.jobs()) == []
    assert os.listdir(Path(engine.root, "jobs")) == []


def test_a_job_whose_folder_is_slow_to_make_holds_up_no_other(bench: Any) -> None:
    engine = bench.engine()
    incoming = Path(engine.root, INCOMING)
    # A thousand tasks take long enough to be stopped halfway, as on a disk that hangs.
    members = [{"name": f"m{at}", "run": "true # " + "x" * 2000} for at in range(1000)]
    answers: list[str] = []
    slow = threading.Thread(
        target=lambda: answers.append(bench.launch(engine, _GROUP, *members, launch_id="slow"))
    )
    slow.start()
    bench.wait_until(lambda: incoming.exists() and os.listdir(incoming), "the start of the slow job")
    (name,) = os.listdir(incoming)
    os.kill(int(name.partition(".")[0]), signal.SIGSTOP)
    try:
        assert os.listdir(incoming) == [name]
        before = time.monotonic()
        quick = bench.launch(engine, bench.task("echo quick"))
        assert bench.finish(engine, quick).status == "SUCCEEDED"
        second = bench.launch(engine, bench.task("sleep 600"))
        engine.cancel(second)
        assert bench.finish(engine, second).status == "CANCELLED"
        assert time.monotonic() - before < 8
        assert [row.id for row in engine.jobs()] == [quick, second]
    finally:
        os.kill(int(name.partition(".")[0]), signal.SIGCONT)
        slow.join(60)
    engine.cancel(answers[0])
    assert bench.finish(engine, answers[0]).terminal
    assert os.listdir(incoming) == []


def test_what_a_killed_submission_left_is_swept(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("true"))
    bench.finish(engine, job)
    incoming = Path(engine.root, INCOMING)
    mine = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for name in (f"{os.getpid()}.{mine}.{boot}", f"{os.getpid()}.1.{boot}", "1.2.old.left"):
        Path(incoming, name, "0").mkdir(parents=True)
    sweep(engine.root)
    assert os.listdir(incoming) == [f"{os.getpid()}.{mine}.{boot}"]


def test_a_cancel_during_setup_ends_a_job_that_is_starting(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    job = bench.launch(
        engine, bench.task("true", setup=f"trap '' TERM; echo up > {tmp_path}/up; while :; do sleep 1; done")
    )
    bench.wait_for(tmp_path / "up")
    assert bench.row(engine, job).status == "STARTING"
    engine.cancel(job)
    assert bench.row(engine, job).status == "CANCELLING"
    assert bench.finish(engine, job).status == "CANCELLED"
    assert bench.living(engine, job) == []


def test_a_cancel_is_heard_between_two_nodes(bench: Any) -> None:
    # In a process of its own, since whoever attends to a job waits for all children of its process.
    engine = bench.engine()
    script = """
import os, sys, time
from npac.engines.local import processes
from npac.engines.local.attend import Attendance
from npac.engines.local.folder import JobFolder
from npac.engines.local.queue import Queue
root = sys.argv[1]
me = processes.stat(os.getpid())
owner = (me.pid, me.start, processes.boot_id())
plan = {"nodes": 32, "gpus": 0, "envs": {}, "secrets": {}, "setup": None, "run": "sleep 600"}
tasks = [{"name": name, **plan} for name in ("a", "b")]
folder = JobFolder.stage(root, owner, tasks)
queue = Queue(root)
queue.begin()
job = queue.insert("l", "job", [("a", 32), ("b", 32)], owner, time.time())
folder.enter(root, job)
queue.commit()
queue.try_start(job)
looks = 0
def wait(seconds):
    global looks
    looks += 1
    if looks == 5:
        queue.request_cancel(job)
    time.sleep(min(seconds, 0.05))
def attempt(write):
    write()
    return True
payload = {"name": "job", "group": "g", "bash": "/bin/bash", "log_limit": 1 << 20, "tasks": tasks}
attendance = Attendance(queue, folder, job, payload, open(root + "/engine-instance").read().strip(),
    base=dict(os.environ), umask=0o77, submitted_at=0.0, wait=wait, attempt=attempt,
    asked_to_end=lambda: False, asked_to_cancel=lambda: False)
outcomes = attendance.run()
print(len(folder.leaders()), *[outcome.status for outcome in outcomes])
queue.finish(job, "CANCELLED", "", outcomes)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, engine.root], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["4", "CANCELLED", "CANCELLED"]
    assert bench.living(engine) == []


def test_a_cancel_of_many_nodes_takes_no_longer_than_the_grace(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine(slots=64)
    stubborn = f"trap '' TERM; touch {tmp_path}/up$SKYPILOT_NODE_RANK; while :; do sleep 1; done"
    job = bench.launch(engine, bench.task(stubborn, num_nodes=32))
    beside = bench.launch(engine, bench.task("echo fine"))
    assert bench.finish(engine, beside).status == "SUCCEEDED"
    bench.wait_until(lambda: len(list(tmp_path.glob("up*"))) == 32, "all nodes")
    before = time.monotonic()
    engine.cancel(job)
    assert bench.finish(engine, job).status == "CANCELLED"
    assert time.monotonic() - before < 15
    assert bench.living(engine, job) == []


def test_a_large_group_is_ended_in_one_go(bench: Any) -> None:
    engine = bench.engine(slots=256)
    members = [{"name": f"m{at}", "run": "trap '' TERM; sleep 600; sleep 600"} for at in range(150)]
    job = bench.launch(engine, _GROUP, *members)
    bench.wait_until(lambda: len(bench.living(engine, job)) >= 300, "all members")
    before = time.monotonic()
    engine.cancel(job)
    row = bench.finish(engine, job)
    assert {one.status for one in (row, *row.tasks)} == {"CANCELLED"}
    assert time.monotonic() - before < 15
    assert bench.living(engine, job) == []


@pytest.mark.parametrize("stopped", ["$PPID", "$$"])
def test_a_job_that_stops_its_supervisor_or_itself_can_be_cancelled(
    bench: Any, tmp_path: Path, stopped: str
) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task(f"echo up > {tmp_path}/up; kill -STOP {stopped}; sleep 600"))
    bench.wait_for(tmp_path / "up")
    who = bench.supervisor(engine, job) if stopped == "$PPID" else bench.living(engine, job)[0]
    bench.wait_until(
        lambda: Path(f"/proc/{who}/stat").read_text().rpartition(")")[2].split()[0] == "T", "the stop"
    )
    engine.cancel(job)
    assert bench.finish(engine, job).status == "CANCELLED"
    assert bench.living(engine, job) == []


def test_a_supervisor_that_was_stopped_while_it_held_the_queue_blocks_nobody(bench: Any) -> None:
    engine = bench.engine()
    # The lock is held by a process that stands in the queue as a supervisor, and is stopped.
    script = (
        "import os, sqlite3, sys\n"
        "from npac.engines.local import processes\n"
        "from npac.engines.local.queue import Queue\n"
        "me = processes.stat(os.getpid())\n"
        "queue = Queue(sys.argv[1])\n"
        "queue.begin()\n"
        "queue.insert('held', 'job', [('a', 1)], (me.pid, me.start, processes.boot_id()), 0.0)\n"
        "queue.commit()\n"
        "queue.begin()\n"
        "print('held', flush=True)\n"
        "sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", script, engine.root]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        holder.send_signal(signal.SIGSTOP)
        holder.stdin.write(b"go on\n")
        holder.stdin.flush()
        before = time.monotonic()
        job = bench.launch(engine, bench.task("true"))
        assert time.monotonic() - before < 10
    assert bench.finish(engine, job).status == "SUCCEEDED"


_HOPPER = """
import os, sys, time
end, hops = time.monotonic() + 60, 0
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
    hops += 1
    if hops % 10 == 0:
        open(sys.argv[1], "w").close()
"""


@pytest.mark.parametrize("prefix", ["", "env -i "])
def test_a_process_that_forks_on_and_on_is_ended_with_its_job(
    bench: Any, tmp_path: Path, prefix: str
) -> None:
    engine = bench.engine()
    (tmp_path / "hopper.py").write_text(_HOPPER)
    beats = [tmp_path / f"beat{at}" for at in range(4)]
    hoppers = [f"{prefix}{sys.executable} -IS {tmp_path}/hopper.py {beat} &" for beat in beats]
    job = bench.launch(engine, bench.task(f"{' '.join(hoppers)} sleep 600"))
    bench.wait_until(lambda: all(beat.exists() for beat in beats), "the first hops of all")
    engine.cancel(job)
    assert bench.finish(engine, job).status == "CANCELLED"
    for beat in beats:
        beat.unlink()
    # At some hundred hops in a second, one that lived would be seen at once.
    until = time.monotonic() + 0.7
    while time.monotonic() < until:
        assert not any(beat.exists() for beat in beats)


@pytest.mark.parametrize(
    ("run", "status", "code"),
    [
        ("exec >&- 2>&-; sleep 0.2; exit 3", "FAILED", 3),
        ("(trap '' TERM HUP; sleep 600) & exit 0", "SUCCEEDED", 0),
        ("setsid -f bash -c \"trap '' TERM; sleep 600\"; exec >&-; exit 4", "FAILED", 4),
        ("sleep 600 | sleep 600 | exit 5", "FAILED", 5),
        ("coproc sleep 600; disown -a; exit 0", "SUCCEEDED", 0),
    ],
)
def test_a_job_ends_when_its_main_process_does(bench: Any, run: str, status: str, code: int) -> None:
    engine = bench.engine()
    if "|" in run:
        run = "sleep 600 > >(sleep 600) & exit 5"
    before = time.monotonic()
    job = bench.launch(engine, bench.task(run))
    row = bench.finish(engine, job)
    assert (row.status, row.tasks[0].exit_code) == (status, code)
    assert time.monotonic() - before < 8
    assert bench.living(engine, job) == []


def test_a_log_without_end_is_cut_back_while_the_job_runs(bench: Any) -> None:
    engine = bench.engine()
    engine.log_limit = 1 << 20
    job = bench.launch(engine, bench.task("printf first; exec cat /dev/zero"))
    log = Path(engine.root, "jobs", job, "0", "0.log")
    notice = b"\n[npac: the output was larger than 1048576 bytes"

    def cut() -> bool:
        with log.open("rb") as file:
            file.seek(1 << 19)
            return file.read(len(notice)) == notice

    bench.wait_until(lambda: log.exists() and cut(), "the cut")
    beside = bench.launch(engine, bench.task("echo fine"))
    assert bench.finish(engine, beside).status == "SUCCEEDED"
    engine.cancel(job)
    assert bench.finish(engine, job).status == "CANCELLED"
    assert log.stat().st_size <= (1 << 20)
    shown = bench.log(engine, job)
    assert shown.startswith("first") and "only the newest is kept]" in shown


def test_cutting_a_log_leaves_its_writer_and_its_readers_at_work(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    writer = open_log(str(log))
    tail = Tail(str(log))
    try:
        os.write(writer, b"a" * 6000 + b"b" * 6000)
        assert [tail.read()[0], tail.read()[0]] == [12000, 0]
        assert not trim(str(log), 12000)
        assert trim(str(log), 8000)
        os.write(writer, b"after\n")
        text = log.read_text()
        assert text.startswith("a" * 4000 + "\n[npac: ") and text.endswith("kept]\n" + "b" * 1000 + "after\n")
        # The reader goes on at the end, and never shows anything twice.
        assert tail.read()[0] == 0
        os.write(writer, b"new\n")
        assert tail.read() == (4, "new\n")
    finally:
        tail.close()
        os.close(writer)
    assert not trim(str(tmp_path / "no such log"), 1)
    assert LIMIT == 1 << 30


def test_what_a_script_puts_in_place_of_its_log_is_not_followed(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    target = tmp_path / "precious"
    target.write_text("kept")
    for number, command in enumerate(("mkfifo ../0.log", f"ln -s {target} ../0.log")):
        job = bench.launch(engine, bench.task("echo ran", setup=f"rm ../0.log; {command}"))
        row = bench.finish(engine, job)
        assert row.status == "FAILED_CONTROLLER", number
        assert "a process could not be started for run" in row.reason
        with pytest.raises(EngineError, match="log cannot be read"):
            bench.log(engine, job, follow=True)
    assert target.read_text() == "kept"
    assert list(present([])) == []


def test_a_script_that_removes_its_own_folder_gets_it_back_for_run(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("pwd", setup='rm -r "$PWD" "$NPA_TASK_STATE"'))
    assert bench.finish(engine, job).status == "SUCCEEDED"
    assert bench.log(engine, job).strip().endswith(f"/jobs/{job}/0/0")


@pytest.mark.parametrize(("option", "value"), [("slots", "4"), ("slots", True), ("log_limit", "1G")])
def test_options_of_the_wrong_type_are_refused(tmp_path: Path, option: str, value: Any) -> None:
    from npac.engines.local.engine import LocalEngine

    with pytest.raises(EngineError, match=f"option '{option}'") as caught:
        LocalEngine.from_options({"root": str(tmp_path / "e"), option: value})
    assert caught.value.phase == "rejected"
    assert not (tmp_path / "e").exists()
