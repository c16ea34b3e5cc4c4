"""A failing schedule as something to read: shrunk, told line by line, with the command to play it again."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.simulator.schedule import Schedule
from tests.simulator.shrink import shrunk
from tests.simulator.world import Outcome, play


def demand_clean(schedules: Iterable[Schedule]) -> list[Outcome]:
    """Play schedules, and fail with the story of the first one in which an invariant does not hold."""
    outcomes = []
    for schedule in schedules:
        outcome = play(schedule)
        if outcome.violations:
            pytest.fail(story(schedule), pytrace=False)
        # Only how it ended is kept: a hundred thousand stories are not.
        outcomes.append(outcome)
        outcome.points.clear()
    return outcomes


def story(schedule: Schedule) -> str:
    """Give the story of a failing schedule, made as short as it can be."""
    small = shrunk(schedule, lambda smaller: bool(play(smaller).violations))
    told = play(small, tell=True)
    lines = [f"found as   {schedule}", f"shrunk to  {small}", "", *map(str, told.story), ""]
    return "\n".join([*lines, *told.violations, f"Again: python -m tests.simulator '{small}'"])
