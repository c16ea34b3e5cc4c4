"""Finding and ending processes through ``/proc``.

A process is always named by pid *and* start time (clock ticks since boot), so that a pid that was
given to another process is never mistaken.  Zombies count as gone.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MARKER = "NPA_LOCAL_JOB"
"""Environment variable that every process of a job carries: ``<instance>.<job>.<task>``."""


class Stat:
    """What ``/proc/PID/stat`` says about a living process."""

    __slots__ = ("parent", "pid", "session", "start")

    def __init__(self, pid: int, parent: int, session: int, start: int) -> None:
        self.pid = pid
        self.parent = parent
        self.session = session
        self.start = start


def boot_id() -> str:
    """Give the id of this boot of the machine; start times of two boots cannot be compared."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def stat(pid: int) -> Stat | None:
    """Look at one process; None when it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the program's name in parentheses and may itself hold any character.
    fields = text[text.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X", b"x"):
        return None
    return Stat(pid, int(fields[1]), int(fields[3]), int(fields[19]))


def alive(pid: int, start: int, boot: str) -> bool:
    """Say whether the very process that was recorded still lives."""
    if boot != boot_id():
        return False
    found = stat(pid)
    return found is not None and found.start == start


def resume(pid: int, start: int, boot: str) -> None:
    """Let the very process that was recorded run on, if it was stopped."""
    found = stat(pid) if boot == boot_id() else None
    if found is not None and found.start == start:
        send(found, signal.SIGCONT)


def scan() -> dict[int, Stat]:
    """Give all living processes of this machine by pid."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            one = stat(int(entry))
            if one is not None:
                found[one.pid] = one
    return found


def carries(pid: int, marker: bytes) -> bool:
    """Say whether the process was started with ``marker`` (``NAME=value-prefix``) in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return b"\0" + marker in b"\0" + file.read()
    except OSError:
        return False


def find(marker: str, leaders: Iterable[tuple[int, int]], children_of: int | None = None) -> list[Stat]:
    """Find the processes of a job.

    They are: those whose environment has ``MARKER`` starting with ``marker``; those in the session
    of a leader (pid, start time) that still lives; the children of ``children_of``; and all
    descendants of these.  The caller itself is never among them.
    """
    everyone = scan()
    sessions = set()
    for pid, start in leaders:
        leader = everyone.get(pid)
        # With its leader gone, a session's number may be someone else's by now.
        if leader is not None and leader.start == start:
            sessions.add(pid)
    wanted = f"{MARKER}={marker}".encode()
    offspring: dict[int, list[int]] = {}
    for one in everyone.values():
        offspring.setdefault(one.parent, []).append(one.pid)
    waiting = [pid for pid, one in everyone.items() if one.session in sessions or carries(pid, wanted)]
    if children_of is not None:
        waiting += offspring.get(children_of, ())
    members: set[int] = set()
    while waiting:
        pid = waiting.pop()
        if pid not in members:
            members.add(pid)
            waiting.extend(offspring.get(pid, ()))
    members.discard(os.getpid())
    return [everyone[pid] for pid in sorted(members)]


def send(target: Stat, number: int) -> bool:
    """Send a signal to exactly that process; False when it is gone or may not be signalled."""
    handle = -1
    try:
        # Opened before the check: a handle cannot come to mean another process afterwards.
        handle = os.pidfd_open(target.pid)
    except ProcessLookupError:
        return False
    except (AttributeError, OSError):
        pass  # A kernel without such handles; the check below must do.
    try:
        now = stat(target.pid)
        if now is None or now.start != target.start:
            return False
        if handle < 0:
            os.kill(target.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
        return True
    except OSError:
        return False
    finally:
        if handle >= 0:
            os.close(handle)


def kill_all(members: Callable[[], list[Stat]], patience: float, reap: Callable[[], object]) -> list[Stat]:
    """SIGKILL what ``members`` finds until it finds nothing, at most ``patience`` seconds.

    ``reap`` is called between rounds.  Gives what could not be ended.
    """
    deadline = time.monotonic() + patience
    while True:
        left = members()
        if not left or time.monotonic() > deadline:
            return left
        for target in left:
            send(target, signal.SIGKILL)
        time.sleep(0.005)
        reap()


def children() -> list[int]:
    """Give the children of this process, dead ones that were not waited for among them."""
    me = os.getpid()
    try:
        with open(f"/proc/{me}/task/{me}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]
    except FileNotFoundError:  # A kernel without that list.
        return [one.pid for one in scan().values() if one.parent == me]


def kill_children(patience: float, reap: Callable[[], bool]) -> list[int]:
    """SIGKILL all descendants of this process, at most ``patience`` seconds; gives what could not be ended.

    For a process that inherits its orphaned descendants.  A process that forks and ends, over and
    over, is never where a look at the whole machine saw it; but one of its kind is a child of this
    process at any time, and only when the kernel says that there is no child is there none left.
    ``reap`` waits for what is dead and says whether children are left.
    """
    deadline = time.monotonic() + patience
    before: list[int] = []
    while reap():
        left = children()
        if time.monotonic() > deadline:
            return left
        for pid in left:
            # Nobody else waits for it, so its number cannot be another's.
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if left == before:
            time.sleep(0.002)
        before = left
    return []
