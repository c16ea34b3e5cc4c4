"""The embedded engine as the launch layer sees it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from npac.engines.local import processes, supervisor
from npac.engines.local.documents import plan
from npac.engines.local.environment import base_environment
from npac.engines.local.folder import CANCEL, JobFolder
from npac.engines.local.log_files import LIMIT
from npac.engines.local.logs import Tail, follow, present
from npac.engines.local.queue import FILE, Job, Queue, damage, rescue, trouble
from npac.engines.local.reconcile import persevere, reconcile, wake_next
from npac.engines.local.state import open_state, read_instance
from npac.launch.ports import Capabilities, EngineError, JobRow, LaunchRequest, TaskRow

_ANSWER_WITHIN = 60.0
_OPTIONS = frozenset({"root", "slots", "pretend", "log_limit"})
_SMALLEST_LOG = 4096


class LocalEngine:
    """Runs jobs as processes of this machine (Linux).

    ``root`` is the engine's state folder, made when it is not there and kept owner-only.  ``slots``
    says how many processes may run at once; it is kept in the folder, the last one given counts,
    and a new folder has as many as the machine has processors.  Jobs start in order of submission;
    one that wants more slots than there are starts when it has them all.  ``pretend`` runs tasks
    that ask for images or accelerators as plain processes instead of refusing them.  ``log_limit``
    is how many bytes the log of one node may have; a larger one keeps its beginning and its end.

    Jobs need no process but their own: they go on when the process that launched them ends, and
    whoever reads the queue ends what a dead supervisor left.  Safe to use from several processes
    and threads at once.

    A job is over when its scripts are: whatever they left running is ended with them, local jobs
    that they launched too.  Working directories and logs stay in the state folder.
    """

    def __init__(
        self, root: Path, *, slots: int | None = None, pretend: bool = False, log_limit: int = LIMIT
    ) -> None:
        for option, value in (("slots", slots), ("log_limit", log_limit)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise EngineError(
                    f"The local engine's option {option!r} is {str(value)[:60]!r}, not a whole number.",
                    phase="rejected",
                    remedy="Give a whole number.",
                )
        if log_limit < _SMALLEST_LOG:
            raise EngineError(
                f"The local engine cannot keep logs within {log_limit} bytes.",
                phase="rejected",
                remedy=f"Give at least {_SMALLEST_LOG}.",
            )
        if slots is not None and slots < 1:
            raise EngineError(
                f"The local engine cannot run with {slots} slots.",
                phase="rejected",
                remedy="Give at least 1.",
            )
        if not os.path.isdir("/proc/self"):
            raise EngineError(
                "The local engine needs Linux: it finds its processes in /proc, which is not here.",
                phase="rejected",
                remedy="Run npac on Linux, or use another engine.",
            )
        self.root = os.path.abspath(root)
        self.pretend = pretend
        self.log_limit = log_limit
        try:
            self._instance = open_state(self.root, slots)
        except (OSError, ValueError, sqlite3.Error) as error:
            if damage(error):
                raise self._damaged(error, "rejected") from error
            raise EngineError(
                f"The local engine's state folder {self.root} cannot be used: {_words(error, self.root)}.",
                phase="rejected",
                remedy="Choose a folder that you own and can write to, on a disk with room.",
            ) from error
        if slots is not None:
            with self._queue() as queue:
                wake_next(self.root, queue)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> LocalEngine:
        """Make the engine from ``root`` (needed), ``slots``, ``pretend`` and ``log_limit``."""
        unknown = sorted(set(options) - _OPTIONS)
        if unknown or "root" not in options:
            what = f"has no option {unknown[0]!r}" if unknown else "needs the option 'root'"
            raise EngineError(
                f"The local engine {what}.",
                phase="rejected",
                remedy=f"Its options are {', '.join(sorted(_OPTIONS))}.",
            )
        return cls(
            Path(options["root"]),
            slots=options.get("slots"),
            pretend=bool(options.get("pretend", False)),
            log_limit=options.get("log_limit", LIMIT),
        )

    def capabilities(self) -> Capabilities:
        """Give what this engine is; ``limits`` holds ``slots`` and ``pretend``."""
        with self._queue() as queue:
            slots = queue.slots()
        return Capabilities(
            name="local",
            unique_launch_key=True,
            images=False,
            accelerators=False,
            instance=self._instance,
            limits={"slots": slots, "pretend": self.pretend},
        )

    def precheck(self, documents: Sequence[Mapping[str, Any]], name: str, secrets: Mapping[str, str]) -> None:
        """Refuse documents that :meth:`launch` would refuse for what stands in them; makes nothing."""
        plan(documents, name, "precheck", secrets, pretend=self.pretend)

    def launch(
        self,
        documents: Sequence[Mapping[str, Any]],
        name: str,
        launch_id: str,
        secrets: Mapping[str, str],
    ) -> LaunchRequest:
        """Submit one task, or a JobGroup, as one job; a launch id that is known gives its first job.

        When this returns the job is in the queue, has its supervisor, and needs the caller no more.
        Phases of :class:`EngineError`: ``"rejected"`` for what this engine does not do and for a
        folder that cannot be written; ``"never-sent"`` when the queue does not answer or there could
        be no supervisor, so that nothing was made; ``"maybe-sent"`` when the supervisor does not
        answer within a minute.
        """
        job_plan = plan(documents, name, launch_id, secrets, pretend=self.pretend)
        bash = shutil.which("bash")
        if bash is None:
            raise EngineError(
                "There is no bash on PATH.",
                phase="rejected",
                remedy="Install bash or mend PATH; scripts run under it.",
            )
        with self._queue("never-sent") as queue:
            first = queue.find_launch(launch_id)
        if first is not None:
            return LaunchRequest(str(first), str(first))
        payload = {
            "instance": self._instance,
            "launch_id": launch_id,
            "name": name,
            "bash": bash,
            "log_limit": self.log_limit,
            **job_plan,
        }
        answer, complaint = self._submit(json.dumps(payload).encode("ascii"))
        if "job" in answer:
            return LaunchRequest(str(answer["job"]), str(answer["job"]))
        if "error" in answer:
            raise EngineError(f"Not launched: {answer['error']}.", phase="rejected", remedy=answer["remedy"])
        # It ended without an answer.  It can make nothing any more, so the queue knows.
        with self._queue() as queue:
            first = queue.find_launch(launch_id)
        if first is not None:
            return LaunchRequest(str(first), str(first))
        raise EngineError(
            f"Not launched: the job's supervisor ended before it took the job. {complaint}".rstrip(),
            phase="never-sent",
            remedy="Launch again; if that fails too, see whether the machine has memory and processes left.",
        )

    def _submit(self, payload: bytes) -> tuple[dict[str, Any], str]:
        """Start a supervisor and hand it the job through a pipe; gives its answer, or its last words."""
        flags = ["-I", "-S", "-X", "utf8"] + (["-B"] if sys.dont_write_bytecode else [])
        try:
            with subprocess.Popen(
                [sys.executable, *flags, supervisor.__file__, self.root],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=base_environment(os.environ),
                cwd="/",
                start_new_session=True,
            ) as process:
                output, errors = process.communicate(payload, timeout=_ANSWER_WITHIN)
        except subprocess.TimeoutExpired as error:
            raise EngineError(
                f"The new job's supervisor did not answer within {_ANSWER_WITHIN:.0f} s.",
                remedy="Look at the list of jobs before launching again: the job may have been made.",
            ) from error
        except OSError as error:
            raise EngineError(
                f"Not launched: no process could be started for the job's supervisor: {_words(error)}.",
                phase="never-sent",
                remedy="See whether the machine has memory and processes left, and launch again.",
            ) from error
        line, newline, _ = output.partition(b"\n")
        answer: dict[str, Any] = json.loads(line) if newline else {}
        last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return answer, last

    def jobs(self) -> Sequence[JobRow]:
        """Give every job in order of submission, after seeing to those whose supervisor died."""
        with self._queue() as queue:
            jobs = queue.jobs()
            changed = [self._reconcile(queue, job) for job in jobs if not job.terminal]
            if any(changed):
                jobs = queue.jobs()
            return [_row(job) for job in jobs]

    def jobs_of(self, launch_id: str, name: str) -> Sequence[JobRow]:
        """Give the jobs with this launch id or this name, after seeing to those whose supervisor died."""
        with self._queue() as queue:
            jobs = queue.jobs_of(launch_id, name)
            changed = [self._reconcile(queue, job) for job in jobs if not job.terminal]
            if any(changed):
                jobs = queue.jobs_of(launch_id, name)
            return [_row(job) for job in jobs]

    def job(self, job_id: str) -> JobRow | None:
        """Give one job, after seeing to it if its supervisor died; None when there is no such job."""
        with self._queue() as queue:
            job = self._find(queue, job_id)
            if job is not None and self._reconcile(queue, job):
                job = queue.job(job.id)
            return None if job is None else _row(job)

    def cancel(self, job_id: str) -> None:
        """Ask for the end of a job: its processes get SIGTERM and, 5 s later, SIGKILL.

        Returns at once; the job is over when its row says so.  A PENDING job is CANCELLED when this
        returns.  A job that is over is left alone.  Where the queue can be read but not written (a
        full disk), the job's supervisor is told directly, and the row follows once there is room.
        """
        with self._queue() as queue:
            job = self._find(queue, job_id)
            if job is None:
                raise EngineError(
                    f"This engine has no job {job_id!r}.",
                    phase="rejected",
                    remedy=f"Look at the list of jobs; the engine's state folder is {self.root}.",
                )
            if job.terminal:
                return
            processes.resume(*job.supervisor)  # It may have been stopped, even while it was writing.
            try:
                persevere(queue, lambda: queue.request_cancel(job.id))
            except sqlite3.Error:
                if not JobFolder(self.root, job.id).wake(CANCEL):
                    raise
                return
            JobFolder(self.root, job.id).wake()
            wake_next(self.root, queue)
            now = queue.job(job.id)
            if now is not None:
                self._reconcile(queue, now)

    def logs(self, job_id: str, *, task: str = "", follow: bool = False) -> Iterator[str]:
        """Yield a job's output (stdout and stderr together) in pieces of at most some 64 KiB.

        Where several tasks or nodes are shown, each line begins with ``(TASK rank=N)``.  Without
        ``follow``, gives what is there now; with it, goes on until the job is over.
        """
        with self._queue() as queue:
            job = self._find(queue, job_id)
        if job is None:
            raise EngineError(
                f"This engine has no job {job_id!r}, so it has no log.",
                phase="rejected",
                remedy="Look at the list of jobs.",
            )
        shown = [one for one in job.tasks if not task or one.name == task]
        if not shown:
            raise EngineError(
                f"Job {job_id} has no task {task!r}.",
                phase="rejected",
                remedy=f"Its tasks are: {', '.join(one.name for one in job.tasks)}.",
            )
        folder = JobFolder(self.root, job.id)
        several = len(shown) > 1 or shown[0].nodes > 1
        tails = [
            Tail(folder.log(one.number, rank), f"({one.name} rank={rank}) " if several else "")
            for one in shown
            for rank in range(one.nodes)
        ]
        return self._stream(tails, job_id if follow else None)

    def _stream(self, tails: Sequence[Tail], followed: str | None) -> Iterator[str]:
        def over() -> bool:
            row = self.job(followed or "")
            return row is None or row.terminal

        try:
            yield from present(tails) if followed is None else follow(tails, over)
        except OSError as error:
            raise EngineError(
                f"The job's log cannot be read: {_words(error)}.",
                remedy="See whether its folder is still there.",
            ) from error

    def _reconcile(self, queue: Queue, job: Job) -> bool:
        return reconcile(self.root, queue, self._instance, job)

    def _find(self, queue: Queue, job_id: str) -> Job | None:
        if not (job_id.isascii() and job_id.isdigit() and len(job_id) < 19):
            return None
        return queue.job(int(job_id))

    @contextmanager
    def _queue(self, phase: str = "maybe-sent") -> Iterator[Queue]:
        try:
            found = read_instance(self.root)
            if found == self._instance:
                with Queue(self.root) as queue:
                    yield queue
                return
        except (OSError, sqlite3.Error) as error:
            if not os.path.isdir(self.root):
                raise self._missing(phase) from error
            if damage(error):
                raise self._damaged(error, phase) from error
            raise EngineError(
                f"The local engine's queue in {self.root} did not answer: {_words(error, self.root)}.",
                phase=phase,
                remedy="See whether the folder is there, yours and on a disk with room, and ask again.",
            ) from error
        if not found:
            raise self._missing(phase)
        raise EngineError(
            f"The local engine's state folder {self.root} is another engine's now: "
            "it was removed and made anew.",
            phase=phase,
            remedy="The jobs of the former one are ended and their rows are gone; start over.",
        )

    def _damaged(self, error: Exception, phase: str) -> EngineError:
        return EngineError(
            f"The local engine's queue {os.path.join(self.root, FILE)} is damaged: {damage(error)}.",
            phase=phase,
            remedy=rescue(self.root),
        )

    def _missing(self, phase: str) -> EngineError:
        lost = "has lost its engine-instance file" if os.path.isdir(self.root) else "is missing"
        return EngineError(
            f"The local engine's state folder {self.root} {lost}.",
            phase=phase,
            remedy="Put the folder back if it was moved; the jobs of a folder that was removed are ended.",
        )


def _row(job: Job) -> JobRow:
    return JobRow(
        id=str(job.id),
        name=job.name,
        launch_id=job.launch_id,
        status=job.status,
        submitted_at=job.submitted_at,
        started_at=job.started_at,
        ended_at=job.ended_at,
        reason=job.reason,
        tasks=tuple(TaskRow(task.name, task.status, task.exit_code) for task in job.tasks),
    )


def _words(error: Exception, root: str = "") -> str:
    """Say what an error of the outside world was, without its number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return trouble(error, root) if root else str(error)
