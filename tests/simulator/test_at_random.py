"""Many schedules of all programs and engines; which ones follows from their numbers alone."""

from __future__ import annotations

import os

import pytest

from tests.simulator.generate import at_random
from tests.simulator.telling import demand_clean

TOGETHER, CHUNKS = (1_000, 100) if os.environ.get("NPAC_SOAK") else (80, 25)
"""How many are played by one test, and how many tests there are."""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_invariant_holds(chunk):
    outcomes = demand_clean(at_random(seed) for seed in range(chunk * TOGETHER, (chunk + 1) * TOGETHER))
    states = {outcome.state for outcome in outcomes}
    assert states <= {"succeeded", "failed", "cancelled", "blocked", "planned"}
    assert {"succeeded", "failed"} <= states, "faults are strewn so that many runs get through"
    assert sum(bool(outcome.struck) for outcome in outcomes) > TOGETHER // 2, "most schedules strike"
