"""What the runtime asks of the ledger and of the stores that hold artifacts.

The driver in ``npac/runtime`` and the launch layer see these types and nothing of SQLite or S3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class LedgerError(Exception):
    """The ledger could not be read or written.  This is never evidence that something is absent.

    ``remedy`` is one sentence that says what to do.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class LedgerCorrupt(LedgerError):
    """The event log does not hash together; the message names the first bad event.

    ``event`` is the number of that event; None where it is something else that is damaged.
    """

    def __init__(self, message: str, *, remedy: str = "", event: int | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.event = event


class NoSuchRun(LedgerError):
    """It is proven that the root has no run of that id."""


class LeaseLost(LedgerError):
    """Another driver has taken this run; this one must stop and start no further effect."""


class LeaseHeld(LedgerError):
    """Another driver holds this run and may be alive."""


class StoreError(Exception):
    """An artifact store did not answer, or refused.  It is never evidence of absence.

    ``permanent`` says that asking again is in vain: the URI itself, or this installation of npac,
    stands in the way.
    """

    def __init__(self, message: str, *, remedy: str = "", permanent: bool = False) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.permanent = permanent


class StoreChanged(StoreError):
    """The object is not the one that was observed (missing, or replaced since)."""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a run's log.

    ``digest`` is sha256 over the canonical JSON of all other fields, ``previous`` the digest of
    the event before (64 zeros for the first).  ``at`` is for people and never compared.
    """

    number: int
    type: str
    fence: int
    data: Mapping[str, Any]
    at: str
    previous: str
    digest: str


@dataclass(frozen=True, slots=True)
class Observation:
    """An artifact as it was at one moment; observations are only ever compared for equality.

    ``identity`` is opaque JSON data: for an S3 object etag, version, last-modified and size; for a
    file inode, mtime in ns and size; for a directory count and sha256 over the sorted entries.
    ``empty`` says that nothing usable is there (no bytes, or no non-empty object below).
    """

    uri: str
    identity: Mapping[str, Any]
    size: int
    empty: bool


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One object below a prefix."""

    key: str
    identity: Mapping[str, Any]
    size: int


class Store(Protocol):
    """Artifacts of one URI scheme."""

    def observe(self, uri: str, kind: str) -> Observation | None:
        """Look at a ``"file"`` or ``"directory"``; None when it is proven absent.

        Raises :class:`StoreError` when the store does not answer or refuses.
        """
        ...

    def make_room(self, uri: str) -> None:
        """Make the folder that an artifact will be written into, where the store has folders.

        Raises :class:`StoreError` when it cannot be made.
        """
        ...

    def mark(self, uri: str) -> str:
        """Give a mark of this moment in the store's own terms; empty where :meth:`stale` needs none."""
        ...

    def stale(self, uri: str, kind: str, mark: str) -> bool:
        """Say whether all there is of an artifact are links to what was there before ``mark`` was given.

        Raises :class:`StoreError` when the store does not answer or refuses.
        """
        ...

    def read(self, uri: str, expected: Observation | None = None, *, limit: int = 1 << 20) -> bytes:
        """Read an object of at most ``limit`` bytes.

        With ``expected``, raises :class:`StoreChanged` unless the object is still that one.
        Raises ``FileNotFoundError`` when it is proven absent.
        """
        ...

    def list(self, uri: str) -> Iterator[ObjectInfo]:
        """Yield every object below a prefix, in key order, however many there are."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asked of a run while it was going: ``cancel``, ``retry`` or ``decide``."""

    id: str
    kind: str
    data: Mapping[str, Any]


class RunLedger(Protocol):
    """The event log of one run.

    A driver calls :meth:`take` once and then appends with the fence it was given.  Readers need
    no lease.
    """

    run_id: str

    def take(self, driver: Mapping[str, Any]) -> int:
        """Take the lease by appending ``driver-started``; gives the fence.

        Raises :class:`LeaseHeld` when another driver may be alive.
        """
        ...

    def append(self, type: str, data: Mapping[str, Any], fence: int) -> Event:
        """Append one event durably (it is on disk when this returns).

        Raises :class:`LeaseLost` when another fence has been taken since.
        """
        ...

    def heartbeat(self, fence: int) -> None:
        """Say that the holder of ``fence`` is alive."""
        ...

    def release(self, fence: int) -> None:
        """Give the lease back at the end of a driver; a crash simply never does."""
        ...

    def events(self, after: int = 0) -> Sequence[Event]:
        """Give the events numbered above ``after``, verified; raises :class:`LedgerCorrupt`."""
        ...

    def put_blob(self, data: bytes) -> str:
        """Store bytes under their sha256 (hex), durably; gives the digest."""
        ...

    def get_blob(self, digest: str) -> bytes:
        """Read bytes back and verify them; raises :class:`LedgerError`."""
        ...

    def ask(self, kind: str, data: Mapping[str, Any]) -> str:
        """Leave a request for the driver; gives its id."""
        ...

    def requests(self) -> Sequence[Request]:
        """Give the requests that no driver has answered yet, oldest first."""
        ...

    def answer(self, request_id: str, fence: int, result: Mapping[str, Any]) -> None:
        """Mark a request as dealt with."""
        ...

    def result(self, request_id: str) -> Mapping[str, Any] | None:
        """Give what a driver answered to a request; None while it is open."""
        ...

    def holder(self) -> Mapping[str, Any] | None:
        """Give what the last driver said of itself and whether it is proven dead or alive.

        ``{"fence": …, "driver": {…}, "released": bool, "liveness": "alive"|"dead"|"unknown"}``,
        or None when no driver ever took the run.
        """
        ...


class Root(Protocol):
    """The place where the ledgers of all runs are.

    ``place`` names it for people.  Every method raises :class:`LedgerError` when the place does not
    answer, which says nothing about its runs, and for an id that no run may have.
    """

    @property
    def place(self) -> str:
        """Give the folder or URL, as a person would write it."""
        ...

    def create(self, run_id: str) -> RunLedger:
        """Make the empty ledger of a new run and open it; refused when the run exists."""
        ...

    def holds(self, run_id: str) -> bool:
        """Say whether a run has this id, even one of which nothing is on record.

        Raises :class:`LedgerError` when something that is no ledger stands in its place.
        """
        ...

    def open(self, run_id: str) -> RunLedger:
        """Open the ledger of a run; raises :class:`NoSuchRun` when it is proven that there is none."""
        ...

    def runs(self) -> list[str]:
        """Give the ids of all runs, sorted."""
        ...

    def strays(self) -> list[tuple[str, str]]:
        """Give what is named like a run and cannot be opened, each with a sentence that says why."""
        ...

    def caution(self, run_id: str) -> str:
        """Give what whoever drives the run has to see to by themselves; empty where nothing is."""
        ...
