"""Who a driver is, and whether it is proven dead or alive on this host.

A process id says nothing by itself: ids are used again, and containers on one machine count them
apart.  An identity therefore holds the start time of the process, the boot it belongs to and the
namespaces in which its id and its start time are counted.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

Liveness = Literal["alive", "dead", "unknown"]

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of one boot of one machine; fields that the system does not tell are empty.

    ``start`` is in clock ticks since boot.  ``host`` is for people and never compared.
    """

    host: str
    pid: int
    start: str
    boot_id: str
    pid_namespace: str
    time_namespace: str

    def data(self) -> dict[str, Any]:
        """Give the identity as plain data for an event."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ProcessIdentity:
        """Read an identity back; raises :class:`ValueError` when fields lack or have other types."""
        names = ("host", "start", "boot_id", "pid_namespace", "time_namespace")
        if type(data.get("pid")) is not int or any(type(data.get(name)) is not str for name in names):
            raise ValueError("not the identity of a process")
        return cls(pid=data["pid"], **{name: data[name] for name in names})

    def shares_clock(self, other: ProcessIdentity) -> bool:
        """Say whether both processes read the very same boot clock."""
        return bool(
            self.boot_id
            and self.boot_id == other.boot_id
            and self.time_namespace
            and self.time_namespace == other.time_namespace
        )


def this_process() -> ProcessIdentity:
    """Give the identity of the calling process."""
    pid = os.getpid()
    stat = _stat(pid)
    return ProcessIdentity(
        host=platform.node(),
        pid=pid,
        start=stat[1] if stat else "",
        boot_id=_text(_PROC / "sys/kernel/random/boot_id"),
        pid_namespace=_link(_PROC / "self/ns/pid"),
        time_namespace=_link(_PROC / "self/ns/time"),
    )


def liveness(holder: ProcessIdentity, here: ProcessIdentity) -> Liveness:
    """Say whether ``holder`` is alive, as far as the process ``here`` can prove it.

    Another boot, machine or namespace gives ``"unknown"``: its process ids mean nothing here.
    """
    if not holder.shares_clock(here) or not holder.pid_namespace or holder.pid <= 0:
        return "unknown"
    if holder.pid_namespace != here.pid_namespace:
        return "unknown"
    if not _exists(holder.pid):
        return "dead"
    stat = _stat(holder.pid)
    if stat is None:
        # Gone in this moment, or hidden from this user; only the first is proof.
        return "unknown" if _exists(holder.pid) else "dead"
    state, start, threads = stat
    if not holder.start:
        return "unknown"
    if start != holder.start:
        return "dead"
    # A zombie runs nothing more, unless only its first thread has ended.
    return "dead" if state in "ZX" and threads <= 1 else "alive"


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _stat(pid: int) -> tuple[str, str, int] | None:
    """Give state, start time and number of threads; None when the system does not tell."""
    text = _text(_PROC / str(pid) / "stat")
    # The command stands in parentheses and may hold blanks and parentheses itself.
    fields = text.rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    return fields[0], fields[19], int(fields[17])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
