"""The ledger of one run below a prefix of a bucket."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from npac.ledger.canonical import canonical_bytes
from npac.ledger.events import DRIVER_STARTED, Chain, corrupt, encode
from npac.ledger.lease import Lease, Sighting, await_lease
from npac.ledger.objects import layout
from npac.ledger.objects.blobs import BlobObjects
from npac.ledger.objects.client import Objects
from npac.ledger.objects.log import Log
from npac.ledger.objects.records import LIMIT, Record, decode_object, decode_record, encode_record
from npac.ledger.objects.requests import RequestObjects
from npac.ledger.objects.writing import Taken, Writer
from npac.ledger.outside import writable
from npac.ledger.ports import Event, LeaseHeld, LeaseLost, LedgerCorrupt, LedgerError, Request
from npac.ledger.process import ProcessIdentity, liveness
from npac.ledger.surroundings import Surroundings


class ObjectLedger:
    """A :class:`~npac.ledger.ports.RunLedger` of objects.

    Events are numbered from 1.  The fence is the number of drivers that ever took the run.  Only the
    object that took the run may write with its fence.  All methods may be called from several
    threads; all raise :class:`LedgerError` for what the store or another driver does.
    """

    def __init__(
        self,
        objects: Objects,
        run_id: str,
        log: Log,
        writer: Writer,
        *,
        surroundings: Surroundings,
        before_taking: Callable[[], None],
    ) -> None:
        """Open the existing run whose objects are ``objects``.

        ``log`` may be shared with other ledgers.  ``before_taking`` raises :class:`LedgerError` where
        the store would not keep two drivers apart.
        """
        self.run_id = run_id
        self.lease: Lease | None = None
        """The lease that this object took last; its clock is that of ``surroundings``."""
        self._objects = objects
        self._log = log
        self._writer = writer
        self._around = surroundings
        self._before_taking = before_taking
        self._blobs = BlobObjects(objects)
        self._requests = RequestObjects(objects, writer, run_id)
        self._lock = threading.RLock()
        self._given_back: set[int] = set()
        self._beats = 0
        self._pending: list[bytes] = []
        """Records of this driver whose outcome is unknown, all of one number."""

    def close(self) -> None:
        """Do nothing: nothing is kept open; the lease stays as it is."""

    # The lease ---------------------------------------------------------------------------------

    def take(self, driver: Mapping[str, Any]) -> int:
        """Take the lease by appending ``driver-started``; gives the fence.

        The event's data holds ``driver`` as given, ``process`` (the identity of this process) and
        ``replaced``: None for the first driver, else the ``fence`` before and ``because``, which is
        ``released``, ``dead`` or ``silent``.

        Waits up to 60 s for a sign of life where the holder can be neither proven alive nor dead, and
        30 s more when it gives one in the very moment in which it is replaced.
        Raises :class:`LeaseHeld` when it is, or may be, alive.
        """
        self._before_taking()
        clock = self._around.clock
        while True:
            looked = _Looked()
            reason, seen = await_lease(
                partial(self._look, looked), clock, self._around.sleep, self._around.patience
            )
            sent = clock()
            data = {
                "driver": driver,
                "process": self._around.process().data(),
                "replaced": {"fence": seen.fence, "because": reason} if seen else None,
            }
            fence = looked.chain.fence + 1
            record = self._encoded(looked.chain, DRIVER_STARTED, data, fence, sent)
            with self._lock:
                try:
                    self._writer.write(self._objects, layout.event(record.event.number), record.body)
                except Taken as taken:
                    # Someone wrote first: the holder, or another taker.  Both are a sign of life.
                    decode_record(taken.found, record.event.number)
                    continue
                self._log.extend(record)
                self._pending.clear()
                self._beats = 0
                self.lease = Lease(fence, sent, self._around.patience)
            if reason == "silent":
                self._outwait(looked)
            else:
                self._beat_if_can(fence)
            return fence

    def heartbeat(self, fence: int) -> None:
        """Say that the holder of ``fence`` is alive; raises :class:`LeaseLost`."""
        with self._lock:
            self._demand_taken(fence)
            sent = self._around.clock()
            self._beats += 1
            body = {
                "beat": self._beats,
                "nonce": self._around.new_id(),
                "number": self._log.chain().number,
                "sent_ms": _ms(sent),
            }
            self._objects.put_soon(layout.heartbeat(fence), canonical_bytes(body))
            # In this order: a taker that takes after this look finds the heartbeat, and waits it out.
            self._demand_in_force(fence, self._log.sync())
            self._beaten(fence, sent)

    def release(self, fence: int) -> None:
        """Give the lease back; nothing may be appended with ``fence`` afterwards.

        Giving it back twice is no error.  Raises :class:`LeaseLost` when another driver took it.
        """
        with self._lock:
            chain = self._log.sync()
            if fence in self._given_back and chain.fence == fence:
                return
            self._demand_in_force(fence, chain)
            self._demand_taken(fence)
            body = {"digest": chain.digest, "nonce": self._around.new_id(), "number": chain.number}
            # What is there already is an earlier attempt: nobody else gives this lease back.
            with suppress(Taken):
                self._writer.write(self._objects, layout.released(fence), canonical_bytes(body))
            self._given_back.add(fence)
            self.lease = None
        self._log.write_snapshot(now=True)

    def holder(self) -> Mapping[str, Any] | None:
        """Give ``fence``, ``driver``, ``process``, ``released`` and ``liveness`` of the last driver.

        None when no driver ever took the run.
        """
        fence = self._log.sync().fence
        if fence == 0:
            return None
        event = self._log.started(fence)
        identity = _identity(event)
        return {
            "fence": fence,
            "driver": event.data.get("driver", {}),
            "process": identity.data(),
            "released": self._objects.get(layout.released(fence)) is not None,
            "liveness": liveness(identity, self._around.process()),
        }

    def _look(self, looked: _Looked) -> Sighting | None:
        looked.chain = chain = self._log.sync()
        if chain.fence == 0:
            return None
        key = layout.heartbeat(chain.fence)
        looked.beat = beat = self._objects.get(key)
        released = self._objects.get(layout.released(chain.fence)) is not None
        holder = _identity(self._log.started(chain.fence))
        here = self._around.process()
        silent = 0.0
        last = self._log.last()
        # Only on the very same clock do the times of signs of life mean anything here.
        if holder.shares_clock(here) and last is not None and last.event.number == chain.number:
            signs = [last.sent_ms]
            if beat is not None:
                signs.append(decode_object(beat, self._objects.uri(key), {"sent_ms": int})["sent_ms"])
            silent = max(0.0, self._around.clock() - max(signs) / 1e3)
        who = f"process {holder.pid} on {holder.host or 'an unnamed host'}"
        return Sighting(chain.fence, (chain.number, beat), released, liveness(holder, here), silent, who)

    def _outwait(self, looked: _Looked) -> None:
        """Act only when the one that was replaced as silent has certainly seen that it was.

        It may have woken up after it was last looked at, and its last good heartbeat, which it sent
        before the run was taken, lets it act for some time.
        """
        fence = looked.chain.fence + 1
        try:
            woke = self._objects.get(layout.heartbeat(fence - 1)) != looked.beat
        except LedgerError:
            woke = True
        self._beat_if_can(fence)
        if woke:
            until = self._around.clock() + self._around.patience.may_act
            while self._around.clock() <= until:
                self._around.sleep(self._around.patience.look_every)
            try:
                self.heartbeat(fence)
            except LeaseLost as error:
                raise LeaseHeld(str(error), remedy=error.remedy) from error

    def _beat_if_can(self, fence: int) -> None:
        # The event that took the run is a sign of life already.
        try:
            self.heartbeat(fence)
        except LeaseLost as error:
            raise LeaseHeld(str(error), remedy=error.remedy) from error
        except LedgerError:
            return

    def _demand_taken(self, fence: int) -> None:
        """Raise :class:`LeaseLost` unless this object took ``fence`` and has not given it back."""
        if self.lease is not None and self.lease.fence == fence:
            return
        if fence in self._given_back:
            self._demand_in_force(fence, self._log.sync())
            raise LeaseLost(
                f"run {self.run_id}: fence {fence} has been given back",
                remedy="Take the run again before writing to it.",
            )
        self._demand_in_force(fence, self._log.sync())
        raise LeaseLost(
            f"run {self.run_id}: fence {fence} was not taken here",
            remedy="Take the run before writing to it.",
        )

    def _demand_in_force(self, fence: int, chain: Chain) -> None:
        current = chain.fence
        if fence != current or current == 0:
            took = f"driver {current} has taken the run" if current > fence else "no driver has that fence"
            raise LeaseLost(
                f"run {self.run_id}: fence {fence} is not in force ({took})",
                remedy=f"Stop this driver; `npac status {self.run_id}` shows how the run goes on.",
            )

    def _beaten(self, fence: int, sent: float) -> None:
        if self.lease is not None and self.lease.fence == fence:
            self.lease.beaten(sent)

    # Events ------------------------------------------------------------------------------------

    def append(self, type: str, data: Mapping[str, Any], fence: int) -> Event:
        """Append one event, stored when this returns; it counts as a heartbeat too.

        Data too long for an object of the log goes to a blob, and the event is ``{"data_blob": digest}``.

        Raises :class:`LeaseLost` when another fence has been taken since, and :class:`ValueError`
        when ``data`` is not plain JSON data or the type is the one that :meth:`take` writes.
        After any other :class:`LedgerError` the event may be there or not: read before going on.
        """
        if type == DRIVER_STARTED or not type:
            raise ValueError(f"an event of type {type!r} cannot be appended; take the run instead")
        with self._lock:
            self._demand_taken(fence)
            sent = self._around.clock()
            while True:
                chain = self._log.chain()
                self._demand_in_force(fence, chain)
                record = self._encoded(chain, type, data, fence, sent)
                try:
                    self._write(record)
                    break
                except Taken as taken:
                    self._meet(taken.found, record.event.number, fence)
            self._log.extend(record)
            self._beaten(fence, sent)
            if self._around.clock() - sent > self._around.patience.may_act:
                # It took so long that the lease may be gone, and what follows relies on it.
                self.heartbeat(fence)
        self._log.write_snapshot()
        return record.event

    def _write(self, record: Record) -> None:
        try:
            self._writer.write(self._objects, layout.event(record.event.number), record.body)
        except LedgerError:
            self._pending.append(record.body)
            raise
        self._pending.clear()

    def _meet(self, found: bytes, number: int, fence: int) -> None:
        """Take in what is under the number of an event that was to be written."""
        record = decode_record(found, number)
        self._log.extend(record)
        if found in self._pending:
            self._pending.clear()
            return
        self._demand_in_force(fence, self._log.chain())
        raise LeaseLost(
            f"run {self.run_id}: event {number} was written with fence {fence} by another process",
            remedy=f"Stop this driver; `npac status {self.run_id}` shows how the run goes on.",
        )

    def events(self, after: int = 0) -> Sequence[Event]:
        """Give the events numbered above ``after``, verified.

        Raises :class:`LedgerCorrupt` naming the first event that is damaged or missing.
        """
        self._log.sync()
        return self._log.events(after)

    def _encoded(self, chain: Chain, type: str, data: Mapping[str, Any], fence: int, sent: float) -> Record:
        at, nonce = self._around.now(), self._around.new_id()
        number = chain.number + 1
        event, digest = encode(number, type, fence, data, at, chain.digest)
        body = encode_record(event, digest, nonce, _ms(sent))
        if len(body) > LIMIT:
            if type == DRIVER_STARTED:
                raise ValueError(f"what a driver says of itself has more than {LIMIT} bytes")
            spilled = {"data_blob": self.put_blob(canonical_bytes(writable(data)))}
            event, digest = encode(number, type, fence, spilled, at, chain.digest)
            body = encode_record(event, digest, nonce, _ms(sent))
        return decode_record(body, number)

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
        self._requests.ask(request_id, kind, data, self._around.now())
        return request_id

    def requests(self) -> Sequence[Request]:
        """Give the requests that no driver has answered yet, oldest first."""
        return self._requests.open()

    def answer(self, request_id: str, fence: int, result: Mapping[str, Any]) -> None:
        """Mark a request as dealt with by the holder of ``fence``.

        Raises :class:`LeaseLost`, and :class:`LedgerError` when there is no such open request.
        """
        with self._lock:
            self._demand_taken(fence)
            self._demand_in_force(fence, self._log.sync())
            self._requests.answer(request_id, fence, self._around.new_id(), result)

    def result(self, request_id: str) -> Mapping[str, Any] | None:
        """Give what a driver answered to a request; None while it is open.

        Raises :class:`LedgerError` when the run has no such request.
        """
        return self._requests.result(request_id)

    def check_file(self) -> list[str]:
        """Forget what was verified, and look at what is no event; gives a sentence for each fault.

        Every object of the log must be one of its events, and every request must be readable.
        """
        self._log.forget(snapshot=False)
        head = self._log.sync()
        faults = []
        numbers = []
        for key in self._objects.list(layout.LOG).keys:
            number = layout.event_number(key)
            if number is None:
                faults.append(f"{self._objects.uri(key)} is no event")
            else:
                numbers.append(number)
        beyond = [number for number in numbers if number > head.number]
        if beyond and self._log.sync().number < max(beyond):
            raise corrupt(head.number + 1, f"it is missing, and the log goes on with event {min(beyond)}")
        for fence in range(1, head.fence + 1):
            faults += self._lease_faults(fence, self._log.events())
        return faults + self._requests.faults()

    def _lease_faults(self, fence: int, events: Sequence[Event]) -> list[str]:
        key = layout.released(fence)
        body = self._objects.get(key)
        if body is None:
            return []
        try:
            fields = decode_object(body, self._objects.uri(key), {"digest": str, "number": int})
        except LedgerCorrupt as error:
            return [str(error)]
        number, digest = fields["number"], fields["digest"]
        if number > len(events) or number < 1 or events[number - 1].digest != digest:
            return [f"driver {fence} has left the log with another event {number} than it has now"]
        return []


class _Looked:
    """What a taker saw when it last looked."""

    def __init__(self) -> None:
        self.chain = Chain()
        self.beat: bytes | None = None


def _identity(event: Event) -> ProcessIdentity:
    process = event.data.get("process")
    try:
        return ProcessIdentity.from_data(process if isinstance(process, dict) else {})
    except ValueError:
        raise corrupt(event.number, "it does not say which process took the run") from None


def _ms(seconds: float) -> int:
    return round(seconds * 1e3)
