"""Replays a whole ledger and says what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from npac.ledger.blobs import is_digest
from npac.ledger.events import verify_events
from npac.ledger.ports import Event, LedgerCorrupt, LedgerError, RunLedger

__all__ = ["LedgerFault", "LedgerReport", "blob_references", "examine", "fsck", "verify_events"]

_RESTORE = "Restore the run's folder from a copy."

_BLOB_KEY = "_blob"
"""An event's data refers to a blob by a key with this ending whose value is the digest."""


@runtime_checkable
class ChecksItsFile(Protocol):
    """A ledger whose file can be checked below the level of events."""

    def check_file(self) -> list[str]:
        """Give a sentence for each fault of the file."""
        ...


@dataclass(frozen=True, slots=True)
class LedgerFault:
    """One thing that is wrong with a ledger; ``event`` is the number of a bad event, else None."""

    message: str
    remedy: str
    event: int | None = None


@dataclass(frozen=True, slots=True)
class LedgerReport:
    """What a replay of a whole ledger has found.

    ``events`` counts those that are proven to be what was written, ``blobs`` the stored objects.
    """

    run_id: str
    events: int
    blobs: int
    faults: tuple[LedgerFault, ...]

    @property
    def first_bad_event(self) -> int | None:
        """Give the number of the first event that cannot be trusted; None when there is none."""
        return min((fault.event for fault in self.faults if fault.event is not None), default=None)


def fsck(ledger: RunLedger) -> list[str]:
    """Replay all of ``ledger`` and give a sentence for each fault found; see :func:`examine`."""
    return [fault.message for fault in examine(ledger).faults]


def examine(ledger: RunLedger) -> LedgerReport:
    """Replay all of ``ledger`` and give what is wrong with it; there are no faults when it is sound.

    Looks at the file, the numbering and hash chain of all events, and at every blob that an event
    refers to.  A log is read up to its first damaged event; what follows it proves nothing.
    Raises :class:`LedgerError` when the ledger does not answer, which is not a fault of its data.
    """
    faults: list[LedgerFault] = []
    try:
        if isinstance(ledger, ChecksItsFile):
            faults += [LedgerFault(message, _RESTORE) for message in ledger.check_file()]
        events = ledger.events()
        verify_events(events)
    except LedgerCorrupt as error:
        faults.append(LedgerFault(str(error), error.remedy, error.event))
        return LedgerReport(ledger.run_id, (error.event or 1) - 1, 0, tuple(faults))
    checked: set[str] = set()
    bad: set[str] = set()
    for event, name, digest in blob_references(events):
        if not is_digest(digest):
            message = f"event {event.number} names {digest!r} as {name}, which is not a sha256"
            faults.append(LedgerFault(message, _RESTORE))
        elif digest not in checked:
            checked.add(digest)
            try:
                ledger.get_blob(digest)
            except LedgerError as error:
                bad.add(digest)
                faults.append(LedgerFault(f"event {event.number} needs {name}: {error}", error.remedy))
    return LedgerReport(ledger.run_id, len(events), len(checked - bad), tuple(faults))


def blob_references(events: Iterable[Event]) -> Iterator[tuple[Event, str, Any]]:
    """Yield event, key and value for each reference to a blob, at any depth of the events' data.

    A reference that is None says that there is no blob, and is not given.
    """
    for event in events:
        for name, value in _references(event.data):
            yield event, name, value


def _references(data: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(data, Mapping):
        for name, value in data.items():
            if name.endswith(_BLOB_KEY) and not isinstance(value, (Mapping, list)):
                if value is not None:
                    yield name, value
            else:
                yield from _references(value)
    elif isinstance(data, (list, tuple)):
        for item in data:
            yield from _references(item)
