"""The folder of one job: scripts, working directories, logs, and the records that survive a crash.

incoming/PID.START.BOOT/    a job's folder while that supervisor makes it, before the queue knows of it
jobs/ID/lock                held by the job's supervisor for as long as it lives
jobs/ID/wake                a FIFO; a byte in it makes the supervisor look at the queue, a "c" end the job
jobs/ID/leaders             a line "task rank pid start" for every process, before it runs
jobs/ID/supervisor.log      what the supervisor itself had to say (normally empty)
jobs/ID/TASK/setup.sh       and run.sh, owner-only
jobs/ID/TASK/outcome.json   how the task ended; on disk before the queue says so
jobs/ID/TASK/RANK/          working directory of one node, made when the node starts
jobs/ID/TASK/RANK.state/    what its setup leaves for its run (an interpreter, fetched source)
jobs/ID/TASK/RANK.log       its output
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from contextlib import suppress

from npac.engines.local.processes import alive
from npac.engines.local.states import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


INCOMING = "incoming"
READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
"""For records, which are files of the engine itself: nothing is read or written through a link."""
CANCEL = b"c"
"""In the wake FIFO: end the job.  For when the queue, where cancels are kept, cannot be written."""


class JobFolder:
    """Paths and records of one job.  Nothing here ever holds a secret."""

    def __init__(self, root: str, job: int) -> None:
        self.path = os.path.join(root, "jobs", str(job))
        self._held = -1

    @classmethod
    def stage(cls, root: str, owner: tuple[int, int, str], tasks: list[dict[str, Any]]) -> JobFolder:
        """Make the folder of a job that has no number yet, with the tasks' scripts, and take its lock.

        This is where a submission may be slow, and nobody else waits for it: no lock but the
        folder's own is held.  ``owner`` is this process, by pid, start time and boot.
        """
        with suppress(FileExistsError):  # Made with the state folder, unless by an older version.
            os.mkdir(os.path.join(root, INCOMING), 0o700)
        folder = cls(root, 0)
        folder.path = os.path.join(root, INCOMING, ".".join(map(str, owner)))
        os.mkdir(folder.path, 0o700)
        try:
            for number, task in enumerate(tasks):
                os.mkdir(folder._of(number), 0o700)
                for phase in ("setup", "run"):
                    if task[phase] is not None:
                        text = task[phase].encode("utf-8", "surrogateescape")
                        _write(folder.script(number, phase), text, 0o600)
            os.mkfifo(folder._at("wake"), 0o600)
            lock = folder.lock()
            if lock is None:
                raise OSError(
                    errno.EBUSY, "the new job's lock is held by another process", folder._at("lock")
                )
            folder._held = lock  # Until this process ends.
            return folder
        except BaseException:
            folder.remove()
            raise

    def enter(self, root: str, job: int) -> JobFolder | None:
        """Move a staged folder to the place of job ``job``, in one step.

        A folder that is there already was left by a submission that never came to be.  It is moved
        out of the way and given back, to be removed when nobody waits for that.
        """
        place = os.path.join(root, "jobs", str(job))
        left = None
        if os.path.lexists(place):
            left = JobFolder(root, job)
            left.path = self.path + ".left"
            os.rename(place, left.path)
        os.rename(self.path, place)
        self.path = place
        return left

    def make_node(self, task: int, rank: int) -> None:
        """Make the folders of one node, where they are not there yet."""
        for path in (self.work(task, rank), self.state(task, rank)):
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)

    def gone(self) -> bool:
        """Say whether the folder that this process holds is no longer at its place.

        A folder that was made anew under the same name is another one.  What cannot be told (a
        disk that does not answer) is not gone.
        """
        try:
            now = os.stat(self._at("lock"))
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False
        held = os.fstat(self._held)
        return (now.st_dev, now.st_ino) != (held.st_dev, held.st_ino)

    def lock(self) -> int | None:
        """Take the lock for as long as this process lives; None when another process has it."""
        handle = os.open(self._at("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except BaseException:
            os.close(handle)
            raise
        return handle

    def exists(self) -> bool:
        """Say whether the folder is there."""
        return os.path.isdir(self.path)

    def listen(self) -> int:
        """Open the reading end of the wake FIFO."""
        # Read and write: the FIFO then never reports its end when the last writer goes.
        return os.open(self._at("wake"), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)

    def wake(self, word: bytes = b"w") -> bool:
        """Make the supervisor look at the queue soon, or end the job; False when there is none to hear it."""
        try:
            handle = os.open(self._at("wake"), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            os.write(handle, word)
            return True
        except OSError:
            # Full of wake-ups that have not been read: the supervisor will look anyway.
            return word != CANCEL
        finally:
            os.close(handle)

    def add_leader(self, task: int, rank: int, pid: int, start: int) -> None:
        """Record a process before it is let go."""
        handle = os.open(self._at("leaders"), APPEND, 0o600)
        try:
            # The line end before it keeps it apart from a record that was cut short by a full disk.
            record = f"\n{task} {rank} {pid} {start}\n".encode("ascii")
            if os.write(handle, record) != len(record):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._at("leaders"))
        finally:
            os.close(handle)

    def leaders(self) -> list[tuple[int, int]]:
        """Give (pid, start time) of every process that was recorded."""
        try:
            with open(os.open(self._at("leaders"), READ), encoding="ascii") as file:
                lines = [line.split() for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [(int(fields[2]), int(fields[3])) for fields in lines if len(fields) == 4]

    def write_outcome(self, task: int, outcome: Outcome) -> None:
        """Record durably how a task ended; it is on disk when this returns."""
        record = {"status": outcome.status, "exit_code": outcome.exit_code, "reason": outcome.reason}
        path = os.path.join(self._of(task), "outcome.json")
        _write(path + ".new", json.dumps(record).encode("ascii"), 0o600, sync=True)
        os.rename(path + ".new", path)
        handle = os.open(self._of(task), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def read_outcome(self, task: int, name: str) -> Outcome | None:
        """Give the recorded outcome of a task; None when there is none."""
        try:
            with open(os.open(os.path.join(self._of(task), "outcome.json"), READ), "rb") as file:
                record = json.loads(file.read())
        except FileNotFoundError:
            return None
        return Outcome(name, record["status"], record["exit_code"], record["reason"])

    def script(self, task: int, phase: str) -> str:
        """Path of a task's ``setup`` or ``run`` script."""
        return os.path.join(self._of(task), f"{phase}.sh")

    def work(self, task: int, rank: int) -> str:
        """Path of a node's working directory."""
        return os.path.join(self._of(task), str(rank))

    def state(self, task: int, rank: int) -> str:
        """Path of the folder in which a node's setup leaves things for its run."""
        return os.path.join(self._of(task), f"{rank}.state")

    def log(self, task: int, rank: int) -> str:
        """Path of a node's log."""
        return os.path.join(self._of(task), f"{rank}.log")

    def own_log(self) -> str:
        """Path of the supervisor's own log."""
        return self._at("supervisor.log")

    def remove(self) -> None:
        """Remove the folder of a submission that did not come to be."""
        import shutil  # Costs a supervisor's start 5 ms, for what hardly ever happens.

        shutil.rmtree(self.path, ignore_errors=True)

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name)

    def _of(self, task: int) -> str:
        return os.path.join(self.path, str(task))


def sweep(root: str) -> None:
    """Remove what submissions left in ``incoming`` whose supervisor ended before the queue knew the job."""
    try:
        left = os.listdir(os.path.join(root, INCOMING))
    except FileNotFoundError:
        return
    for name in left:
        pid, _, rest = name.partition(".")
        start, _, boot = rest.removesuffix(".left").partition(".")
        if pid.isdigit() and start.isdigit() and not alive(int(pid), int(start), boot):
            folder = JobFolder(root, 0)
            folder.path = os.path.join(root, INCOMING, name)
            folder.remove()


def _write(path: str, data: bytes, mode: int, *, sync: bool = False) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)
