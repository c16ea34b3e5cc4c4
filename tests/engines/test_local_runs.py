"""Jobs that run to their own end: environment, failures, nodes, groups."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest


def test_success_with_environment_and_output(bench: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("DRIVER_TOKEN", "leak")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "leak")
    monkeypatch.setenv("NPA_PRIVATE", "leak")
    monkeypatch.setenv("SKYPILOT_NODE_RANK", "9")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    out = tmp_path / "out"
    engine = bench.engine()
    before = time.time()
    task = bench.task(
        f'env > {out}; echo to-stdout; echo to-stderr >&2; test "$(cat)" = ""',
        setup="echo made > made; touch setup-ran",
        envs={"TEXT": "a b\n'c'", "NUMBER": 3, "REAL": 0.5},
    )
    job = bench.launch(engine, task, launch_id="l-1", secrets={"KEY": "s3cret"})
    row = bench.finish(engine, job)
    assert (row.status, row.reason, row.name, row.launch_id) == ("SUCCEEDED", "", "job", "l-1")
    assert [(one.name, one.status, one.exit_code) for one in row.tasks] == [("work", "SUCCEEDED", 0)]
    assert before <= row.submitted_at <= row.started_at <= row.ended_at <= time.time()
    env = out.read_text()
    lines = set(env.splitlines())
    assert {
        "NUMBER=3",
        "REAL=0.5",
        "TEXT=a b",
        "'c'",
        "KEY=s3cret",
        "SKYPILOT_NODE_RANK=0",
        "SKYPILOT_NUM_NODES=1",
        "SKYPILOT_NODE_IPS=127.0.0.1",
        f"SKYPILOT_MANAGED_JOB_ID={job}",
        "NPA_WORKFLOW_ATTEMPT_ID=l-1",
        "AWS_ENDPOINT_URL=http://127.0.0.1:9",
        f"PATH={os.environ['PATH']}",
    } <= lines
    assert "leak" not in env
    assert "SKYPILOT_TASK_ID=sky-managed-" in env
    assert sorted(bench.log(engine, job).splitlines()) == ["to-stderr", "to-stdout"]
    work = Path(engine.root, "jobs", job, "0", "0")
    assert (work / "made").read_text() == "made\n"


def test_setup_knows_its_rank_by_the_name_that_skypilot_uses(bench: Any) -> None:
    engine = bench.engine()
    task = bench.task("env | grep RANK", setup="env | grep RANK")
    job = bench.launch(engine, task)
    assert bench.finish(engine, job).status == "SUCCEEDED"
    assert bench.log(engine, job) == "SKYPILOT_SETUP_NODE_RANK=0\nSKYPILOT_NODE_RANK=0\n"


def test_what_a_task_writes_has_the_users_own_mode(bench: Any, tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        engine = bench.engine()
        job = bench.launch(engine, bench.task(f"echo x > {tmp_path}/made"))
    finally:
        os.umask(old)
    assert bench.finish(engine, job).status == "SUCCEEDED"
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("task", "status", "code", "reason"),
    [
        ({"run": "exit 7"}, "FAILED", 7, "run exited with code 7"),
        ({"run": "kill -9 $$"}, "FAILED", 137, "run was ended by signal 9 (SIGKILL)"),
        ({"run": "touch ran", "setup": "exit 3"}, "FAILED_SETUP", 3, "setup exited with code 3"),
        ({"run": None}, "SUCCEEDED", 0, ""),
        ({"run": None, "setup": "true"}, "SUCCEEDED", 0, ""),
    ],
)
def test_how_a_task_ends(bench: Any, task: dict[str, Any], status: str, code: int, reason: str) -> None:
    engine = bench.engine()
    job = bench.launch(engine, {"name": "work", **task})
    row = bench.finish(engine, job)
    assert (row.status, row.reason) == (status, reason)
    assert (row.tasks[0].status, row.tasks[0].exit_code) == (status, code)
    assert not Path(engine.root, "jobs", job, "0", "0", "ran").exists()


def test_a_group_runs_its_members_at_the_same_time(bench: Any, tmp_path: Path) -> None:
    # Each member ends only once it has seen the other one running.
    engine = bench.engine(slots=1)
    meet = (
        "touch {0}/{1}; while [ ! -e {0}/{2} ]; do sleep 0.02; done; echo met; echo $SKYPILOT_JOBGROUP_NAME"
    )
    job = bench.launch(
        engine,
        {"name": "pair", "execution": "parallel"},
        {"name": "a", "run": meet.format(tmp_path, "a", "b")},
        {"name": "b", "run": meet.format(tmp_path, "b", "a")},
    )
    row = bench.finish(engine, job)
    assert row.status == "SUCCEEDED"
    assert [(one.name, one.status) for one in row.tasks] == [("a", "SUCCEEDED"), ("b", "SUCCEEDED")]
    assert bench.log(engine, job) == "".join(
        f"({name} rank=0) {line}\n" for name in "ab" for line in ("met", "pair")
    )
    assert bench.log(engine, job, task="b") == "met\npair\n"


def test_a_failed_member_leaves_the_others_to_their_end(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    go = tmp_path / "go"
    job = bench.launch(
        engine,
        {"name": "pair", "execution": "parallel"},
        {"name": "bad", "run": "exit 4"},
        {"name": "good", "run": f"while [ ! -e {go} ]; do sleep 0.02; done; echo done > {tmp_path}/done"},
    )
    bench.wait_until(lambda: bench.row(engine, job).tasks[0].status == "FAILED", "the failure of one member")
    assert bench.row(engine, job).status == "RUNNING"
    go.touch()
    row = bench.finish(engine, job)
    assert (row.status, row.reason) == ("FAILED", "task bad: run exited with code 4")
    assert [(one.status, one.exit_code) for one in row.tasks] == [("FAILED", 4), ("SUCCEEDED", 0)]
    assert (tmp_path / "done").exists()


def test_nodes_have_ranks_and_places_of_their_own(bench: Any) -> None:
    engine = bench.engine()
    script = 'echo "$SKYPILOT_NODE_RANK/$SKYPILOT_NUM_NODES" > mine; echo "$SKYPILOT_NODE_IPS" | wc -l; ls'
    job = bench.launch(engine, bench.task(script, num_nodes=3))
    assert bench.finish(engine, job).status == "SUCCEEDED"
    for rank in range(3):
        assert Path(engine.root, "jobs", job, "0", str(rank), "mine").read_text() == f"{rank}/3\n"
    assert bench.log(engine, job) == "".join(
        f"(work rank={rank}) {line}\n" for rank in range(3) for line in ("3", "mine")
    )


def test_setup_leaves_things_for_run_in_a_folder_of_the_node(bench: Any) -> None:
    engine = bench.engine()
    tasks = [
        {
            "name": name,
            "num_nodes": 2,
            "setup": f'echo "{name} $SKYPILOT_SETUP_NODE_RANK" >"$NPA_TASK_STATE/who"',
            "run": 'cat "$NPA_TASK_STATE/who"; stat -c %a "$NPA_TASK_STATE"',
        }
        for name in ("one", "two")
    ]
    job = bench.launch(engine, {"name": "pair", "execution": "parallel"}, *tasks)
    assert bench.finish(engine, job).status == "SUCCEEDED"
    for number, name in enumerate(("one", "two")):
        folder = Path(engine.root, "jobs", job, str(number))
        assert [(folder / f"{rank}.log").read_text() for rank in (0, 1)] == [
            f"{name} 0\n700\n",
            f"{name} 1\n700\n",
        ]
        assert [(folder / f"{rank}.state" / "who").read_text() for rank in (0, 1)] == [
            f"{name} 0\n",
            f"{name} 1\n",
        ]
        # What setup leaves is no part of the place where the task works.
        assert list((folder / "0").iterdir()) == []


def test_run_waits_for_setup_on_all_nodes(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    setup = f"[ $SKYPILOT_SETUP_NODE_RANK = 0 ] || sleep 0.3; touch {tmp_path}/$SKYPILOT_SETUP_NODE_RANK"
    job = bench.launch(
        engine, bench.task(f"test -e {tmp_path}/0 && test -e {tmp_path}/1", setup=setup, num_nodes=2)
    )
    assert bench.finish(engine, job).status == "SUCCEEDED"


def test_a_failed_node_ends_the_other_nodes_of_its_task(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(
        engine, bench.task("[ $SKYPILOT_NODE_RANK = 0 ] && exec sleep 600; exit 5", num_nodes=2)
    )
    row = bench.finish(engine, job)
    assert (row.status, row.reason) == ("FAILED", "run exited with code 5 on rank 1")
    assert bench.living(engine, job) == []


def test_what_a_task_leaves_behind_is_ended_with_it(bench: Any, tmp_path: Path) -> None:
    # In the background, in a session of its own, and without its environment.
    engine = bench.engine()
    script = f"setsid env -i sleep 600 & echo $! > {tmp_path}/pid; sleep 600 & disown; exit 0"
    job = bench.launch(engine, bench.task(script))
    assert bench.finish(engine, job).status == "SUCCEEDED"
    assert bench.living(engine, job) == []
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_thirty_jobs_at_once_all_finish_in_turn(bench: Any) -> None:
    engine = bench.engine(slots=4)
    jobs = [bench.launch(engine, bench.task(f"echo {number}")) for number in range(30)]
    assert jobs == [str(number) for number in range(1, 31)]
    bench.wait_until(lambda: all(row.terminal for row in engine.jobs()), "the end of 30 jobs", seconds=60)
    rows = engine.jobs()
    assert {row.status for row in rows} == {"SUCCEEDED"}
    assert [bench.log(engine, job) for job in jobs] == [f"{number}\n" for number in range(30)]


def test_a_trivial_job_takes_a_fraction_of_a_second(bench: Any) -> None:
    engine = bench.engine()
    best = 9.9
    for _ in range(5):
        before = time.monotonic()
        job = bench.launch(engine, bench.task("echo"))
        bench.finish(engine, job)
        best = min(best, time.monotonic() - before)
    assert best < 0.5
