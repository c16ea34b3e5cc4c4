"""A run's ledger in memory: the real events, their real hashes, and the real rules of the lease."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from npac.ledger import lease
from npac.ledger.canonical import canonical_bytes
from npac.ledger.events import DRIVER_STARTED, ZEROS, Chain, decode, encode
from npac.ledger.ports import Event, LeaseLost, LedgerCorrupt, LedgerError, Request
from npac.ledger.process import Liveness, ProcessIdentity
from tests.simulator.kernel import Actor, Kernel
from tests.simulator.schedule import Fault

T = TypeVar("T")

REPLY = 0.005


@dataclass
class Hold:
    """What the ledger knows of one driver's lease."""

    actor: Actor
    counter: int = 0
    beaten: float = 0.0
    released: bool = False


@dataclass
class Log:
    """What is on disk."""

    run_id: str
    events: list[Event] = field(default_factory=list)
    holds: dict[int, Hold] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    answers: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def fence(self) -> int:
        """Give the fence in force."""
        return self.events[-1].fence if self.events else 0

    def ask(self, kind: str, data: Mapping[str, Any]) -> str:
        """Leave a request."""
        request = Request(f"request-{len(self.asked) + 1}", kind, dict(data))
        self.asked.append(request)
        return request.id

    def of(self, *types: str) -> list[Event]:
        """Give the events of some types."""
        return [event for event in self.events if event.type in types]


def identity(actor: Actor) -> ProcessIdentity:
    """Give what a driver's process leaves of itself."""
    return ProcessIdentity(actor.host, actor.number, "1", actor.host, actor.host, actor.host)


class SimLedger:
    """The ledger as one driver sees it."""

    def __init__(
        self, kernel: Kernel, log: Log, actor: Actor, appended: Callable[[Actor, Event], None]
    ) -> None:
        self._kernel, self._log, self._actor, self._appended = kernel, log, actor, appended
        self.run_id = log.run_id

    # --- the lease --------------------------------------------------------------------------

    def take(self, driver: Mapping[str, Any]) -> int:
        while True:
            reason, seen = lease.await_lease(self._look, self._clock, self._wait)
            fence = self._call("take", partial(self._taken, driver, reason, seen))
            if fence:
                return fence

    def heartbeat(self, fence: int) -> None:
        def beat() -> None:
            self._demand(fence)
            self._beat(fence)

        self._call("heartbeat", beat)

    def release(self, fence: int) -> None:
        def give_back() -> None:
            if not (self._log.fence == fence and self._log.holds[fence].released):
                self._demand(fence)
                self._log.holds[fence].released = True
                self._kernel.say(self._actor.name, "gives the lease back")

        self._call("release", give_back)

    def holder(self) -> Mapping[str, Any] | None:
        def look() -> Mapping[str, Any] | None:
            fence = self._log.fence
            if not fence:
                return None
            hold = self._log.holds[fence]
            return {
                "fence": fence,
                "driver": {},
                "released": hold.released,
                "liveness": self._liveness(hold),
            }

        return self._call("holder", look)

    def _taken(self, driver: Mapping[str, Any], reason: str, seen: lease.Sighting | None) -> int:
        latest = self._sight()
        if (latest is None) != (seen is None) or (latest and seen and not latest.same(seen)):
            return 0
        fence = self._log.fence + 1
        hold = Hold(self._actor, beaten=self._kernel.now)
        self._log.holds[fence] = hold
        data = {
            "driver": dict(driver),
            "process": identity(self._actor).data(),
            "replaced": {"fence": seen.fence, "because": reason} if seen else None,
        }
        self._write(DRIVER_STARTED, data, fence)
        return fence

    def _look(self) -> lease.Sighting | None:
        return self._call("look", self._sight)

    def _wait(self, seconds: float) -> None:
        self._kernel.call(self._actor, "wait", seconds, lambda faults: None)

    def _sight(self) -> lease.Sighting | None:
        fence = self._log.fence
        if not fence:
            return None
        hold = self._log.holds[fence]
        holder, here = identity(hold.actor), identity(self._actor)
        # What a heartbeat was written with is a clock of the holder's own host.
        beaten = self._kernel.clock(hold.actor, hold.beaten)
        silent = max(0.0, self._clock() - beaten) if holder.shares_clock(here) else 0.0
        return lease.Sighting(
            fence, hold.counter, hold.released, self._liveness(hold), silent, hold.actor.name
        )

    def _clock(self) -> float:
        return self._kernel.clock(self._actor, self._kernel.now)

    def _liveness(self, hold: Hold) -> Liveness:
        if hold.actor.host != self._actor.host:
            return "unknown"
        return "alive" if hold.actor.alive else "dead"

    def _demand(self, fence: int) -> None:
        if fence != self._log.fence or self._log.holds[fence].released:
            raise LeaseLost(f"fence {fence} is not in force", remedy="stop this driver")

    def _beat(self, fence: int) -> None:
        hold = self._log.holds[fence]
        hold.counter += 1
        hold.beaten = self._kernel.now

    # --- events -----------------------------------------------------------------------------

    def append(self, type: str, data: Mapping[str, Any], fence: int) -> Event:
        def write() -> Event:
            self._demand(fence)
            self._beat(fence)
            return self._write(type, data, fence)

        return self._call(f"append {type}", write)

    def events(self, after: int = 0) -> Sequence[Event]:
        def read() -> Sequence[Event]:
            # Read back from its bytes once, when it was written; whether they fit is seen every time.
            chain = Chain()
            for event in self._log.events:
                chain.link(event)
            return self._log.events[after:]

        return self._call("events", read)

    def _write(self, type: str, data: Mapping[str, Any], fence: int) -> Event:
        log = self._log
        previous = log.events[-1].digest if log.events else ZEROS
        number = len(log.events) + 1
        body, digest = encode(number, type, fence, data, f"t{self._kernel.now:.3f}", previous)
        event = decode(body, digest, number)
        log.events.append(event)
        self._kernel.say(self._actor.name, f"appends {number} {type} {brief(event)}")
        self._appended(self._actor, event)
        return event

    # --- blobs and requests -----------------------------------------------------------------

    def put_blob(self, data: bytes) -> str:
        def write() -> str:
            digest = hashlib.sha256(data).hexdigest()
            self._log.blobs[digest] = data
            return digest

        return self._call("put_blob", write)

    def get_blob(self, digest: str) -> bytes:
        try:
            return self._log.blobs[digest]
        except KeyError:
            raise LedgerCorrupt(f"there is no blob {digest}") from None

    def ask(self, kind: str, data: Mapping[str, Any]) -> str:
        return self._call("ask", lambda: self._log.ask(kind, data))

    def requests(self) -> Sequence[Request]:
        return self._call(
            "requests", lambda: [each for each in self._log.asked if each.id not in self._log.answers]
        )

    def answer(self, request_id: str, fence: int, result: Mapping[str, Any]) -> None:
        def write() -> None:
            self._demand(fence)
            canonical_bytes(result)
            self._log.answers[request_id] = dict(result)
            self._kernel.say(self._actor.name, f"answers {request_id}: {result}")

        self._call("answer", write)

    def result(self, request_id: str) -> Mapping[str, Any] | None:
        return self._log.answers.get(request_id)

    def _call(self, verb: str, act: Callable[[], T]) -> T:
        def effect(faults: Sequence[Fault]) -> T:
            for fault in faults:
                if fault.what == "ledger-error":
                    self._kernel.say("ledger", f"does not take {verb}")
                    raise LedgerError("the disk does not answer", remedy="look at the disk")
            done = act()
            for fault in faults:
                if fault.what == "ledger-reply-lost":
                    self._kernel.say("ledger", f"does {verb}, but its answer is lost")
                    raise LedgerError("the disk does not answer", remedy="look at the disk")
            return done

        cost = REPLY if verb.startswith("append") else REPLY / 5
        return self._kernel.call(self._actor, f"ledger.{verb}", cost, effect)


def brief(event: Event) -> str:
    """Give the few fields of an event that a story needs."""
    shown = (
        "node",
        "attempt",
        "n",
        "outcome",
        "job_id",
        "status",
        "state",
        "code",
        "decision",
        "adopted",
        "why",
        "how",
    )
    parts = [f"{key}={event.data[key]}" for key in shown if event.data.get(key) not in (None, "")]
    if isinstance(event.data.get("job"), dict):
        parts.append(f"job={event.data['job']['id']}")
    if event.data.get("reason"):
        parts.append(f"({str(event.data['reason'])[:100]})")
    return " ".join(parts)
