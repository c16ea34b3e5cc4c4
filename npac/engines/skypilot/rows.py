"""SkyPilot's rows, one for each task, as jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from npac.launch import ports
from npac.launch.ports import JobRow, TaskRow

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""What SkyPilot makes its words bold and red with."""

_STATES = {
    "SUBMITTED": ports.STARTING,  # of old versions
    "WINDING_DOWN": ports.RUNNING,
}
_LIVELIEST = (ports.CANCELLING, ports.RECOVERING, ports.RUNNING, ports.STARTING)
"""What a job with tasks in several states is doing, the first that applies."""
_NO_SCHEDULE = (None, "", "INACTIVE", "INVALID")
_TIMES = ("submitted_at", "start_at", "end_at", "controller_pid")
_EXIT = re.compile(r"\AJob exited with exit codes? (?:\d{1,3}\b|\[\d{1,3}(?:, \d{1,3})*\])")


def jobs_of(rows: Sequence[Mapping[str, Any]]) -> list[JobRow]:
    """Give the jobs of reduced rows (see :func:`npac.engines.skypilot.bridge.reduced_row`), by their ids."""
    ordered = sorted(rows, key=lambda row: (row["job_id"], row["task_id"] or 0))
    return [_job(job_id, list(each)) for job_id, each in groupby(ordered, key=lambda row: int(row["job_id"]))]


def _job(job_id: int, rows: Sequence[Mapping[str, Any]]) -> JobRow:
    tasks = tuple(_task(row) for row in rows)
    status = fold([task.status for task in tasks])
    ids = {row["launch_id"] for row in rows}
    posts = {row["post"] for row in rows}
    ends = [row["end_at"] for row in rows]
    starts = [row["start_at"] for row in rows if row["start_at"]]
    return JobRow(
        id=str(job_id),
        name=str(rows[0]["job_name"] or ""),
        launch_id=ids.pop() if len(ids) == 1 else "",
        status=status,
        # SkyPilot sets this when a job leaves PENDING, so it is no part of what a job is.
        submitted_at=0.0,
        started_at=min(starts) if starts else None,
        ended_at=max(ends) if status in ports.TERMINAL and all(ends) else None,
        reason=_reason(rows, tasks),
        tasks=tasks,
        post=posts.pop() if len(posts) == 1 else 0,
        lively=any(_alive(row) for row in rows),
    )


def _task(row: Mapping[str, Any]) -> TaskRow:
    status = _STATES.get(row["status"], row["status"])
    return TaskRow(str(row.get("own_name") or row["task_name"] or ""), status, _exit_code(row, status))


def fold(states: Sequence[str]) -> str:
    """Give a job's state from its tasks': over when all of them are.

    A task that failed decides over those that were cancelled because of it.
    """
    if all(state in ports.TERMINAL for state in states):
        failed = [state for state in states if state not in (ports.SUCCEEDED, ports.CANCELLED)]
        if failed:
            return failed[0]
        return ports.CANCELLED if ports.CANCELLED in states else ports.SUCCEEDED
    for state in _LIVELIEST:
        if state in states:
            return state
    others = [state for state in states if state not in ports.TERMINAL and state != ports.PENDING]
    if others:  # a state that is not known here: not over, whatever it is
        return others[0]
    return ports.PENDING if len(set(states)) == 1 else ports.RUNNING


def _alive(row: Mapping[str, Any]) -> bool:
    """Say whether anything has happened to a task since its row was made."""
    return (
        row["status"] != ports.PENDING
        or row["schedule_state"] not in _NO_SCHEDULE
        or any(row[name] for name in _TIMES)
        or (row["last_recovered_at"] or 0) > 0
    )


def _reason(rows: Sequence[Mapping[str, Any]], tasks: Sequence[TaskRow]) -> str:
    said = {}
    for row, task in zip(rows, tasks, strict=True):
        text = " ".join(COLOUR.sub("", str(row["failure_reason"] or row["details"] or "")).split())
        if text and task.status != ports.SUCCEEDED:
            said[task.name] = text
    if len(tasks) == 1:
        return next(iter(said.values()), "")
    return "; ".join(f"task {name}: {text}" for name, text in said.items())


def _exit_code(row: Mapping[str, Any], status: str) -> int | None:
    """Give the exit code of a task whose run script failed, which SkyPilot tells in words only."""
    if status == ports.SUCCEEDED:
        return 0
    found = _EXIT.search(str(row["failure_reason"] or "")) if status == ports.FAILED else None
    if found is None:
        return None
    codes = {int(code) for code in re.findall(r"\d+", found[0])} - {0}
    return codes.pop() if len(codes) == 1 else None
