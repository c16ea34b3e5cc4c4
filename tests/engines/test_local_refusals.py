"""What this engine does not do is refused before anything is made; what the machine lacks is said."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from npac.launch.ports import EngineError

_GROUP = {"name": "g", "execution": "parallel"}


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        ([], "no document"),
        ([_GROUP], "no tasks"),
        ([{"name": "g", "execution": "serial"}, {"run": "x"}], "execution 'serial'"),
        ([{"run": "x"}, {"run": "y"}], "not the header"),
        ([_GROUP, {"name": "a", "run": "x"}, {"name": "a", "run": "y"}], "called 'a'"),
        ([{"run": "x", "resources": {"image_id": "docker:r/i"}}], "image 'docker:r/i'"),
        ([{"run": "x", "resources": {"accelerators": "H100:8"}}], "accelerators 'H100:8'"),
        ([{"run": "x", "resources": {"any_of": [{"accelerators": {"L4": 1}}]}}], "accelerators"),
        ([{"run": "x", "resources": ["gpu"]}], "resources"),
        ([{"run": "x", "workdir": "."}], "'workdir'"),
        ([{"run": "x", "file_mounts": {"/a": "b"}}], "'file_mounts'"),
        ([{"run": "x", "num_nodes": 0}], "num_nodes 0"),
        ([{"run": "x", "num_nodes": True}], "num_nodes True"),
        ([{"run": ["x"]}], "run script"),
        ([{"run": "a\0b"}], "run script"),
        ([{"run": "x", "envs": {"A B": "c"}}], "'A B'"),
        ([{"run": "x", "envs": {"A": None}}], "'A'"),
        ([{"run": "x", "envs": {"A": True}}], "'A'"),
        ([{"run": "x", "envs": {"A": "b\0c"}}], "no environment can hold"),
        ([{"run": "x", "envs": {"A": "b" * 140_000}}], "longer than"),
        ([{"run": "x", "secrets": {"A": None}}], "'A'"),
    ],
)
def test_documents_that_are_refused(bench: Any, documents: list[Any], words: str) -> None:
    engine = bench.engine()
    with pytest.raises(EngineError, match=words) as caught:
        engine.launch(documents, "job", "l", {})
    assert caught.value.phase == "rejected"
    assert caught.value.remedy.endswith(".")
    assert list(engine.jobs()) == []


def test_a_refusal_never_shows_a_value(bench: Any) -> None:
    engine = bench.engine()
    for value in ("s3cret\0", "s3cret" * 30_000):
        with pytest.raises(EngineError) as caught:
            engine.launch([bench.task("true")], "job", "l", {"KEY": value})
        assert "KEY" in str(caught.value)
        assert "s3cret" not in str(caught.value) + caught.value.remedy


def test_a_launch_needs_an_id(bench: Any) -> None:
    with pytest.raises(EngineError, match="no launch id"):
        bench.engine().launch([bench.task("true")], "job", "", {})


def test_pretend_runs_images_and_accelerators_as_plain_processes(bench: Any) -> None:
    engine = bench.engine(pretend=True)
    resources = {"image_id": "docker:r/i", "accelerators": "H100:8", "cloud": "kubernetes", "cpus": "8+"}
    job = bench.launch(engine, bench.task("echo $SKYPILOT_NUM_GPUS_PER_NODE", resources=resources))
    assert bench.finish(engine, job).status == "SUCCEEDED"
    assert bench.log(engine, job) == "8\n"
    assert not engine.capabilities().images
    assert not engine.capabilities().accelerators


def test_a_secret_of_the_document_may_be_filled_at_launch(bench: Any) -> None:
    engine = bench.engine()
    task = bench.task('test "$A$B" = 12', secrets={"A": None, "B": "2"})
    job = bench.launch(engine, task, secrets={"A": "1"})
    assert bench.finish(engine, job).status == "SUCCEEDED"


@pytest.mark.parametrize(
    ("room", "phase", "words"),
    [
        (2_000, "never-sent", "queue in .* did not answer: disk I/O error"),
        (60_000, "rejected", "Not launched: the job could not be put into the queue in .*: .*File too large"),
    ],
)
def test_a_disk_without_room_is_said_and_leaves_no_job(bench: Any, room: int, phase: str, words: str) -> None:
    # A limit on the size of files, which the supervisor inherits, stands for the disk.
    engine = bench.engine()
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from npac.engines.local.engine import LocalEngine\n"
        "from npac.launch.ports import EngineError\n"
        "engine = LocalEngine(Path(sys.argv[1]))\n"
        "room = int(sys.argv[2])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))\n"
        "try:\n"
        "    engine.launch([{'name': 'w', 'run': 'true # ' + 'x' * 100_000}], 'job', 'l', {})\n"
        "except EngineError as error:\n"
        "    print(error.phase, error, error.remedy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, engine.root, str(room)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert re.match(f"{phase} .*{words}", done.stdout), done.stdout
    assert list(engine.jobs()) == []
    assert os.listdir(Path(engine.root, "jobs")) == []


def test_a_job_that_fills_the_disk_is_recorded_once_there_is_room(bench: Any, small_disk: Path) -> None:
    bench.folder = small_disk
    engine = bench.engine()
    job = bench.launch(engine, bench.task("cat /dev/zero > filler; exit 6"))
    filler = Path(engine.root, "jobs", job, "0", "0", "filler")
    log = Path(engine.root, "jobs", job, "supervisor.log")
    supervisor = bench.supervisor(engine, job)
    bench.wait_until(lambda: filler.exists() and bench.living(engine, job) == [], "the end of the task")
    # The disk may have been full before it could be said that the job runs; that it ended cannot be.
    assert bench.row(engine, job).status in ("STARTING", "RUNNING")
    assert Path("/proc", str(supervisor)).exists()
    filler.unlink()
    row = bench.finish(engine, job)
    assert (row.status, row.reason) == ("FAILED", "run exited with code 6")
    assert log.exists()
    bench.close()
    bench.engines.clear()


def test_no_process_for_the_supervisor_is_said(bench: Any) -> None:
    engine = bench.engine()
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from npac.engines.local.engine import LocalEngine\n"
        "from npac.launch.ports import EngineError\n"
        "engine = LocalEngine(Path(sys.argv[1]))\n"
        "sys.executable = '/nonexistent/python'\n"
        "try:\n"
        "    engine.launch([{'name': 'w', 'run': 'true'}], 'job', 'l', {})\n"
        "except EngineError as error:\n"
        "    print(error.phase, error, error.remedy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, engine.root], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("never-sent Not launched: no process could be started")
    assert list(engine.jobs()) == []


def test_a_supervisor_that_cannot_live_is_said(bench: Any, monkeypatch: Any) -> None:
    # An interpreter that ends before it has read the job.
    engine = bench.engine()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(EngineError, match="ended before it took the job") as caught:
        engine.launch([bench.task("true")], "job", "l", {})
    assert caught.value.phase == "never-sent"
    monkeypatch.undo()
    job = engine.launch([bench.task("true")], "job", "l", {}).job_id
    assert bench.finish(engine, job).status == "SUCCEEDED"


def test_no_process_for_a_task_is_a_failure_of_the_controller(bench: Any) -> None:
    # Its log cannot be opened when its turn comes: the path that a failing fork takes, too.
    engine = bench.engine(slots=1)
    gate = bench.launch(engine, bench.task("sleep 600"))
    job = bench.launch(engine, bench.task("true"))
    log = Path(engine.root, "jobs", job, "0", "0.log")
    log.mkdir()
    engine.cancel(gate)
    row = bench.finish(engine, job)
    assert row.status == "FAILED_CONTROLLER"
    assert row.reason == "a process could not be started for run: Is a directory"
    log.rmdir()
