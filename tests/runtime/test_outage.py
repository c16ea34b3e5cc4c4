"""An engine whose folder goes away under a driver: asked and told rarely, and taken up when it is back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from npac.launch.ports import EngineError
from npac.runtime import api
from npac.runtime.api import RunOptions
from npac.runtime.signals import DETACH, NONE, NoInterrupts
from tests.runtime.faults import FaultyEngine
from tests.runtime.programs import Bench, Watcher, chain, step


@dataclass
class Listener(Watcher):
    """Takes down outages, and does something at each."""

    told: list[float] = field(default_factory=list)
    on_outage: Callable[[float], None] = lambda seconds: None

    def outage(self, message: str, seconds: float) -> None:
        assert message
        self.told.append(seconds)
        self.on_outage(seconds)


class Hasty(NoInterrupts):
    """Waits a little where a driver would wait long."""

    def wait(self, seconds: float) -> None:
        super().wait(min(seconds, 0.02))


class Hurried:
    """A clock that a pause moves at once, so that hours of an outage take no time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.stop = NONE
        self.pauses: list[float] = []

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def pending(self) -> str:
        return self.stop

    def clear(self) -> None:
        self.stop = NONE


class Silence:
    """An engine's answers about jobs: none for the first ``looks``, then as they are."""

    def __init__(self, looks: int, clock: Callable[[], float]) -> None:
        self.left, self._clock = looks, clock
        self.at: list[float] = []

    def __call__(self, method: str) -> None:
        if method == "job" and self.left > 0:
            self.left -= 1
            self.at.append(self._clock())
            raise EngineError("the queue did not answer")


def test_an_outage_is_asked_and_told_less_and_less_often(bench: Bench) -> None:
    world, told = Hurried(), Listener()
    silence = Silence(200, world.clock)
    engine = FaultyEngine(bench.engine(), before=silence)
    result = bench.start(
        chain(step("train", "true")),
        RunOptions(max_status_outage=10_000),
        engine=engine,
        clock=world.clock,
        interrupts=world,
        progress=told,
    )
    assert result.state == "succeeded"
    gaps = [after - before for before, after in zip(silence.at, silence.at[1:], strict=False)]
    assert gaps[0] < 2 and max(gaps) <= 19 and min(gaps[10:]) >= 11
    lasted = silence.at[-1] - silence.at[0]
    assert lasted > 2000
    assert told.told[0] == 0 and len(told.told) <= 15
    assert all(later - earlier >= 15 for earlier, later in zip(told.told, told.told[1:], strict=False))
    assert max(world.pauses) <= 1.0, "people are heard within a second all the same"
    kinds = [event.type for event in bench.ledgers().open("run").events()]
    assert kinds.count("engine-lost") == kinds.count("engine-back") == 1


def test_the_bound_on_an_outage_is_met_when_it_is_due(bench: Bench) -> None:
    world = Hurried()
    silence = Silence(10_000, world.clock)
    engine = FaultyEngine(bench.engine(), before=silence)
    result = bench.start(
        chain(step("train", "true")),
        RunOptions(max_status_outage=100),
        engine=engine,
        clock=world.clock,
        interrupts=world,
    )
    assert (result.state, bench.view().code) == ("blocked", "ENGINE_SILENT")
    assert 100 < silence.at[-1] - silence.at[0] < 102


def test_who_wants_to_leave_is_heard_during_an_outage(bench: Bench) -> None:
    world, told = Hurried(), Listener()

    def leave(seconds: float) -> None:
        world.stop = DETACH if seconds > 60 else NONE

    told.on_outage = leave
    engine = FaultyEngine(bench.engine(), before=Silence(10_000, world.clock))
    result = bench.start(
        chain(step("train", "true")), engine=engine, clock=world.clock, interrupts=world, progress=told
    )
    assert (result.state, result.exit_code) == ("running", 130)


def test_a_run_goes_on_when_the_folder_of_its_engine_is_back(bench: Bench) -> None:
    home, away = bench.root / "engine", bench.root / "away"
    told = Listener()
    moved, back = threading.Event(), threading.Event()

    def take_away(wave: object, launch: object) -> None:
        if not moved.is_set():
            home.rename(away)
            moved.set()

    def bring_back(seconds: float) -> None:
        if moved.is_set() and not back.is_set():
            away.rename(home)
            (bench.work / "go").touch()
            back.set()

    told.on_job, told.on_outage = take_away, bring_back
    # Where the job is lost with its folder, another attempt is made of it; nothing it wrote forbids that.
    script = f"until test -e {bench.work}/go; do sleep 0.05; done"
    result = bench.start(
        chain(step("train", script)), RunOptions(poll_seconds=0.1), progress=told, interrupts=Hasty()
    )
    assert moved.is_set() and back.is_set()
    assert result.state == "succeeded", result
    assert [e.type for e in bench.ledgers().open("run").events()].count("engine-back") == 1


@pytest.mark.parametrize("answers", [0, 30])
def test_a_cancelled_job_is_ended_when_the_engine_answers_again(bench: Bench, answers: int) -> None:
    world, told = Hurried(), Listener()
    bench.start(chain(step("slow", "exec sleep 600")), RunOptions(max_wait=0.3, on_timeout="detach"))
    api.request_cancel(bench.ledgers().open("run"))
    engine = FaultyEngine(bench.engine(), before=Silence(answers, world.clock))
    result = bench.resume(engine=engine, progress=told)
    assert result.state == "cancelled"
    assert (len(told.told) > 0) is (answers > 0) and len(told.told) <= 3
