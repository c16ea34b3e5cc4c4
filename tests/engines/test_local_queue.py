"""One job for each launch id, turns in order, slots, and a folder that is safe to share."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from npac.engines.local.engine import LocalEngine
from npac.launch.ports import EngineError


def test_a_second_launch_with_one_id_gives_the_first_job(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    task = bench.task(f"echo x >> {tmp_path}/count")
    first = engine.launch([task], "job", "one", {})
    again = engine.launch([bench.task("echo other")], "other", "one", {})
    assert first == again
    bench.finish(engine, first.job_id)
    assert engine.launch([task], "job", "one", {}) == first
    assert (tmp_path / "count").read_text() == "x\n"
    assert len(engine.jobs()) == 1


def test_two_processes_race_with_one_launch_id(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from npac.engines.local.engine import LocalEngine\n"
        "engine = LocalEngine(Path(sys.argv[1]))\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "run = 'echo x >> ' + sys.argv[2]\n"
        "for n in range(8):\n"
        "    print(engine.launch([{'name': 'w', 'run': run + str(n)}], 'job', f'l{n}', {}).job_id)\n"
    )
    command = [sys.executable, "-c", script, engine.root, str(tmp_path / "count")]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    outputs = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        outputs.append(racer.communicate(timeout=60)[0])
        assert racer.returncode == 0
    assert outputs[0] == outputs[1]
    jobs = outputs[0].split()
    assert len(set(jobs)) == 8
    for job in jobs:
        assert bench.finish(engine, job).status == "SUCCEEDED"
    assert sorted(row.launch_id for row in engine.jobs()) == [f"l{number}" for number in range(8)]
    for number in range(8):
        assert Path(f"{tmp_path}/count{number}").read_text() == "x\n"
    assert sorted(os.listdir(Path(engine.root, "jobs"))) == sorted(jobs)


def test_threads_of_one_engine_race_with_one_launch_id(bench: Any) -> None:
    engine = bench.engine()
    found: list[str] = []

    def launch() -> None:
        found.append(engine.launch([bench.task("true")], "job", "same", {}).job_id)

    threads = [threading.Thread(target=launch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == ["1"] * 4
    assert len(engine.jobs()) == 1


def test_one_slot_keeps_the_order_of_submission(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine(slots=1)
    gate = bench.launch(engine, bench.task(f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"))
    jobs = [bench.launch(engine, bench.task(f"echo {number} >> {tmp_path}/order")) for number in range(6)]
    bench.wait_status(engine, gate, "RUNNING")
    assert {bench.row(engine, job).status for job in jobs} == {"PENDING"}
    (tmp_path / "go").touch()
    rows = [bench.finish(engine, job) for job in jobs]
    assert (tmp_path / "order").read_text() == "".join(f"{number}\n" for number in range(6))
    ends = [bench.row(engine, gate).ended_at, *(row.ended_at for row in rows)]
    assert all(row.started_at >= end for row, end in zip(rows, ends, strict=False))


def test_a_group_larger_than_the_slots_starts_when_it_has_all_of_them(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine(slots=2)
    small = bench.launch(engine, bench.task(f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"))
    bench.wait_status(engine, small, "RUNNING")
    head = {"name": "g", "execution": "parallel"}
    large = bench.launch(engine, head, *({"name": f"m{number}", "run": "true"} for number in range(3)))
    after = bench.launch(engine, bench.task("true"))
    assert bench.row(engine, large).status == "PENDING"
    assert bench.row(engine, after).status == "PENDING"
    (tmp_path / "go").touch()
    ended = bench.finish(engine, small).ended_at
    assert bench.finish(engine, large).started_at >= ended
    assert bench.finish(engine, after).started_at >= bench.row(engine, large).ended_at


def test_more_slots_let_waiting_jobs_start(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine(slots=1)
    first = bench.launch(engine, bench.task(f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"))
    second = bench.launch(engine, bench.task(f"touch {tmp_path}/go"))
    bench.wait_status(engine, first, "RUNNING")
    assert bench.row(engine, second).status == "PENDING"
    assert bench.engine(slots=None).capabilities().limits["slots"] == 1
    bench.engine(slots=2)
    assert bench.finish(engine, second).status == "SUCCEEDED"
    assert bench.finish(engine, first).status == "SUCCEEDED"


def test_the_folder_is_the_owners_alone_and_its_identity_stays(bench: Any) -> None:
    old = os.umask(0)
    try:
        engine = bench.engine()
        job = bench.launch(engine, bench.task("true", setup="true"))
        bench.finish(engine, job)
        again = bench.engine()
    finally:
        os.umask(old)
    assert engine.capabilities().instance == again.capabilities().instance
    assert len(engine.capabilities().instance) == 32
    assert bench.engine("other").capabilities().instance != engine.capabilities().instance
    for folder, _, files in os.walk(engine.root):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        for file in files:
            mode = stat.S_IMODE(os.stat(os.path.join(folder, file)).st_mode)
            assert mode == 0o600, file


def test_engines_made_at_once_agree_on_the_identity(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom npac.engines.local.engine import LocalEngine\n"
        "print(LocalEngine(Path(sys.argv[1])).capabilities().instance)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "deep" / "er")]
    makers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    found = {maker.communicate(timeout=60)[0] for maker in makers}
    assert [maker.returncode for maker in makers] == [0, 0, 0]
    assert len(found) == 1


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").write_text("")
    for name, words in [
        ("link", "symbolic link"),
        ("file", "not a folder"),
        ("file/below", "Not a directory"),
    ]:
        with pytest.raises(EngineError, match=words) as caught:
            LocalEngine(tmp_path / name)
        assert caught.value.phase == "rejected"
        assert caught.value.remedy
    assert list((tmp_path / "real").iterdir()) == []


def test_a_queue_that_is_gone_or_broken_is_an_error_not_an_empty_list(bench: Any, tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path / "gone")
    for file in Path(engine.root).glob("queue.sqlite*"):
        file.unlink()
    with pytest.raises(EngineError, match=r"queue in .* did not answer"):
        engine.jobs()
    assert not Path(engine.root, "queue.sqlite").exists()
    broken = LocalEngine(tmp_path / "broken")
    Path(broken.root, "queue.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(EngineError, match="not a database"):
        broken.job("1")
