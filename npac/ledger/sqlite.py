"""The ledger of one run in a folder: an event log in SQLite beside a folder of blobs."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from npac.ledger.blobs import BlobFolder
from npac.ledger.canonical import canonical_bytes, parse
from npac.ledger.database import Database
from npac.ledger.events import DRIVER_STARTED, Chain, corrupt, decode, encode
from npac.ledger.lease import Lease, Sighting, await_lease
from npac.ledger.outside import writable
from npac.ledger.ports import Event, LeaseLost, LedgerCorrupt, LedgerError, Request
from npac.ledger.process import ProcessIdentity, liveness
from npac.ledger.surroundings import Surroundings

DATABASE = "ledger.sqlite"
BLOBS = "blobs"


class SqliteLedger:
    """A :class:`~npac.ledger.ports.RunLedger` in ``folder``.

    Events are numbered from 1.  The fence is the number of drivers that ever took the run.  All
    methods may be called from several threads and by several processes at a time; all raise
    :class:`LedgerError` for what the disk or another process does.
    """

    def __init__(
        self,
        folder: Path,
        run_id: str,
        *,
        surroundings: Surroundings | None = None,
        busy_seconds: float = 10.0,
    ) -> None:
        """Open the existing ledger in ``folder``; ``busy_seconds`` bounds waits for other writers."""
        self.run_id = run_id
        self.folder = folder
        self.lease: Lease | None = None
        """The lease that this object took last; its clock is that of ``surroundings``."""
        self._around = surroundings or Surroundings()
        self._database = Database(folder / DATABASE, busy_seconds=busy_seconds)
        self._blobs = BlobFolder(folder / BLOBS)

    def close(self) -> None:
        """Close the file; the lease stays as it is."""
        self._database.close()

    # The lease ---------------------------------------------------------------------------------

    def take(self, driver: Mapping[str, Any]) -> int:
        """Take the lease by appending ``driver-started``; gives the fence.

        The event's data holds ``driver`` as given, ``process`` (the identity of this process) and
        ``replaced``: None for the first driver, else the ``fence`` before and ``because``, which is
        ``released``, ``dead`` or ``silent``.

        Waits up to 60 s for a sign of life where the holder can be neither proven alive nor dead.
        Raises :class:`LeaseHeld` when it is, or may be, alive.
        """
        clock = self._around.clock
        while True:
            reason, seen = await_lease(self._look, clock, self._around.sleep, self._around.patience)
            sent = clock()
            with self._database.write() as connection:
                latest = self._sight(connection)
                if (latest is None) != (seen is None):
                    continue
                if latest is not None and seen is not None and not latest.same(seen):
                    continue
                fence = _head(connection).fence + 1
                data = {
                    "driver": driver,
                    "process": self._around.process().data(),
                    "replaced": {"fence": seen.fence, "because": reason} if seen else None,
                }
                event = self._append(connection, DRIVER_STARTED, data, fence)
                connection.execute(
                    "INSERT INTO leases VALUES (?, ?, 0, ?, 0)", (fence, event.number, _ns(sent))
                )
            self.lease = Lease(fence, sent, self._around.patience)
            return fence

    def heartbeat(self, fence: int) -> None:
        """Say that the holder of ``fence`` is alive; raises :class:`LeaseLost`."""
        sent = self._around.clock()
        with self._database.write() as connection:
            self._demand(connection, fence)
            _beat(connection, fence, sent)
        self._beaten(fence, sent)

    def release(self, fence: int) -> None:
        """Give the lease back; nothing may be appended with ``fence`` afterwards.

        Giving it back twice is no error.  Raises :class:`LeaseLost` when another driver took it.
        """
        with self._database.write() as connection:
            if not (_head(connection).fence == fence and _lease(connection, fence)[2]):
                self._demand(connection, fence)
                connection.execute("UPDATE leases SET released = 1 WHERE fence = ?", (fence,))
        if self.lease is not None and self.lease.fence == fence:
            self.lease = None

    def holder(self) -> Mapping[str, Any] | None:
        """Give ``fence``, ``driver``, ``process``, ``released`` and ``liveness`` of the last driver.

        None when no driver ever took the run.
        """
        with self._database.read() as connection:
            fence = _head(connection).fence
            if fence == 0:
                return None
            event = _started(connection, fence)
            released = _lease(connection, fence)[2]
        identity = _identity(event)
        return {
            "fence": fence,
            "driver": event.data.get("driver", {}),
            "process": identity.data(),
            "released": released,
            "liveness": liveness(identity, self._around.process()),
        }

    def _look(self) -> Sighting | None:
        with self._database.read() as connection:
            return self._sight(connection)

    def _sight(self, connection: sqlite3.Connection) -> Sighting | None:
        fence = _head(connection).fence
        if fence == 0:
            return None
        counter, beat_ns, released = _lease(connection, fence)
        holder = _identity(_started(connection, fence))
        here = self._around.process()
        # Only on the very same clock does the time of the last heartbeat mean anything here.
        silent = max(0.0, self._around.clock() - beat_ns / 1e9) if holder.shares_clock(here) else 0.0
        who = f"process {holder.pid} on {holder.host or 'an unnamed host'}"
        return Sighting(fence, counter, released, liveness(holder, here), silent, who)

    def _demand(self, connection: sqlite3.Connection, fence: int) -> None:
        """Raise :class:`LeaseLost` unless ``fence`` is the one in force."""
        current = _head(connection).fence
        if fence != current or current == 0:
            took = f"driver {current} has taken the run" if current > fence else "no driver has that fence"
            raise LeaseLost(
                f"run {self.run_id}: fence {fence} is not in force ({took})",
                remedy=f"Stop this driver; `npac status {self.run_id}` shows how the run goes on.",
            )
        if _lease(connection, fence)[2]:
            raise LeaseLost(
                f"run {self.run_id}: fence {fence} has been given back",
                remedy="Take the run again before writing to it.",
            )

    def _beaten(self, fence: int, sent: float) -> None:
        if self.lease is not None and self.lease.fence == fence:
            self.lease.beaten(sent)

    # Events ------------------------------------------------------------------------------------

    def append(self, type: str, data: Mapping[str, Any], fence: int) -> Event:
        """Append one event, on disk when this returns; it counts as a heartbeat too.

        Raises :class:`LeaseLost` when another fence has been taken since, and :class:`ValueError`
        when ``data`` is not plain JSON data or the type is the one that :meth:`take` writes.
        After any other :class:`LedgerError` the event may be there or not: read before going on.
        """
        if type == DRIVER_STARTED or not type:
            raise ValueError(f"an event of type {type!r} cannot be appended; take the run instead")
        sent = self._around.clock()
        with self._database.write() as connection:
            self._demand(connection, fence)
            event = self._append(connection, type, data, fence)
            _beat(connection, fence, sent)
        self._beaten(fence, sent)
        return event

    def events(self, after: int = 0) -> Sequence[Event]:
        """Give the events numbered above ``after``, verified.

        Raises :class:`LedgerCorrupt` naming the first event that is damaged or missing.
        """
        with self._database.read() as connection:
            head = _head(connection)
            rows = connection.execute(
                "SELECT number, type, fence, digest, body FROM events WHERE number >= ? ORDER BY number",
                (max(after, 1),),
            ).fetchall()
        if after > head.number:
            return []
        chain = Chain()
        if after > 0:
            if not rows or rows[0][0] != after:
                raise corrupt(after, "it is missing")
            first = _event(rows.pop(0))
            chain = Chain(first.number, first.digest, first.fence)
        found = []
        for row in rows:
            # Row by row, so that the error names the first event that does not fit.
            if row[0] != chain.number + 1:
                raise corrupt(chain.number + 1, f"it is missing, and the log goes on with event {row[0]}")
            event = _event(row)
            chain.link(event)
            found.append(event)
        if chain.number < head.number:
            raise corrupt(chain.number + 1, f"it is missing, and the log goes up to {head.number}")
        if (chain.number, chain.digest, chain.fence) != (head.number, head.digest, head.fence):
            raise corrupt(chain.number, "it is not the event that was acknowledged last")
        return found

    def _append(
        self, connection: sqlite3.Connection, type: str, data: Mapping[str, Any], fence: int
    ) -> Event:
        head = _head(connection)
        number = head.number + 1
        body, digest = encode(number, type, fence, data, self._around.now(), head.digest)
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", (number, type, fence, digest, body))
        connection.execute("UPDATE head SET number = ?, fence = ?, digest = ?", (number, fence, digest))
        return decode(body, digest, number)

    # Blobs -------------------------------------------------------------------------------------

    def put_blob(self, data: bytes) -> str:
        """Store bytes under their sha256 (hex), durably; gives the digest."""
        return self._blobs.put(data)

    def get_blob(self, digest: str) -> bytes:
        """Read bytes back; raises :class:`LedgerCorrupt` when they no longer hash to ``digest``."""
        return self._blobs.get(digest)

    # Requests ----------------------------------------------------------------------------------

    def ask(self, kind: str, data: Mapping[str, Any]) -> str:
        """Leave a request for the driver; gives its id (32 hexadecimal digits)."""
        request_id = self._around.new_id()
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO requests (id, kind, data, asked) VALUES (?, ?, ?, ?)",
                (request_id, kind, canonical_bytes(writable(data)), self._around.now()),
            )
        return request_id

    def requests(self) -> Sequence[Request]:
        """Give the requests that no driver has answered yet, oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT id, kind, data FROM requests WHERE result IS NULL ORDER BY place"
            ).fetchall()
        return [Request(id, kind, self._parsed(data, id)) for id, kind, data in rows]

    def answer(self, request_id: str, fence: int, result: Mapping[str, Any]) -> None:
        """Mark a request as dealt with by the holder of ``fence``.

        Raises :class:`LeaseLost`, and :class:`LedgerError` when there is no such open request.
        """
        with self._database.write() as connection:
            self._demand(connection, fence)
            done = connection.execute(
                "UPDATE requests SET fence = ?, result = ? WHERE id = ? AND result IS NULL",
                (fence, canonical_bytes(writable(result)), request_id),
            )
            if done.rowcount != 1:
                raise LedgerError(
                    f"run {self.run_id} has no open request {request_id}",
                    remedy="Read the open requests again; an answered one stays as it is.",
                )

    def result(self, request_id: str) -> Mapping[str, Any] | None:
        """Give what a driver answered to a request; None while it is open.

        Raises :class:`LedgerError` when the run has no such request.
        """
        with self._database.read() as connection:
            row = connection.execute("SELECT result FROM requests WHERE id = ?", (request_id,)).fetchone()
        if row is None:
            raise LedgerError(
                f"run {self.run_id} has no request {request_id}", remedy="Check the id and the run."
            )
        return None if row[0] is None else self._parsed(row[0], request_id)

    def check_file(self) -> list[str]:
        """Let SQLite check its own file, and look at what is no event; gives a sentence for each fault.

        Every driver of the log must have its lease, and every request must be readable.
        """
        with self._database.read() as connection:
            rows = connection.execute("PRAGMA quick_check").fetchall()
            head = _head(connection)
            leases = {fence for (fence,) in connection.execute("SELECT fence FROM leases")}
            asked = connection.execute("SELECT id, data FROM requests").fetchall()
        faults = [
            f"the ledger file of run {self.run_id} is damaged: {row[0]}" for row in rows if row[0] != "ok"
        ]
        drivers = set(range(1, head.fence + 1))
        faults += [f"the lease of driver {fence} is missing" for fence in sorted(drivers - leases)]
        faults += [f"there is a lease of a driver {fence!r} that never was" for fence in leases - drivers]
        for request_id, data in asked:
            try:
                self._parsed(data, request_id)
            except LedgerCorrupt as error:
                faults.append(str(error))
        return faults

    def _parsed(self, data: bytes, request_id: str) -> Mapping[str, Any]:
        try:
            value = parse(data)
        except (TypeError, ValueError):
            value = None
        if not isinstance(value, dict):
            raise LedgerCorrupt(
                f"request {request_id} of run {self.run_id} is damaged",
                remedy="Restore the run's folder from a copy.",
            )
        return value


def _head(connection: sqlite3.Connection) -> Chain:
    row = connection.execute("SELECT number, digest, fence FROM head").fetchone()
    if row is None or [type(value) for value in row] != [int, str, int]:
        raise LedgerCorrupt("the ledger does not say where its log ends", remedy="Restore it from a copy.")
    return Chain(*row)


def _lease(connection: sqlite3.Connection, fence: int) -> tuple[int, int, bool]:
    row = connection.execute(
        "SELECT counter, beat_ns, released FROM leases WHERE fence = ?", (fence,)
    ).fetchone()
    if row is None or any(type(value) is not int for value in row):
        raise LedgerCorrupt(
            f"the lease of driver {fence} is missing", remedy="Restore the ledger from a copy."
        )
    return row[0], row[1], bool(row[2])


def _beat(connection: sqlite3.Connection, fence: int, sent: float) -> None:
    connection.execute(
        "UPDATE leases SET counter = counter + 1, beat_ns = ? WHERE fence = ?", (_ns(sent), fence)
    )


def _started(connection: sqlite3.Connection, fence: int) -> Event:
    row = connection.execute(
        "SELECT e.number, e.type, e.fence, e.digest, e.body FROM events e JOIN leases l"
        " ON e.number = l.started WHERE l.fence = ? AND e.fence = ?",
        (fence, fence),
    ).fetchone()
    if row is None:
        raise LedgerCorrupt(
            f"the log does not hold the start of driver {fence}", remedy="Restore it from a copy."
        )
    return _event(row)


def _identity(event: Event) -> ProcessIdentity:
    process = event.data.get("process")
    try:
        return ProcessIdentity.from_data(process if isinstance(process, dict) else {})
    except ValueError:
        raise corrupt(event.number, "it does not say which process took the run") from None


def _event(row: tuple[int, str, int, str, bytes]) -> Event:
    number, type, fence, digest, body = row
    if not isinstance(body, bytes):
        raise corrupt(number, "its bytes do not hash to its digest")
    event = decode(body, digest, number)
    if (event.number, event.type, event.fence) != (number, type, fence):
        raise corrupt(number, "its row and its bytes do not agree")
    return event


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
