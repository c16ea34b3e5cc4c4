"""One simulated run: the world, the drivers, and the person who starts and resumes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from npac.ir.linking import LinkRecord
from npac.ledger.objects import ledger as object_ledgers
from npac.ledger.ports import LedgerError, RunLedger
from npac.ledger.process import Liveness, ProcessIdentity
from npac.runtime import api
from npac.runtime import events as ev
from npac.runtime.options import Driven, Refused, RunResult
from npac.runtime.signals import DETACH, INTERRUPT, NONE
from tests.simulator.bucket import Bucket, object_ledger
from tests.simulator.engine import engine_for
from tests.simulator.judge import ENDS, Judge
from tests.simulator.kernel import BOOTED, Actor, Kernel, Line
from tests.simulator.ledger import Log, SimLedger
from tests.simulator.objects import Objects, SimStore
from tests.simulator.programs import PLAYS, uri
from tests.simulator.registers import Registers, SimClaims
from tests.simulator.schedule import Fault, Schedule, draw
from tests.simulator.server import PROFILES, Server

RUN = "run"
HOSTS = tuple(BOOTED)

MOST_DRIVERS = 60
"""As many drivers as no run needs that gets anywhere."""

CHANGING = frozenset(
    {
        "rejected",
        "cancel-run",
        "ctrl-c",
        "renumber",
        "store-lag",
        "meddle",
        "phantom",
        "prechecks",
        "restart-lossy",
        "retry-run",
    }
)
"""Faults after which a run may rightly end otherwise than it would have."""

PATIENCE = 4
"""Blocked so often in a row, with nothing new going wrong, is blocked for good."""


@dataclass
class Outcome:
    """How a simulated run went."""

    schedule: Schedule
    violations: list[str]
    state: str
    """``succeeded``, ``failed``, ``cancelled``, ``blocked`` or ``planned`` (it never began)."""
    code: str
    points: list[tuple[str, int]]
    story: list[Line]
    struck: list[Fault] = field(default_factory=list)
    drivers: int = 0


class Signals:
    """Signals to one simulated driver, and its waits."""

    def __init__(self, kernel: Kernel, actor: Actor) -> None:
        self._kernel, self._actor = kernel, actor
        self.came = NONE

    def pending(self) -> str:
        return self.came

    def clear(self) -> None:
        self.came = NONE

    def wait(self, seconds: float) -> None:
        self._kernel.call(self._actor, "wait", max(seconds, 0.001), lambda faults: None)


class Simulation:
    """Everything that one schedule sets going."""

    def __init__(self, schedule: Schedule, *, tell: bool = False) -> None:
        self.schedule = schedule
        self.play = PLAYS[schedule.program]
        engine, _, self._ledger = schedule.engine.partition("@")
        self.profile = PROFILES[engine]
        self.kernel = Kernel(schedule, tell=tell)
        self.log = Log(RUN)
        self.objects = Objects(self.kernel)
        self.registers = Registers(self.kernel)
        self.server = Server(self.kernel, self.profile, self.objects, self.registers, self.play.behaviour)
        self.judge = Judge(self.kernel, self.log, self.objects, self.registers, self.play)
        self.judge.server = self.server
        self.judge.seen_late = bool(self._ledger)
        self.bucket = Bucket(self.kernel, self.log, self.judge.appended)
        self.server.on_start = self.judge.started
        self.kernel.side_effect = self._side_effect
        self.kernel.on_pause = self._someone_else_comes
        self._signals: dict[Actor, Signals] = {}
        self._blocked = 0
        self._tries = 0
        self._retries = 0
        """How often a person will ask for one more attempt when the run has failed or is blocked."""

    def run(self) -> Outcome:
        """Play it to its end."""
        for place in self.play.before:
            self.objects.write(place, b"old", who="before")
        for at, place in self.play.arrivals:
            self.kernel.at(at, partial(self.objects.write, place, b"new", who="elsewhere"))
        self._driver(HOSTS[0])
        with pytest.MonkeyPatch.context() as patch:
            # The processes of drivers are none of this machine.
            patch.setattr(object_ledgers, "liveness", self._liveness)
            self.kernel.run()
        if not self.kernel.violations:
            self.judge.final()
        last = self.log.of(ev.RUN_ENDED, ev.RUN_BLOCKED)
        state = "planned"
        if self.log.of(ev.RUN_CREATED):
            state = str(last[-1].data.get("state", "blocked")) if last else "running"
        code = str(last[-1].data["code"]) if last else ""
        self._as_planned(state, code)
        return Outcome(
            self.schedule,
            self.kernel.violations,
            state,
            code,
            self.kernel.points,
            self.kernel.story,
            self.kernel.struck,
            len(self.kernel.actors),
        )

    def _as_planned(self, state: str, code: str) -> None:
        """See that a run whose evidence cannot get lost ends as if nothing had happened to it."""
        whats = {fault.what for fault in self.kernel.struck}
        sure = self.profile.unique or self.profile.claims or not whats
        if self.kernel.violations or not sure or whats & CHANGING or state == self.play.ends:
            return
        self.kernel.violate(f"the run is {state} ({code}) in the end, and should be {self.play.ends}")

    # --- drivers ----------------------------------------------------------------------------

    def _driver(self, host: str) -> None:
        self._tries += 1
        if self._tries > MOST_DRIVERS:
            self.kernel.violate(f"{MOST_DRIVERS} drivers have not brought the run to its end")
            return
        self.kernel.spawn(host, self._drive)

    def _drive(self, actor: Actor) -> None:
        self.kernel.say(actor.name, f"starts on {actor.host}")
        try:
            self._leave(actor, self._npac(actor))
        finally:
            if actor.dead:
                # Whoever started it sees that it is gone, and gives the command again.
                self.kernel.at(self._delay(actor), lambda: self._driver(self._host(actor)))

    def _npac(self, actor: Actor) -> RunResult | None:
        """Do what ``npac run`` or ``npac resume`` does; None when it did not come to drive."""
        kernel, link = self.kernel, LinkRecord(RUN, run_uid=f"{self.schedule.seed:031x}{actor.number % 16:x}")
        ledger: RunLedger = (
            object_ledger(kernel, self.bucket, actor, RUN)
            if self._ledger
            else SimLedger(kernel, self.log, actor, self.judge.appended)
        )
        signals = self._signals[actor] = Signals(kernel, actor)
        store = SimStore(kernel, self.objects, actor, self._proving)
        drawn = iter(range(1_000_000))
        world = api.World(
            engine=engine_for(kernel, self.server, actor, self.judge),
            store_for=lambda uri: store,
            render=self.play.render,
            interrupts=signals,
            clock=lambda: kernel.clock(actor, kernel.now),
            random=lambda: draw(self.schedule.seed, actor.number, next(drawn)),
            claims=SimClaims(kernel, self.registers, actor) if self.profile.claims else None,
            proven_dead=partial(self._proven_dead, actor),
        )
        try:
            if not self.log.of(ev.RUN_CREATED):
                return api.start_run(ledger, world, self.play.program, link, self.play.options)
            return api.resume_run(ledger, world)
        except Refused as refused:
            kernel.say(actor.name, f"is refused: {refused}")
            if not isinstance(refused, Driven) and not str(refused):
                kernel.violate("a run is refused without a reason")
        except LedgerError as error:
            kernel.say(actor.name, f"cannot use the ledger: {error}")
        return None

    def _liveness(self, identity: ProcessIdentity, here: ProcessIdentity) -> Liveness:
        if identity.host != here.host:
            return "unknown"
        return "alive" if self.kernel.actors[identity.pid - 1].alive else "dead"

    def _proven_dead(self, seer: Actor, process: Mapping[str, Any]) -> bool:
        """Say whether a driver is seen to be dead, which only its own host can tell."""
        who = self.kernel.actors[int(process["pid"]) - 1]
        return who.host == seer.host and not who.alive

    def _leave(self, actor: Actor, result: RunResult | None) -> None:
        """Decide what is done after a driver has left."""
        if result is not None:
            self.kernel.say(actor.name, f"leaves: {result.state} ({result.reason or 'done'})")
        if result is not None and result.state in ENDS:
            last = self.log.of(ev.RUN_ENDED)
            if not last or last[-1].data["state"] != result.state:
                self.kernel.violate(f"a driver leaves with {result.state}, which is not on record")
            if self._wants_more(result.state):
                self.kernel.at(self._delay(actor), lambda: self._driver(self._host(actor)))
            return
        if result is not None:
            self._wants_more(result.state)
        if result is not None and not result.reason:
            self.kernel.violate(f"a driver leaves with {result.state} and without a reason")
        if any(other.alive and other is not actor for other in self.kernel.actors) and result is None:
            return
        quiet = self.kernel.now > self.kernel.last_fault
        self._blocked = self._blocked + 1 if quiet and result is not None else 0
        if self._blocked < PATIENCE:
            delay = min(self._delay(actor) * 3.0**self._blocked, 40_000.0)
            self.kernel.at(delay, lambda: self._driver(self._host(actor)))

    def _wants_more(self, state: str) -> bool:
        """Let a person ask for one more attempt, if one is going to; gives whether that was done."""
        if not self._retries or state not in ("failed", "blocked"):
            return False
        self._retries -= 1
        self.kernel.say("somebody", "asks for one more attempt")
        self._asking.ask("retry", {})
        return True

    @property
    def _asking(self) -> Bucket | Log:
        return self.bucket if self._ledger else self.log

    def _delay(self, actor: Actor) -> float:
        """Say how long it takes until someone gives the command again."""
        first = (1.0, 20.0, 90.0, 5_000.0)[int(4 * draw(self.schedule.seed, "delay", actor.number))]
        return min(first * 1.3 ** (self._tries - 1), 20_000.0)

    def _host(self, actor: Actor) -> str:
        return HOSTS[int(2 * draw(self.schedule.seed, "host", actor.number))]

    def _someone_else_comes(self, actor: Actor, seconds: float) -> None:
        """Let someone give the command again while a driver is stopped."""
        delay = seconds * 0.4 * draw(self.schedule.seed, "join", actor.number, seconds)
        self.kernel.at(delay, lambda: self._driver(self._host(actor)))

    def _proving(self) -> bool:
        last = self.log.of(ev.WAVE_STARTED, ev.WAVE_SUCCEEDED, ev.WAVE_FAILED)
        return bool(last) and last[-1].type == ev.WAVE_STARTED

    # --- what else happens ------------------------------------------------------------------

    def _side_effect(self, actor: Actor, fault: Fault) -> bool:
        """Let something happen just before a call; gives whether that was all of the fault."""
        if fault.what == "restart":
            self.server.restart(lose=False)
        elif fault.what == "restart-lossy":
            self.server.restart(lose=True)
        elif fault.what == "renumber":
            self.server.renumber()
        elif fault.what == "join":
            self.kernel.say("somebody", "gives the command a second time")
            self._driver(HOSTS[int(fault.amount) % 2])
        elif fault.what == "cancel-run":
            self.kernel.say("somebody", "asks for the end of the run")
            self._asking.ask("cancel", {"reason": "not needed any more"})
        elif fault.what == "meddle":
            self.objects.write(uri("decision.json"), b'{"decision": "promote"}', who="somebody")
            self.objects.write(uri("model"), b"a model of somebody else", who="somebody")
        elif fault.what == "retry-run":
            self._retries += 1
        elif fault.what == "sigterm":
            self.kernel.say("somebody", f"sends SIGTERM to {actor.name}")
            self._signals[actor].came = DETACH
        elif fault.what == "ctrl-c":
            self.kernel.say("somebody", f"presses Ctrl-C in {actor.name}")
            self._signals[actor].came = INTERRUPT
        else:
            return False
        return True


def play(schedule: Schedule, *, tell: bool = False) -> Outcome:
    """Let one schedule happen."""
    return Simulation(schedule, tell=tell).run()
