"""The log of one run, read by numbers and kept in memory as far as it is verified.

Its end is the first number at which nothing is.  That the log ends there is believed only when nothing
else of the run speaks of a later event: a log that lost its end must not be gone on with.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from npac.ledger.canonical import canonical_bytes
from npac.ledger.events import DRIVER_STARTED, Chain, corrupt
from npac.ledger.objects import layout
from npac.ledger.objects.client import Objects
from npac.ledger.objects.records import Record, decode_object, decode_record
from npac.ledger.ports import Event, LedgerCorrupt, LedgerError

_MOST_AT_ONCE = 16
_LOOKED_BEYOND = 4
"""How many numbers must be free for a log that was not read before to end there."""

_SNAPSHOT_FROM = 32
"""Shorter logs are read as fast without a snapshot."""


class Log:
    """The events of a run, from the first to the last that is known.  May be used by several threads."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._lock = threading.RLock()
        self.forget()

    def forget(self, *, snapshot: bool = True) -> None:
        """Verify all anew at the next look; without the ``snapshot``, if so wished."""
        with self._lock:
            self._records: list[Record] = []
            self._chain = Chain()
            self._may_use_snapshot = snapshot
            self._snapshot_number = 0
            self._end_proven = False

    def chain(self) -> Chain:
        """Give where the log ends as far as it is known."""
        with self._lock:
            return self._chain.copy()

    def events(self, after: int = 0) -> list[Event]:
        """Give the events that are known and numbered above ``after``."""
        with self._lock:
            return [record.event for record in self._records[max(after, 0) :]]

    def last(self) -> Record | None:
        """Give the last record that is known."""
        with self._lock:
            return self._records[-1] if self._records else None

    def started(self, fence: int) -> Event:
        """Give the ``driver-started`` of a fence; raises :class:`LedgerCorrupt`."""
        with self._lock:
            for record in reversed(self._records):
                if record.event.type == DRIVER_STARTED and record.event.fence == fence:
                    return record.event
        raise LedgerCorrupt(f"the log does not hold the start of driver {fence}")

    def sync(self) -> Chain:
        """Read on to the end of the log, and give it.

        Raises :class:`LedgerCorrupt` naming the first event that is damaged or missing.
        """
        with self._lock:
            if not self._records and self._may_use_snapshot:
                self._may_use_snapshot = False
                self._read_snapshot()
            self._read_on()
            if not self._end_proven:
                self._demand_end()
                self._end_proven = True
            return self._chain.copy()

    def extend(self, record: Record) -> None:
        """Take in an event that is known to be in the log; one that is known already changes nothing.

        Raises :class:`LedgerCorrupt` when it does not follow the last one.
        """
        with self._lock:
            if record.event.number > self._chain.number:
                self._chain.link(record.event)
                self._records.append(record)

    def write_snapshot(self, *, now: bool = False) -> None:
        """Write a snapshot if the log has doubled since the last one, or ``now``.

        That it cannot be written is no fault: nothing but time is lost without it.
        """
        with self._lock:
            number, digest = self._chain.number, self._chain.digest
            if number < max(_SNAPSHOT_FROM, self._snapshot_number + (1 if now else self._snapshot_number)):
                return
            head = canonical_bytes({"digest": digest, "number": number})
            body = b"\n".join([head, *(record.body for record in self._records)])
            self._snapshot_number = number
        try:
            self._objects.put_soon(layout.SNAPSHOT, body)
        except LedgerError:
            return

    def _read_on(self) -> None:
        """Read up to the first number at which nothing is, and at first some way beyond it, for a gap."""
        beyond = 1 if self._end_proven else _LOOKED_BEYOND
        width = beyond
        while True:
            first = self._chain.number + 1
            bodies = self._get([layout.event(number) for number in range(first, first + width)])
            width = min(4 * width, _MOST_AT_ONCE)
            for place, body in enumerate(bodies):
                if body is None:
                    if all(later is None for later in bodies[place:]):
                        if len(bodies) - place >= beyond:
                            return
                        width = beyond
                        break
                    # Written since it was looked for, unless it is gone.
                    body = self._objects.get(layout.event(first + place))
                    if body is None:
                        raise corrupt(first + place, "it is missing, and the log goes on after it")
                self.extend(decode_record(body, first + place))

    def _get(self, keys: Sequence[str]) -> list[bytes | None]:
        if len(keys) == 1:
            return [self._objects.get(keys[0])]
        with ThreadPoolExecutor(len(keys)) as readers:
            return list(readers.map(self._objects.get, keys))

    def _read_snapshot(self) -> None:
        """Begin with the events of the snapshot, if the log's own object shows that they are the log's."""
        body = self._objects.get(layout.SNAPSHOT)
        if body is None:
            return
        head, *lines = body.split(b"\n")
        try:
            number = decode_object(head, "", {"number": int, "digest": str})["number"]
            chain, records = Chain(), []
            for line in lines:
                record = decode_record(line, chain.number + 1)
                chain.link(record.event)
                records.append(record)
        except LedgerCorrupt:
            return
        if not records or chain.number != number:
            return
        last = self._objects.get(layout.event(number))
        if last is None:
            raise corrupt(number, "it is missing, and a snapshot of the log holds it")
        # The hash chain of this one event covers all events before it.
        if last == records[-1].body:
            self._records, self._chain, self._snapshot_number = records, chain, number

    def _demand_end(self) -> None:
        """Refuse a log that ends before an event that one of its drivers has seen."""
        for _ in range(2):
            seen = self._seen_by_drivers()
            if seen <= self._chain.number:
                return
            # Written since the log was read, unless it is gone.
            self._read_on()
        if seen > self._chain.number:
            raise corrupt(
                self._chain.number + 1, f"it is missing, and a driver has seen the log go up to {seen}"
            )

    def _seen_by_drivers(self) -> int:
        fence = self._chain.fence
        keys = [layout.heartbeat(fence + 1)]
        if fence:
            keys += [layout.heartbeat(fence), layout.released(fence)]
        found = 0
        for key, body in zip(keys, self._get(keys), strict=True):
            if body is not None:
                fields = decode_object(body, self._objects.uri(key), {"number": int})
                found = max(found, fields["number"])
        return found
