"""Making a failing schedule as small as it can be, so that its story is one that can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.simulator.schedule import Fault, Schedule


def shrunk(schedule: Schedule, fails: Callable[[Schedule], bool], *, most: int = 400) -> Schedule:
    """Give a smaller schedule that still fails: fewer faults, shorter, earlier, in a simpler world.

    ``most`` bounds how many schedules are tried.
    """
    left = most
    better = True
    while better and left > 0:
        better = False
        for smaller in _smaller(schedule):
            left -= 1
            if left <= 0:
                break
            if fails(smaller):
                schedule, better = smaller, True
                break
    return schedule


def _smaller(schedule: Schedule) -> Iterator[Schedule]:
    """Give schedules that are a little simpler, the boldest first."""
    faults = schedule.faults
    half = len(faults) // 2
    if half > 1:
        yield replace(schedule, faults=faults[:half])
        yield replace(schedule, faults=faults[half:])
    for at in range(len(faults)):
        yield replace(schedule, faults=faults[:at] + faults[at + 1 :])
    for seed in (0, 1, 2, 3):
        if seed < schedule.seed:
            yield replace(schedule, seed=seed)
    if schedule.program not in ("one", "old"):
        for program in ("one", "old"):
            yield replace(schedule, program=program)
    for at, fault in enumerate(faults):
        for simpler in _simpler(fault):
            yield replace(schedule, faults=(*faults[:at], simpler, *faults[at + 1 :]))


def _simpler(fault: Fault) -> Iterator[Fault]:
    for nth in (1, fault.nth // 2, fault.nth - 1):
        if 0 < nth < fault.nth:
            yield replace(fault, nth=nth)
    for amount in (1.0, 45.0, 200.0):
        if amount < fault.amount:
            yield replace(fault, amount=amount)
