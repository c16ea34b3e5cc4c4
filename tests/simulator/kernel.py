"""Virtual time, and drivers that take turns in it: exactly one thing happens at a time.

Drivers are real code and therefore have a thread each, but only the one that holds the baton runs.
Every call that a driver makes to the outside is a point at which it can be killed, or stopped for a
while and woken; between two such points nothing can happen to it.
"""

from __future__ import annotations

import _thread
import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tests.simulator.schedule import Fault, Schedule

T = TypeVar("T")

KILL_BEFORE, KILL_AFTER = "kill-before", "kill-after"
PAUSE_BEFORE, PAUSE_AFTER = "pause-before", "pause-after"

HORIZON = 20 * 86_400.0
"""Seconds of virtual time after which a run that has neither ended nor blocked goes on for ever."""

MOST_CALLS = 60_000
"""As many calls as no run needs that gets anywhere."""


BOOTED = {"alpha": 1_000.0, "beta": 50_000.0}
"""Host to what its boot clock shows when the run begins."""


class Killed(BaseException):
    """The driver's process is gone; nothing that it would still do happens."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a story."""

    at: float
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.at:12.3f}  {self.who:<12} {self.what}"


def _held() -> _thread.LockType:
    """Give a lock that whoever asks for it waits for, until it is released."""
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


@dataclass(eq=False)
class Actor:
    """One driver: a process on a host."""

    name: str
    host: str
    number: int
    baton: _thread.LockType = field(default_factory=_held)
    dead: bool = False
    over: bool = False
    asleep_until: float = 0.0
    """Until when it is stopped, so that it gives no sign of life."""
    excused: bool = False
    """It was stopped between its last look at the clock and the effect that it is about to start."""

    @property
    def alive(self) -> bool:
        """Say whether its process exists."""
        return not (self.dead or self.over)


class Kernel:
    """The clock, the calls, and the list of what happened."""

    def __init__(self, schedule: Schedule, *, tell: bool = False) -> None:
        self.schedule = schedule
        self.now = 0.0
        self.counts: Counter[str] = Counter()
        self.violations: list[str] = []
        self.struck: list[Fault] = []
        self.last_fault = -1.0
        self.actors: list[Actor] = []
        self.side_effect: Callable[[Actor, Fault], bool] = lambda actor, fault: False
        self._tell = tell
        self.story: list[Line] = []
        self.points: list[tuple[str, int]] = []
        self._faults: dict[tuple[str, int], list[Fault]] = {}
        for fault in schedule.faults:
            self._faults.setdefault((fault.point, fault.nth), []).append(fault)
        self._queue: list[tuple[float, int, Actor | Callable[[], object]]] = []
        self._serial = itertools.count()
        self._done = _held()
        self._ended = False
        self._calls = 0

    # --- telling ----------------------------------------------------------------------------

    def say(self, who: str, what: str) -> None:
        """Add a line to the story."""
        if self._tell:
            self.story.append(Line(self.now, who, what))

    def violate(self, what: str) -> None:
        """Note that an invariant does not hold, and end the run."""
        self.violations.append(what)
        self.say("INVARIANT", what)
        self.stop()

    # --- time -------------------------------------------------------------------------------

    def clock(self, actor: Actor, moment: float) -> float:
        """Give a moment in seconds since the boot of the actor's host; no two hosts agree."""
        return moment + BOOTED[actor.host]

    def at(self, delay: float, event: Callable[[], object]) -> None:
        """Let something happen after so many seconds."""
        heapq.heappush(self._queue, (self.now + delay, next(self._serial), event))

    def spawn(self, host: str, body: Callable[[Actor], None]) -> Actor:
        """Start a driver on ``host`` now."""
        number = len(self.actors) + 1
        actor = Actor(f"driver {number}", host, number)
        self.actors.append(actor)

        def run() -> None:
            actor.baton.acquire()
            try:
                if not self._ended:
                    body(actor)
            except Killed:
                actor.dead = True
            except BaseException as error:  # a fault of npac or of the simulator: never lost with its thread
                self.violate(f"{actor.name} ended with {type(error).__name__}: {error}")
            actor.over = True
            self._pass_on(None)

        # Bare threads: hundreds of thousands are started, and none of them is ever waited for.
        _thread.start_new_thread(run, ())
        heapq.heappush(self._queue, (self.now, next(self._serial), actor))
        return actor

    def run(self) -> None:
        """Let the world go on until nothing is left to happen."""
        self._pass_on(None)
        self._done.acquire()

    def stop(self) -> None:
        """Let nothing more happen."""
        self._ended = True

    def sleep(self, actor: Actor, seconds: float) -> None:
        """Let an actor wait, and the rest of the world go on."""
        if actor.dead:
            raise Killed
        wake = self.now + seconds
        if wake < HORIZON and not self._ended and (not self._queue or self._queue[0][0] > wake):
            self.now = wake  # nothing else happens before
            return
        heapq.heappush(self._queue, (wake, next(self._serial), actor))
        self._pass_on(actor)
        if actor.dead or self._ended:
            actor.dead = True
            raise Killed

    def _pass_on(self, me: Actor | None) -> None:
        """Let events happen until an actor is next, and give it the baton; returns when ``me`` has it."""
        while self._queue:
            at, _, thing = heapq.heappop(self._queue)
            if not self._ended:
                self.now = max(self.now, at)
                if self.now > HORIZON:
                    self.violate(f"the run has neither ended nor blocked after {HORIZON:g} s")
            if isinstance(thing, Actor):
                if thing is me:
                    return
                thing.baton.release()
                if me is not None:
                    me.baton.acquire()
                return
            if not self._ended:
                thing()
        self._done.release()

    # --- calls ------------------------------------------------------------------------------

    def call(
        self,
        actor: Actor,
        point: str,
        seconds: float,
        effect: Callable[[Sequence[Fault]], T],
        who: str = "",
    ) -> T:
        """Make one call to the outside on behalf of an actor: takes ``seconds``, then ``effect`` happens.

        ``effect`` is told the faults that strike this very call; what it raises is what the actor sees.
        """
        if actor.dead:
            raise Killed
        self._calls += 1
        if self._calls > MOST_CALLS:
            self.violate(f"the run has made {MOST_CALLS} calls and come to no end")
        self.counts[point] += 1
        nth = self.counts[point]
        self.points.append((point, nth))
        actor.excused = False
        faults = self._faults.get((point, nth), ())
        if faults:
            self._strike(actor, faults, before=True)
        self.sleep(actor, seconds)
        if not faults:
            return effect(())
        try:
            return effect(faults)
        finally:
            self._strike(actor, faults, before=False)

    def _strike(self, actor: Actor, faults: Sequence[Fault], *, before: bool) -> None:
        for fault in faults:
            if before:
                self.struck.append(fault)
                # Whatever a fault sets off has come by then.
                self.last_fault = max(self.last_fault, self.now + fault.amount + 300.0)
            if fault.what == (KILL_BEFORE if before else KILL_AFTER):
                self.kill(actor, f"is killed {'before' if before else 'after'} {fault.point}#{fault.nth}")
                raise Killed
            if fault.what == (PAUSE_BEFORE if before else PAUSE_AFTER):
                self.pause(actor, fault, before)
            elif before and self.side_effect(actor, fault):
                continue

    def kill(self, actor: Actor, why: str) -> None:
        """End an actor's process."""
        self.say(actor.name, why)
        actor.dead = True

    def pause(self, actor: Actor, fault: Fault, before: bool) -> None:
        """Stop an actor's process for a while."""
        self.say(actor.name, f"is stopped {fault.what[6:]} {fault.point}#{fault.nth} for {fault.amount:g} s")
        actor.asleep_until = self.now + fault.amount
        self.on_pause(actor, fault.amount)
        self.sleep(actor, fault.amount)
        actor.excused = before
        self.say(actor.name, "wakes")

    on_pause: Callable[[Actor, float], None] = staticmethod(lambda actor, seconds: None)
