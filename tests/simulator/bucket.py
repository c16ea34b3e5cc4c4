"""A bucket in virtual time, and npac's own ledger of objects upon it.

All of the ledger is real: its log, its lease, the way in which it finds out whose a write was.  Only the
requests go to a bucket that loses them, keeps them for a while, or drops its answers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from npac.ledger.canonical import canonical_bytes
from npac.ledger.events import DRIVER_STARTED
from npac.ledger.lease import PATIENCE
from npac.ledger.objects import layout
from npac.ledger.objects.client import Clients, InDoubt, Listing, Objects
from npac.ledger.objects.ledger import ObjectLedger
from npac.ledger.objects.log import Log as ObjectLog
from npac.ledger.objects.records import decode_record
from npac.ledger.objects.writing import Writer
from npac.ledger.ports import Event, LedgerError
from npac.ledger.surroundings import Surroundings
from tests.simulator.kernel import Actor, Kernel
from tests.simulator.ledger import Hold, Log, brief, identity
from tests.simulator.schedule import Fault

T = TypeVar("T")

REPLY = 0.01


class Bucket:
    """What is stored, and by whom; ``log`` follows what the objects say."""

    def __init__(self, kernel: Kernel, log: Log, appended: Callable[[Actor, Event], None]) -> None:
        self._kernel, self._log, self._appended = kernel, log, appended
        self.objects: dict[str, bytes] = {}

    def store(self, actor: Actor, key: str, body: bytes, *, where_none_is: bool) -> bool:
        """Carry out one write; gives False when something is there and that forbids it."""
        if where_none_is and key in self.objects:
            return False
        self.objects[key] = body
        kind, _, name = key.partition("/")
        if kind == "log":
            self._take_in(actor, key, body)
        elif kind == "released":
            self._log.holds[int(name)].released = True
            self._kernel.say(actor.name, "gives the lease back")
        elif kind == "heartbeat" and self._log.holds[int(name)].actor is actor:
            self._log.holds[int(name)].beaten = self._kernel.now
        return True

    def ask(self, kind: str, data: dict[str, Any]) -> None:
        """Leave a request, as a person does."""
        place = sum(key.startswith(layout.REQUESTS) for key in self.objects)
        body = {"asked": f"t{self._kernel.now:.3f}", "data": data, "kind": kind, "place": place}
        self.objects[layout.request(f"{place + 1:032x}")] = canonical_bytes(body)

    def _take_in(self, actor: Actor, key: str, body: bytes) -> None:
        number = layout.event_number(key)
        assert number is not None
        event = decode_record(body, number).event
        if number != len(self._log.events) + 1:
            self._kernel.violate(f"event {number} is written after event {len(self._log.events)}")
            return
        if event.type == DRIVER_STARTED:
            self._log.holds[event.fence] = Hold(actor)
        hold = self._log.holds[event.fence]
        if hold.actor is not actor or event.fence < self._log.fence:
            self._kernel.violate(f"{actor.name} appends event {number} with fence {event.fence}")
        hold.beaten = self._kernel.now
        self._log.events.append(event)
        self._kernel.say(actor.name, f"appends {number} {event.type} {brief(event)}")
        self._appended(actor, event)


class BucketObjects(Objects):
    """The bucket as one driver reaches it."""

    def __init__(self, kernel: Kernel, bucket: Bucket, actor: Actor) -> None:
        super().__init__("s3://sim/runs/run", Clients())
        self._kernel, self._stored, self._actor = kernel, bucket, actor

    def get(self, key: str) -> bytes | None:
        return self._ask("get", key, lambda faults: self._stored.objects.get(key))

    def put(self, key: str, body: bytes) -> None:
        self._ask("put", key, lambda faults: self._stored.store(self._actor, key, body, where_none_is=False))

    def list(self, prefix: str, *, delimiter: str = "") -> Listing:
        def effect(faults: Sequence[Fault]) -> Listing:
            return Listing(sorted(key for key in self._stored.objects if key.startswith(prefix)), [])

        return self._ask("list", prefix, effect)

    def _put_once(self, key: str, body: bytes, condition: dict[str, str]) -> bool:
        kernel, where_none_is = self._kernel, bool(condition)

        def effect(faults: Sequence[Fault]) -> bool:
            fates = {fault.what: fault.amount for fault in faults}
            if "bucket-lost" in fates:
                kernel.say("bucket", f"never sees the write of {key}")
                raise InDoubt("connection reset")
            if "bucket-late" in fates:
                kernel.say("bucket", f"sees the write of {key} in {fates['bucket-late']:g} s")
                kernel.at(
                    fates["bucket-late"],
                    lambda: self._stored.store(self._actor, key, body, where_none_is=where_none_is),
                )
                raise InDoubt("no answer in time")
            done = self._stored.store(self._actor, key, body, where_none_is=where_none_is)
            if "bucket-reply-lost" in fates:
                kernel.say("bucket", f"stores {key}, and its answer is lost")
                raise InDoubt("500")
            # A client that repeats what it has sent meets its own write, and is refused.
            return done and "bucket-412" not in fates

        return self._ask("put_new" if where_none_is else "put_soon", key, effect)

    def _ask(self, verb: str, key: str, act: Callable[[Sequence[Fault]], T]) -> T:
        def effect(faults: Sequence[Fault]) -> T:
            if any(fault.what == "bucket-error" for fault in faults):
                self._kernel.say("bucket", f"does not answer to {verb} {key}")
                raise LedgerError("the bucket does not answer", remedy="look at the bucket")
            return act(faults)

        return self._kernel.call(self._actor, f"bucket.{verb} {key.partition('/')[0]}", REPLY, effect)


class _OneByOne(ObjectLog):
    """A log that reads one object after the other: here only one thing happens at a time."""

    def _get(self, keys: Sequence[str]) -> list[bytes | None]:
        return [self._objects.get(key) for key in keys]


def object_ledger(kernel: Kernel, bucket: Bucket, actor: Actor, run_id: str) -> ObjectLedger:
    """Open the real ledger of objects for one driver."""
    objects = BucketObjects(kernel, bucket, actor)
    numbers = itertools.count(actor.number * 1_000_000)

    def clock() -> float:
        return kernel.clock(actor, kernel.now)

    def sleep(seconds: float) -> None:
        kernel.call(actor, "wait", seconds, lambda faults: None)

    around = Surroundings(
        clock=clock,
        sleep=sleep,
        now=lambda: f"t{kernel.now:.3f}",
        new_id=lambda: f"{next(numbers):032x}",
        process=lambda: identity(actor),
    )
    return ObjectLedger(
        objects,
        run_id,
        _OneByOne(objects),
        Writer(clock, sleep, PATIENCE.settle),
        surroundings=around,
        before_taking=lambda: None,
    )
