"""The process that owns one job, from its place in the queue to its end.

Started as ``python -I -S …/supervisor.py ROOT`` with the job on standard input as JSON (see
:mod:`npac.engines.local.documents`).  Answers one line of JSON on standard output, ``{"job": ID}``
or ``{"error": TEXT, "remedy": TEXT}``, and then belongs to nobody.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # The launcher waits for the first process only; the second one is nobody's child.
    if os.fork():
        os._exit(0)
    # Isolated from the environment and from site-packages, so npac itself must be made known.
    sys.path.insert(0, os.path.abspath(__file__).rsplit(os.sep, 4)[0])

import json
import select
import signal
import sqlite3
import time
from contextlib import suppress

from npac.engines.local import processes, states
from npac.engines.local.attend import LOOK, Attendance
from npac.engines.local.environment import base_environment
from npac.engines.local.folder import APPEND, CANCEL, READ, JobFolder
from npac.engines.local.queue import FILE, Queue, damage, rescue, trouble, without_room
from npac.engines.local.reconcile import persevere, reconcile, wake_next
from npac.engines.local.states import Outcome, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_RETRY = 0.5
_LONGEST_RETRY = 5.0
_QUEUE_PATIENCE = 2.0
"""Seconds to wait for other writers of the queue; what was not written is tried again anyway."""


class RootGone(Exception):
    """The engine's state folder was removed, or made anew, under a job."""


class Abandoned(Exception):
    """This supervisor must end although the end of its job could not be written down."""


class Supervisor:
    """One accepted job and the means to wait."""

    def __init__(
        self,
        root: str,
        instance: str,
        queue: Queue,
        job: int,
        payload: dict[str, Any],
        submitted_at: float,
        folder: JobFolder,
    ) -> None:
        self.root = root
        self.instance = instance
        self.queue = queue
        self.job = job
        self.payload = payload
        self.folder = folder
        self.submitted_at = submitted_at
        self.asked_to_end = False
        self.asked_to_cancel = False
        self.noted = ""
        self.queue_file = os.stat(os.path.join(root, FILE))
        self.words = self.folder.listen()
        self.poller = select.poll()
        self.poller.register(self.words, select.POLLIN)

    def watch_signals(self) -> None:
        """Turn SIGCHLD and SIGTERM into wake-ups; be told of orphans; ignore what a terminal sends."""
        listening, ringing = os.pipe()
        for handle in (listening, ringing):
            os.set_blocking(handle, False)
        signal.set_wakeup_fd(ringing, warn_on_full_buffer=False)
        self.poller.register(listening, select.POLLIN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._asked)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        import ctypes  # Late: the launcher no longer waits.

        # Without this, processes whose parent ends would leave the tree in which they are found.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def _asked(self, *_: object) -> None:
        self.asked_to_end = True

    def wait(self, seconds: float) -> None:
        """Wait for a wake-up or for ``seconds``; raises :class:`RootGone`."""
        for handle, _ in self.poller.poll(seconds * 1000):
            with suppress(BlockingIOError):
                heard = os.read(handle, 4096)
                self.asked_to_cancel |= handle == self.words and CANCEL in heard
        if self.folder.gone() or self._queue_gone():
            raise RootGone

    def _queue_gone(self) -> bool:
        """Say whether the queue that this job is in was removed or replaced: nobody sees the job then."""
        try:
            now = os.stat(os.path.join(self.root, FILE))
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False
        return (now.st_dev, now.st_ino) != (self.queue_file.st_dev, self.queue_file.st_ino)

    def attempt(self, write: Callable[[], None]) -> bool:
        """Try a write; False, with a note, when it cannot be made now."""
        try:
            write()
            return True
        except (OSError, sqlite3.Error) as error:
            self._note(f"not written, trying again: {error}")
            return False

    def persist(self, write: Callable[[], None]) -> None:
        """Run a write until it succeeds: a disk that is full now may have room later.

        Raises :class:`RootGone` when there is nothing left to write to, and :class:`Abandoned` when
        this supervisor was asked to end.
        """
        pause = _RETRY
        while not self.attempt(write):
            self.wait(0.0)
            if self.asked_to_end:
                raise Abandoned
            self.wait(pause)
            pause = min(2 * pause, _LONGEST_RETRY)

    def _note(self, text: str) -> None:
        """Leave a line in the supervisor's own log, once for a trouble that goes on."""
        if text != self.noted:
            self.noted = text
            with suppress(OSError):
                os.write(2, f"{time.time():.3f} {text}\n".encode("utf-8", "replace"))

    def wait_for_turn(self) -> bool:
        """Wait until the job may start; False when it was ended before."""
        while True:
            status = states.PENDING
            try:
                status, ahead = self.queue.try_start(self.job)
                changed = [reconcile(self.root, self.queue, self.instance, one) for one in ahead]
                if any(changed):
                    continue
            except (OSError, sqlite3.Error) as error:
                self._note(f"cannot tell whose turn it is, trying again: {error}")
            if status != states.PENDING:
                wake_next(self.root, self.queue)
                return status == states.STARTING
            self.wait(LOOK)
            if self.asked_to_cancel:
                self._end_unstarted(states.CANCELLED, "cancelled before it started")
                return False
            if self.asked_to_end:
                why = "the job's supervisor was asked to end before the job started; nothing of it has run"
                self._end_unstarted(states.FAILED_CONTROLLER, why)
                return False

    def _end_unstarted(self, status: str, why: str) -> None:
        self.finish([Outcome(task["name"], status, None, why) for task in self.payload["tasks"]])

    def finish(self, outcomes: list[Outcome]) -> None:
        """Say in the queue how the job ended and let the next one start."""
        status, reason = fold(outcomes)
        self.persist(lambda: self.queue.finish(self.job, status, reason, outcomes))
        with suppress(sqlite3.Error):  # The next one looks by itself, only later.
            wake_next(self.root, self.queue)

    def attend(self, umask: int) -> None:
        """Run the job's tasks to their end."""
        attendance = Attendance(
            self.queue,
            self.folder,
            self.job,
            self.payload,
            self.instance,
            base=base_environment(os.environ),
            umask=umask,
            submitted_at=self.submitted_at,
            wait=self.wait,
            attempt=self.attempt,
            asked_to_end=lambda: self.asked_to_end,
            asked_to_cancel=lambda: self.asked_to_cancel,
        )
        try:
            self.finish(attendance.run())
        except RootGone:
            attendance.end_everything()
            raise
        except Abandoned:
            raise
        except Exception as error:
            why = f"the job's supervisor failed: {type(error).__name__}: {error}"
            self.finish(attendance.give_up(why))
            raise


def _accept(root: str, payload: dict[str, Any]) -> Supervisor | int:
    """Put the job into the queue; gives its supervisor, or the id of the job that was there first.

    What takes long (many scripts, large ones, a slow disk) is done before the queue is locked.
    """
    me = processes.stat(os.getpid())
    if me is None:
        raise OSError("/proc does not show this process")
    with open(os.open(os.path.join(root, "engine-instance"), READ), encoding="ascii") as file:
        instance = file.read().strip()
    if instance != payload["instance"]:
        raise OSError("the state folder was made anew since it was opened")
    queue = Queue(root)
    tasks = payload["tasks"]
    owner = (me.pid, me.start, processes.boot_id())
    folder = JobFolder.stage(root, owner, tasks)
    entered = left = None
    try:
        persevere(queue, queue.begin)
        first = queue.find_launch(payload["launch_id"])
        if first is not None:
            return first
        now = time.time()
        job = queue.insert(
            payload["launch_id"],
            payload["name"],
            [(task["name"], task["nodes"]) for task in tasks],
            owner,
            now,
        )
        left = folder.enter(root, job)
        supervisor = Supervisor(root, instance, queue, job, payload, now, folder)
        # From here on the job is seen, with a supervisor that lives and holds its lock.
        queue.commit()
        entered = supervisor
        return supervisor
    finally:
        queue.rollback()
        queue.set_patience(_QUEUE_PATIENCE)
        if left is not None:
            left.remove()
        if entered is None:
            folder.remove()


def _answer(message: dict[str, Any]) -> None:
    with suppress(OSError):  # When the launcher is dead, an accepted job goes on without it.
        os.write(1, json.dumps(message).encode("ascii") + b"\n")


def _let_go(log: str) -> None:
    """Give up the launcher's pipes: nothing of it is held any more."""
    nothing = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    own = os.open(log, APPEND, 0o600)
    os.dup2(nothing, 0)
    os.dup2(own, 2)
    os.dup2(nothing, 1)


def main(root: str) -> None:
    """Accept the job on standard input and see it through."""
    umask = os.umask(0o077)
    payload = json.loads(sys.stdin.buffer.read())
    try:
        accepted = _accept(root, payload)
    except (OSError, sqlite3.Error) as error:
        _answer(
            {
                "error": f"the job could not be put into the queue in {root}: {trouble(error, root)}",
                "remedy": rescue(root) if damage(error) else _remedy(error, root),
            }
        )
        return
    if isinstance(accepted, int):
        _answer({"job": accepted})
        return
    _answer({"job": accepted.job})
    _let_go(accepted.folder.own_log())
    for task in payload["tasks"]:
        # The scripts are files by now; a long queue need not hold them in memory.
        for phase in ("setup", "run"):
            task[phase] = None if task[phase] is None else ""
    try:
        accepted.watch_signals()
        if accepted.wait_for_turn():
            accepted.attend(umask)
    except (RootGone, Abandoned):
        sys.exit(1)


def _remedy(error: Exception, root: str) -> str:
    if getattr(error, "errno", None) in (28, 122) or "full" in str(error).lower() or without_room(root):
        return "Free some disk space, or choose another state folder, and launch again."
    return "Make the state folder writable, or choose another one, and launch again."


if __name__ == "__main__":
    main(sys.argv[1])
