"""Rows as a real SkyPilot 0.14.1 gave them, and the jobs that they are."""

from __future__ import annotations

from typing import Any

import pytest

from npac.engines.skypilot.bridge import Trouble, complaint, hidden, marks, reduced_row, requests_of, rows_of
from npac.engines.skypilot.rows import fold, jobs_of
from npac.launch import ports

LAUNCH = "npa-launch-" + "9" * 32
YAML = (
    "name: try-a\n---\n\nname: a\n\nrun: echo hi; exit 7\n\nresources:\n  infra: slurm\n  cpus: 1\n\nenvs:\n"
    "  NPA_WORKFLOW_ATTEMPT_ID: npa-launch-1\n  NPA_LAUNCH_POST: '1'\n"
)


def row(**more: Any) -> dict[str, Any]:
    """Give the row of a task that has begun to start."""
    return {
        "job_id": 1,
        "task_id": 0,
        "job_name": "try-a",
        "task_name": "try-a",
        "status": "STARTING",
        "schedule_state": "LAUNCHING",
        "submitted_at": 1795990735.552963,
        "start_at": None,
        "end_at": None,
        "last_recovered_at": -1.0,
        "controller_pid": 10772,
        "failure_reason": None,
        "details": "Launching (nodes allocated; Slurm job 2 on localsky)",
        "user_hash": "fcd1e5cf",
        "execution": "serial",
        "launch_id": "npa-launch-1",
        "post": 1,
        "own_name": "a",
        **more,
    }


NEWBORN = {
    "status": "PENDING",
    "schedule_state": "INACTIVE",
    "submitted_at": None,
    "controller_pid": None,
    "details": "Job submitted to queue",
    "launch_id": "",
    "post": 0,
    "own_name": "",
}
WAITING = {**NEWBORN, "schedule_state": "WAITING", "details": "Waiting for other jobs to launch"}
FAILED = {
    "status": "FAILED",
    "schedule_state": "DONE",
    "start_at": 1795990784.4874651,
    "end_at": 1795990806.4686675,
    "last_recovered_at": 1795990784.4874651,
    "failure_reason": "Job exited with exit code 7 (user program failure). To see the details, run: …",
    "details": "Failure: Job exited with exit code 7 (user program failure). To see the details, run: …",
}


def job(*rows: dict[str, Any]) -> ports.JobRow:
    (found,) = jobs_of(rows)
    return found


def test_a_job_that_starts() -> None:
    found = job(row())
    assert (found.id, found.name, found.launch_id, found.post) == ("1", "try-a", "npa-launch-1", 1)
    assert (found.status, found.lively, found.terminal) == (ports.STARTING, True, False)
    assert found.reason.startswith("Launching")
    assert [each.name for each in found.tasks] == ["a"]
    assert (found.started_at, found.ended_at) == (None, None)


def test_a_job_is_the_same_job_before_and_after_it_starts() -> None:
    before, after = job(row(**WAITING)), job(row())
    assert before.status == ports.PENDING
    assert before.submitted_at == after.submitted_at


def test_a_row_without_any_sign_of_life() -> None:
    assert not job(row(**NEWBORN)).lively
    assert job(row(**WAITING)).lively
    for sign in ({"controller_pid": 7}, {"submitted_at": 5.0}, {"start_at": 5.0}, {"status": "CANCELLING"}):
        assert job(row(**{**NEWBORN, **sign})).lively
    for nothing in ({"schedule_state": None}, {"submitted_at": 0.0, "last_recovered_at": None}):
        assert not job(row(**{**NEWBORN, **nothing})).lively


def test_a_job_that_failed() -> None:
    found = job(row(**FAILED))
    assert (found.status, found.tasks[0].exit_code) == (ports.FAILED, 7)
    assert found.reason.startswith("Job exited with exit code 7")
    assert (found.started_at, found.ended_at) == (1795990784.4874651, 1795990806.4686675)


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        ("FAILED", "Job exited with exit codes [0, 75] (user program failure).", 75),
        ("FAILED", "Job exited with exit codes [1, 75] (user program failure).", None),
        ("FAILED", "The job driver on the remote cluster failed.", None),
        ("FAILED", "user said: Job exited with exit code 3", None),
        ("FAILED_SETUP", "Job exited with exit code 3 (user program failure).", None),
        ("SUCCEEDED", None, 0),
        ("CANCELLED", None, None),
    ],
)
def test_an_exit_code_is_told_in_words_only(status: str, reason: str | None, code: int | None) -> None:
    assert job(row(**{**FAILED, "status": status, "failure_reason": reason})).tasks[0].exit_code == code


def test_a_reason_is_plain_text() -> None:
    said = "Catalog does not contain any. Hint: \x1b[1msky gpus list\x1b[0m\n  to list"
    found = job(row(status="FAILED_PRECHECKS", failure_reason=said))
    assert found.reason == "Catalog does not contain any. Hint: sky gpus list to list"


def test_a_group_is_one_job_with_its_tasks_in_order() -> None:
    group = {"job_id": 3, "job_name": "grp", "execution": "parallel", "launch_id": LAUNCH}
    two = row(**{**group, **FAILED, "task_id": 1, "task_name": "two", "own_name": "two"})
    one = row(**{**group, "task_id": 0, "task_name": "one", "own_name": "one", "status": "RUNNING"})
    both = jobs_of([two, row(), one])
    assert [each.id for each in both] == ["1", "3"]
    found = both[1]
    assert [(each.name, each.status) for each in found.tasks] == [("one", "RUNNING"), ("two", "FAILED")]
    assert (found.status, found.ended_at) == (ports.RUNNING, None)
    assert found.reason.startswith("task one: Launching")
    assert "task two: Job exited with exit code 7" in found.reason


def test_tasks_that_do_not_agree_tell_no_launch() -> None:
    found = job(row(), row(task_id=1, launch_id=LAUNCH, post=2))
    assert (found.launch_id, found.post) == ("", 0)


@pytest.mark.parametrize(
    ("states", "whole"),
    [
        (["SUCCEEDED", "SUCCEEDED"], ports.SUCCEEDED),
        (["SUCCEEDED", "CANCELLED"], ports.CANCELLED),
        (["CANCELLED", "FAILED_SETUP"], ports.FAILED_SETUP),
        (["FAILED", "FAILED_NO_RESOURCE"], ports.FAILED),
        (["FAILED", "RUNNING"], ports.RUNNING),
        (["FAILED", "CANCELLING"], ports.CANCELLING),
        (["SUCCEEDED", "PENDING"], ports.RUNNING),
        (["PENDING", "PENDING"], ports.PENDING),
        (["STARTING", "PENDING"], ports.STARTING),
        (["RECOVERING", "RUNNING"], ports.RECOVERING),
        (["SUCCEEDED", "SOMETHING_NEW"], "SOMETHING_NEW"),
    ],
)
def test_the_state_of_a_job_with_several_tasks(states: list[str], whole: str) -> None:
    assert fold(states) == whole


def test_old_and_rare_states_have_a_meaning() -> None:
    assert job(row(status="SUBMITTED")).status == ports.STARTING
    assert job(row(status="WINDING_DOWN")).status == ports.RUNNING
    assert not job(row(status="SOMETHING_NEW")).terminal


# --- what the bridge passes on -------------------------------------------------------------------


def test_marks_of_a_job() -> None:
    assert marks(YAML) == ("npa-launch-1", 1, ["a"])
    assert marks(YAML.replace("NPA_LAUNCH_POST: '1'", "NPA_LAUNCH_POST: 2")) == ("npa-launch-1", 2, ["a"])
    assert marks(YAML.replace("'1'", "'x'")) == ("npa-launch-1", 0, ["a"])
    two = YAML + "---\nname: b\nenvs:\n  NPA_WORKFLOW_ATTEMPT_ID: npa-launch-1\n  NPA_LAUNCH_POST: '1'\n"
    assert marks(two) == ("npa-launch-1", 1, ["a", "b"])


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        3,
        "name: x\n",
        "envs: {NPA_WORKFLOW_ATTEMPT_ID: [",
        "# NPA_WORKFLOW_ATTEMPT_ID\nenvs: NPA\n",
        "run: echo NPA_WORKFLOW_ATTEMPT_ID\nenvs: {}\n",
        "envs: {NPA_WORKFLOW_ATTEMPT_ID: a}\n---\nenvs: {NPA_WORKFLOW_ATTEMPT_ID: b}\n",
        "envs: {NPA_WORKFLOW_ATTEMPT_ID: a}\n---\nenvs: {}\n",
    ],
)
def test_yaml_that_tells_no_launch(text: Any) -> None:
    assert marks(text)[:2] == ("", 0)


def test_a_tasks_yaml_goes_no_further_than_the_bridge() -> None:
    reduced = reduced_row({**row(), "user_yaml": YAML + "secrets:\n  TOKEN: hush\n", "launch_id": "forged"})
    assert "hush" not in repr(reduced)
    assert (reduced["launch_id"], reduced["post"], reduced["own_name"]) == ("npa-launch-1", 1, "a")


def test_a_row_without_yaml_is_known_by_the_command_that_it_comes_from() -> None:
    newborn = {**row(**NEWBORN), "user_yaml": None, "entrypoint": f"npac launch {LAUNCH} post 2"}
    reduced = reduced_row(newborn)
    assert (reduced["launch_id"], reduced["post"]) == (LAUNCH, 2)
    found = job(reduced)
    assert (found.launch_id, found.post, found.lively) == (LAUNCH, 2, False)
    for other in (None, "npac", f"sky jobs launch {LAUNCH} post 2", f"npac launch {LAUNCH} post 2 more"):
        reduced = reduced_row({**newborn, "entrypoint": other})
        assert (reduced["launch_id"], reduced["post"]) == ("", 0)
    # The YAML of the tasks decides where there is one.
    assert reduced_row({**newborn, "user_yaml": YAML})["launch_id"] == "npa-launch-1"
    assert reduced_row({**newborn, "user_yaml": "name: x\n"})["launch_id"] == ""


def test_only_own_rows_count() -> None:
    rows = [{**row(), "user_hash": user} for user in ("me", "you", None)]
    assert [each["user_hash"] for each in rows_of({"jobs": rows, "total": 3}, "me")] == ["me"]
    assert rows_of([], "me") == []  # an old server gives the bare list
    with pytest.raises(Trouble, match="a part"):
        rows_of({"jobs": rows, "total": 4}, "me")


@pytest.mark.parametrize("value", [None, {}, [3], [{"name": "sky.jobs.launch"}]])
def test_a_list_of_requests_of_another_shape(value: Any) -> None:
    with pytest.raises(Trouble, match="list of requests"):
        requests_of(value, "me")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"detail": "no"}, "no"),
        (
            {"detail": [{"loc": ["body", "task"], "msg": "Field required", "input": "hush"}]},
            "body.task: Field required",
        ),
        ({"detail": {"type": "ValueError", "message": "bad", "args": ["hush"]}}, "bad"),
        ({"detail": ["hush"]}, ""),
        ({"error": "version_mismatch", "message": "too old"}, "too old"),
        ({"message": "of some proxy"}, ""),
        ("<html>", ""),
        (None, ""),
    ],
)
def test_what_a_refusal_says(data: Any, said: str) -> None:
    assert complaint(data) == said


def test_hiding_begins_with_the_longest() -> None:
    assert hidden("ab abc", ["ab", "abc", ""]) == "*** ***"
