"""The simulator itself: it tells the same story twice, writes schedules down, and shrinks them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from npac.runtime.session import Session
from tests.simulator.generate import at_random, kinds
from tests.simulator.programs import PLAYS
from tests.simulator.schedule import Fault, Schedule
from tests.simulator.server import PROFILES
from tests.simulator.shrink import shrunk
from tests.simulator.telling import story
from tests.simulator.world import play

LOST = "one/plain/3: engine.launch#1 reply-lost; ledger.append job-attached#1 kill-before"


def test_a_schedule_is_read_back_from_its_text():
    for seed in range(200):
        schedule = at_random(seed)
        assert Schedule.parse(str(schedule)) == schedule


@pytest.mark.parametrize("text", ["one", "one/plain", "one/plain/x", "one/plain/1: engine.launch reply-lost"])
def test_a_text_that_is_no_schedule_is_refused(text):
    with pytest.raises(ValueError):
        Schedule.parse(text)


def test_the_same_schedule_is_the_same_story():
    for seed in range(30):
        one, other = (play(at_random(seed), tell=True) for _ in range(2))
        assert one.story == other.story
        assert one.points == other.points
        assert (one.state, one.code, one.violations) == (other.state, other.code, other.violations)


@pytest.mark.parametrize("engine", PROFILES)
@pytest.mark.parametrize("program", PLAYS)
def test_without_faults_each_program_ends_as_it_should(program, engine):
    outcome = play(Schedule(program, engine, 0))
    assert not outcome.violations
    assert outcome.state == PLAYS[program].ends
    assert not outcome.struck


def test_every_fault_that_is_named_can_strike():
    """Each one, put where it belongs, is met by some run; a name that nothing acts upon would not be told."""
    named = {(point, what) for engine in PROFILES for point in _POINTS for what, _ in kinds(point, engine)}
    whats = {what for _, what in named}
    assert whats >= {
        "late",
        "twice",
        "phantom",
        "elsewhere",
        "claim-reply-lost",
        "store-lag",
        "join",
        "renumber",
    }
    told = "\n".join(str(line) for line in play(Schedule.parse(LOST), tell=True).story)
    assert "sends POST 1" in told
    assert "is killed before ledger.append job-attached#1" in told
    assert "driver 2" in told


_POINTS = (
    "engine.launch",
    "engine.survey",
    "engine.job",
    "claims.seal",
    "store.observe",
    "ledger.append x",
    "wait",
)


def test_a_failing_schedule_shrinks_to_what_matters():
    needed = {Fault("engine.launch", 2, "reply-lost"), Fault("wait", 1, "restart")}
    noise = tuple(Fault("store.observe", nth, "store-error") for nth in range(1, 9))
    big = Schedule(
        "loop", "claims", 77, (*noise, Fault("engine.launch", 2, "reply-lost"), Fault("wait", 5, "restart"))
    )

    def fails(schedule: Schedule) -> bool:
        whats = {(fault.point, fault.what) for fault in schedule.faults}
        return {("engine.launch", "reply-lost"), ("wait", "restart")} <= whats

    small = shrunk(big, fails)
    assert small.program == "one"
    assert small.seed == 0
    assert len(small.faults) == len(needed)


def test_a_broken_machine_is_told_as_a_story(monkeypatch):
    monkeypatch.setattr(Session, "may_act", lambda self: True)
    pause = Fault("ledger.append launch-intent", 1, "pause-after", 7_200.0)
    noise = Fault("store.observe", 1, "store-error")
    text = story(Schedule("one", "unique", 9, (noise, pause)))
    assert "is stopped after ledger.append launch-intent#1" in text
    assert "sends POST" not in text.split("INVARIANT")[0].split("wakes")[0]
    assert "store-error" not in text.split("shrunk to")[1]
    assert "python -m tests.simulator 'one/unique/" in text


def test_one_command_plays_a_schedule_again():
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.simulator", LOST], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "503 after the request was taken" not in done.stdout
    assert done.stdout.splitlines()[-1].startswith("succeeded")
