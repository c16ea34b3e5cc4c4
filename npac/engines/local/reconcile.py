"""Seeing to jobs whose supervisor died: end what it left, then say in the queue what is known.

Any process that looks at the queue does this, one at a time for one job: the job's lock is free
once its supervisor is dead, and whoever reconciles holds it.
"""

from __future__ import annotations

import os
import sqlite3

from npac.engines.local import processes, states
from npac.engines.local.environment import marker
from npac.engines.local.folder import JobFolder
from npac.engines.local.queue import PATIENCE
from npac.engines.local.states import Outcome, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from npac.engines.local.queue import Job, Queue

    T = TypeVar("T")

_BRIEF = 2.0
_PATIENCE = 5.0


def wake_next(root: str, queue: Queue) -> None:
    """Wake the supervisor whose turn may have come."""
    waiting = queue.next_pending()
    if waiting is not None:
        JobFolder(root, waiting).wake()


def persevere(queue: Queue, write: Callable[[], T]) -> T:
    """Make a write for which another process may hold the queue, one that was stopped while it did.

    When the queue stays locked, the supervisors of all live jobs are told to run on, and the write
    is made again with full patience.  Raises what the second try raises.
    """
    queue.set_patience(_BRIEF)
    try:
        return write()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
    finally:
        queue.set_patience(PATIENCE)
    for job in queue.live():
        processes.resume(*job.supervisor)
    return write()


def reconcile(root: str, queue: Queue, instance: str, job: Job) -> bool:
    """End a job whose supervisor is dead; gives False when nothing was to be done.

    A task whose outcome is on disk keeps it.  The others become FAILED_CONTROLLER, or CANCELLED
    when a cancel had been asked for.  While a process of the job cannot be ended the job stays as
    it is, with a reason: what may still run is not reported as over.
    """
    if job.terminal or processes.alive(*job.supervisor):
        return False
    folder = JobFolder(root, job.id)
    lock = None
    if folder.exists():
        lock = folder.lock()
        if lock is None:
            return False
    try:
        now = queue.job(job.id)
        if now is None or now.terminal or processes.alive(*now.supervisor):
            return False
        return _settle(queue, folder, instance, now)
    finally:
        if lock is not None:
            os.close(lock)
        wake_next(root, queue)


def _settle(queue: Queue, folder: JobFolder, instance: str, job: Job) -> bool:
    pid, _, boot = job.supervisor
    rebooted = boot != processes.boot_id()
    ended = 0
    if not rebooted:
        leaders = folder.leaders()
        mark = marker(instance, job.id)
        ended = len(processes.find(mark, leaders))
        left = processes.kill_all(lambda: processes.find(mark, leaders), _PATIENCE, lambda: None)
        if left:
            pids = ", ".join(str(one.pid) for one in left)
            queue.note(job.id, f"the job's supervisor is dead and these processes cannot be ended: {pids}")
            return False
    if rebooted:
        why = "the machine was restarted before the job had ended"
    elif job.status == states.PENDING:
        why = f"the job's supervisor (pid {pid}) ended before the job started; nothing of it has run"
    else:
        why = (
            f"the job's supervisor (pid {pid}) ended before the job; {ended} process(es) it left were ended; "
            "whether the task had done its work is not known"
        )
    lacking = states.FAILED_CONTROLLER
    if job.status == states.CANCELLING:
        lacking, why = states.CANCELLED, f"cancelled; {why}"
    outcomes = [
        folder.read_outcome(task.number, task.name) or Outcome(task.name, lacking, None, why)
        for task in job.tasks
    ]
    status, reason = fold(outcomes)
    queue.finish(job.id, status, reason, outcomes)
    return True
