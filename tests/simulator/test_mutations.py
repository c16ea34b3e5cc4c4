"""The simulator bites: each broken rule of the machines is noticed, and as what it is."""

from __future__ import annotations

import re

import pytest

from tests.simulator.generate import at_random
from tests.simulator.mutations import MUTATIONS, Mutation
from tests.simulator.world import play

MOST = 800
"""Schedules within which each mutation is noticed; the first numbers of those that every run plays."""


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[each.name.replace(" ", "-") for each in MUTATIONS])
def test_a_broken_rule_is_noticed(mutation: Mutation):
    schedules = (
        at_random(seed, programs=mutation.programs, engines=mutation.engines) for seed in range(MOST)
    )
    # What a run without faults does is found out before anything is broken.
    first = next(schedules)
    with pytest.MonkeyPatch.context() as patch:
        mutation.apply(patch)
        for schedule in (first, *schedules):
            if any(re.search(mutation.noticed, said) for said in play(schedule).violations):
                return
    pytest.fail(f"{mutation.name}: nothing was noticed in {MOST} schedules")


def test_there_are_enough_of_them():
    assert len({mutation.name for mutation in MUTATIONS}) >= 20
