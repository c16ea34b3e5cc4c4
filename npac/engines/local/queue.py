"""The queue of jobs: one SQLite file that all readers and supervisors share.

Job rows are written with ``synchronous=FULL``: what a method here returns from is on disk.  Every
change of a status is guarded by the status it comes from, so no writer can undo another's.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time

from npac.engines.local.states import (
    CANCELLED,
    CANCELLING,
    HOLDING,
    PENDING,
    RUNNING,
    STARTING,
    TERMINAL,
    Outcome,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Any

VERSION = 1
FILE = "queue.sqlite"
PATIENCE = 20.0
"""Seconds to wait for other writers."""
_LEAST_ROOM = 64 * 1024
"""Bytes that SQLite needs beside the queue before it can write anything."""

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    launch_id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    need INTEGER NOT NULL,
    submitted_at REAL NOT NULL,
    started_at REAL,
    ended_at REAL,
    pid INTEGER NOT NULL,
    pid_start INTEGER NOT NULL,
    boot TEXT NOT NULL
);
CREATE INDEX job_live ON job (id) WHERE ended_at IS NULL;
CREATE TABLE task (
    job INTEGER NOT NULL REFERENCES job (id),
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    nodes INTEGER NOT NULL,
    status TEXT NOT NULL,
    exit_code INTEGER,
    PRIMARY KEY (job, number)
) WITHOUT ROWID;
"""

_JOB = "id, launch_id, name, status, reason, need, submitted_at, started_at, ended_at, pid, pid_start, boot"


def damage(error: BaseException) -> str:
    """Say what is wrong with the file itself, in one clause; empty when the fault is not the file's.

    What is locked, full, not there or not allowed is no damage.
    """
    if not isinstance(error, sqlite3.DatabaseError):
        return ""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return str(error)
    said = str(error)
    return said if said.startswith(("no such table", "no such column", "malformed")) else ""


def trouble(error: BaseException, root: str) -> str:
    """Say what kept the queue from being used, in one clause.

    SQLite speaks of an I/O error where there was no room for the files beside its own.
    """
    said = str(error)
    if isinstance(error, sqlite3.Error) and "full" not in said and without_room(root):
        return f"{said}; {os.strerror(errno.ENOSPC)}"
    return said


def without_room(root: str) -> bool:
    """Say whether the disk of a folder is full; one that cannot be looked at is not."""
    try:
        disk = os.statvfs(root)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LEAST_ROOM or (disk.f_files > 0 and disk.f_favail == 0)


def rescue(root: str) -> str:
    """Say what to do about a damaged queue, and what is lost by it."""
    return (
        f"Put a good copy of {os.path.join(root, FILE)} back, or move it away together with {FILE}-wal and "
        f"{FILE}-shm: a new, empty queue is made then. Jobs that run now are ended by that, and what became "
        "of earlier jobs is no longer known, so unfinished runs cannot go on."
    )


class Job:
    """One row of the queue.  ``supervisor`` is (pid, start time in ticks, boot id)."""

    __slots__ = (
        "ended_at",
        "id",
        "launch_id",
        "name",
        "need",
        "reason",
        "started_at",
        "status",
        "submitted_at",
        "supervisor",
        "tasks",
    )

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.id: int = row[0]
        self.launch_id: str = row[1]
        self.name: str = row[2]
        self.status: str = row[3]
        self.reason: str = row[4]
        self.need: int = row[5]
        self.submitted_at: float = row[6]
        self.started_at: float | None = row[7]
        self.ended_at: float | None = row[8]
        self.supervisor: tuple[int, int, str] = (row[9], row[10], row[11])
        self.tasks: list[Task] = []

    @property
    def terminal(self) -> bool:
        """Say whether the status can no longer change."""
        return self.status in TERMINAL


class Task:
    """One task of a job, as the queue has it."""

    __slots__ = ("exit_code", "name", "nodes", "number", "status")

    def __init__(self, number: int, name: str, nodes: int, status: str, exit_code: int | None) -> None:
        self.number = number
        self.name = name
        self.nodes = nodes
        self.status = status
        self.exit_code = exit_code


class Queue:
    """An open queue.  Use it in the thread and process that opened it, as a context manager.

    All methods raise ``sqlite3.Error`` when the file cannot be read or written.
    """

    def __init__(self, root: str) -> None:
        path = os.path.join(root, FILE)
        quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        # mode=rw: a queue that is gone is an error, never an empty queue.
        self._sql = sqlite3.connect(
            f"file:{quoted}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None
        )
        self._sql.execute("PRAGMA synchronous=FULL")

    def set_patience(self, seconds: float) -> None:
        """Set how long to wait for other writers; :data:`PATIENCE` at first."""
        self._sql.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")

    def __enter__(self) -> Queue:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._sql.close()

    def begin(self) -> None:
        """Begin a write transaction; waits for other writers, as long as the patience lasts."""
        self._sql.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Make the transaction durable."""
        self._sql.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction, if one is open."""
        if self._sql.in_transaction:
            self._sql.execute("ROLLBACK")

    def prepare(self, slots: int) -> None:
        """Make the tables in a new file; raises ``ValueError`` for a file of another version."""
        self._sql.execute("PRAGMA journal_mode=WAL")
        self.begin()
        try:
            version = self._sql.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    self._sql.execute(statement)
                self._sql.execute("INSERT INTO meta VALUES ('slots', ?)", (str(slots),))
                self._sql.execute(f"PRAGMA user_version={VERSION}")
            elif version != VERSION:
                raise ValueError(f"it has version {version}, this program reads version {VERSION}")
            # Files of this version were made without it at first; whoever knows nothing of it keeps it right.
            self._sql.execute("CREATE INDEX IF NOT EXISTS job_name ON job (name)")
            self.commit()
        finally:
            self.rollback()

    def slots(self) -> int:
        """Give how many processes may run at once."""
        return int(self._sql.execute("SELECT value FROM meta WHERE key = 'slots'").fetchone()[0])

    def set_slots(self, slots: int) -> None:
        """Set how many processes may run at once; jobs that run already are left alone."""
        self._sql.execute("UPDATE meta SET value = ? WHERE key = 'slots' AND value <> ?", (str(slots),) * 2)

    def find_launch(self, launch_id: str) -> int | None:
        """Give the job that was made for a launch id."""
        row = self._sql.execute("SELECT id FROM job WHERE launch_id = ?", (launch_id,)).fetchone()
        return None if row is None else int(row[0])

    def insert(
        self,
        launch_id: str,
        name: str,
        tasks: list[tuple[str, int]],
        supervisor: tuple[int, int, str],
        now: float,
    ) -> int:
        """Add a PENDING job within the open transaction; ``tasks`` are (name, nodes).  Gives its id."""
        cursor = self._sql.execute(
            "INSERT INTO job (launch_id, name, status, need, submitted_at, pid, pid_start, boot)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (launch_id, name, PENDING, sum(nodes for _, nodes in tasks), now, *supervisor),
        )
        job = int(cursor.lastrowid or 0)
        self._sql.executemany(
            "INSERT INTO task (job, number, name, nodes, status) VALUES (?, ?, ?, ?, ?)",
            [(job, number, task, nodes, PENDING) for number, (task, nodes) in enumerate(tasks)],
        )
        return job

    def status(self, job: int) -> str:
        """Give the status of a job that exists."""
        return str(self._sql.execute("SELECT status FROM job WHERE id = ?", (job,)).fetchone()[0])

    def job(self, job: int) -> Job | None:
        """Give one job with its tasks."""
        found = self._read("WHERE id = ?", "WHERE job = ?", (job,))
        return found[0] if found else None

    def jobs(self) -> list[Job]:
        """Give all jobs with their tasks, in order of submission."""
        return self._read("", "", ())

    def jobs_of(self, launch_id: str, name: str) -> list[Job]:
        """Give the jobs that have this launch id or this name, with their tasks."""
        rows = self._sql.execute(
            "SELECT id FROM job WHERE launch_id = ? OR name = ? ORDER BY id", (launch_id, name)
        )
        return [found for row in rows.fetchall() if (found := self.job(row[0])) is not None]

    def live(self) -> list[Job]:
        """Give the jobs that have not ended, without their tasks, in order of submission."""
        rows = self._sql.execute(f"SELECT {_JOB} FROM job WHERE ended_at IS NULL ORDER BY id")
        return [Job(row) for row in rows]

    def _read(self, which: str, whose: str, values: tuple[int, ...]) -> list[Job]:
        self._sql.execute("BEGIN")
        try:
            jobs = [
                Job(row) for row in self._sql.execute(f"SELECT {_JOB} FROM job {which} ORDER BY id", values)
            ]
            by_id = {job.id: job for job in jobs}
            tasks = self._sql.execute(
                f"SELECT job, number, name, nodes, status, exit_code FROM task {whose} ORDER BY job, number",
                values,
            )
            for row in tasks:
                by_id[row[0]].tasks.append(Task(*row[1:]))
            return jobs
        finally:
            self._sql.execute("COMMIT")

    def try_start(self, job: int) -> tuple[str, list[Job]]:
        """Move a job from PENDING to STARTING if it is its turn.

        Turns come strictly in order of submission, and when the slots suffice.  Gives the job's
        status now, and, while it must wait, the jobs whose end it waits for.
        """
        status, ahead = self._turn(job)
        if status != PENDING or ahead:
            return status, ahead
        self.begin()
        try:
            status, ahead = self._turn(job)
            if status == PENDING and not ahead:
                self._sql.execute(
                    "UPDATE job SET status = ?, started_at = ? WHERE id = ?", (STARTING, time.time(), job)
                )
                self._sql.execute("UPDATE task SET status = ? WHERE job = ?", (STARTING, job))
                status = STARTING
            self.commit()
        finally:
            self.rollback()
        return status, ahead

    def _turn(self, job: int) -> tuple[str, list[Job]]:
        # Each waiter asks this every second, so it must not cost more where more wait.
        row = self._sql.execute("SELECT status, need FROM job WHERE id = ?", (job,)).fetchone()
        if row[0] != PENDING:
            return str(row[0]), []
        before = self._sql.execute(
            f"SELECT {_JOB} FROM job WHERE ended_at IS NULL AND status = ? AND id < ?"
            " ORDER BY id DESC LIMIT 1",
            (PENDING, job),
        ).fetchone()
        if before is not None:
            # Each waiter watches the one before it; only the first watches those that run.
            return PENDING, [Job(before)]
        slots = self.slots()
        holders = [one for one in self.live() if one.status in HOLDING]
        used = sum(min(one.need, slots) for one in holders)
        return PENDING, holders if used + min(row[1], slots) > slots else []

    def next_pending(self) -> int | None:
        """Give the job whose turn is next."""
        row = self._sql.execute(
            "SELECT id FROM job WHERE ended_at IS NULL AND status = ? ORDER BY id LIMIT 1", (PENDING,)
        ).fetchone()
        return None if row is None else int(row[0])

    def set_running(self, job: int, tasks: Iterable[int]) -> None:
        """Say that these tasks of a job run their ``run`` scripts now."""
        self.begin()
        try:
            self._sql.execute(
                "UPDATE job SET status = ? WHERE id = ? AND status = ?", (RUNNING, job, STARTING)
            )
            self._sql.executemany(
                "UPDATE task SET status = ? WHERE job = ? AND number = ? AND status = ?",
                [(RUNNING, job, number, STARTING) for number in tasks],
            )
            self.commit()
        finally:
            self.rollback()

    def request_cancel(self, job: int) -> str | None:
        """Move a job towards its end; gives the status it has now, None when it does not exist.

        A PENDING job is CANCELLED at once and can no longer start.
        """
        self.begin()
        try:
            row = self._sql.execute("SELECT status FROM job WHERE id = ?", (job,)).fetchone()
            status = None if row is None else str(row[0])
            if status == PENDING:
                status = CANCELLED
                self._end(job, status, "cancelled before it started", [])
                self._sql.execute("UPDATE task SET status = ? WHERE job = ?", (CANCELLED, job))
            elif status in (STARTING, RUNNING):
                status = CANCELLING
                self._sql.execute(
                    "UPDATE job SET status = ?, reason = 'cancel requested' WHERE id = ?", (status, job)
                )
            self.commit()
            return status
        finally:
            self.rollback()

    def finish_task(self, job: int, number: int, outcome: Outcome) -> None:
        """Record how one task of a job ended."""
        self._sql.execute(
            "UPDATE task SET status = ?, exit_code = ? WHERE job = ? AND number = ?",
            (outcome.status, outcome.exit_code, job, number),
        )

    def finish(self, job: int, status: str, reason: str, outcomes: list[Outcome]) -> None:
        """End a job that has not ended yet, with the outcomes of all its tasks."""
        self.begin()
        try:
            row = self._sql.execute("SELECT ended_at FROM job WHERE id = ?", (job,)).fetchone()
            if row is not None and row[0] is None:
                self._end(job, status, reason, outcomes)
            self.commit()
        finally:
            self.rollback()

    def note(self, job: int, reason: str) -> None:
        """Set the reason of a job that has not ended, leaving its status."""
        self._sql.execute("UPDATE job SET reason = ? WHERE id = ? AND ended_at IS NULL", (reason, job))

    def _end(self, job: int, status: str, reason: str, outcomes: list[Outcome]) -> None:
        self._sql.execute(
            "UPDATE job SET status = ?, reason = ?, ended_at = ? WHERE id = ?",
            (status, reason, time.time(), job),
        )
        for number, outcome in enumerate(outcomes):
            self.finish_task(job, number, outcome)
