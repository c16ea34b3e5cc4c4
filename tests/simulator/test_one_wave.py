"""One wave, and every fault at every point that it reaches; two faults where that is affordable."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

import pytest

from tests.simulator.generate import ENGINES, launch_faults, one_by_one
from tests.simulator.schedule import Fault, Schedule
from tests.simulator.server import PROFILES
from tests.simulator.telling import demand_clean

SOAK = bool(os.environ.get("NPAC_SOAK"))

IN_SHORT = ENGINES if SOAK else (*PROFILES, "claims@s3")
"""A bucket takes many more calls, so only one engine is tried with it where there is little time."""


def _strided(schedules: Iterator[Schedule], every: int) -> Iterator[Schedule]:
    """Give a sample that has something of every part."""
    return islice(schedules, every // 2, None, every)


@pytest.mark.parametrize("engine", IN_SHORT)
def test_each_fault_at_each_point(engine):
    """Of calls of one kind, most of which are polls, the first; all of them where there is time."""
    start = Schedule("one", engine, 1)
    outcomes = demand_clean(one_by_one(start, most=0 if SOAK else 1))
    assert len(outcomes) > 200
    assert {outcome.state for outcome in outcomes} >= {"succeeded", "cancelled", "failed"}


@pytest.mark.parametrize("engine", PROFILES)
def test_two_faults_the_first_of_them_at_the_launch(engine):
    """All that can happen to a launch, and then all that can happen after it; in short runs a sample."""
    first = [Schedule("one", engine, 1, (fault,)) for fault in launch_faults(engine)]
    pairs = (pair for schedule in first for pair in one_by_one(schedule, most=2))
    assert demand_clean(_strided(pairs, 1 if SOAK else 121))


@pytest.mark.parametrize("engine", IN_SHORT)
def test_a_driver_that_dies_between_any_two_effects(engine):
    """The run goes on with the next driver, and ends as if nothing had been."""
    start = Schedule("one", engine, 2)
    killed = [s for s in one_by_one(start, most=0 if SOAK else 5) if s.faults[0].what.startswith("kill")]
    outcomes = demand_clean(killed)
    ended = [outcome for outcome in outcomes if outcome.state == "succeeded"]
    profile = PROFILES[engine.partition("@")[0]]
    if profile.unique or profile.claims:
        assert len(ended) == len(outcomes), "where jobs cannot be doubled, nothing is lost by a kill"
    else:
        blocked = {str(o.schedule.faults[0]) for o in outcomes if o.state == "blocked"}
        between = {"ledger.append launch-intent#1 kill-after", "engine.launch#1 kill-before"}
        assert blocked <= between, "only a launch of which nothing is known is left to a person"


@pytest.mark.skipif(not SOAK, reason="takes minutes; runs where NPAC_SOAK is set")
@pytest.mark.parametrize("engine", PROFILES)
@pytest.mark.parametrize("what", ["kill-before", "kill-after", "pause-before", "pause-after"])
def test_two_faults_at_any_two_points(engine, what):
    """A sample of each fault after each kill or pause."""
    amount = 200.0 if what.startswith("pause") else 0.0
    first = {
        (each.faults[0].point, each.faults[0].nth) for each in one_by_one(Schedule("one", engine, 1), most=1)
    }
    for point, nth in sorted(first):
        start = Schedule("one", engine, 1, (Fault(point, nth, what, amount),))
        demand_clean(_strided(one_by_one(start, most=1), 5))
