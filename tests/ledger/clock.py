"""A clock for tests of leases: time passes only while somebody sleeps, and things happen meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from npac.ledger.lease import Patience
from npac.ledger.surroundings import Surroundings


class Clock:
    """A boot clock that passes only while somebody sleeps on it; ``at`` says what happens when."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept = 0.0
        self.at: dict[float, Callable[[], object]] = {}

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.slept += seconds
        for due in sorted(due for due in self.at if due <= self.slept):
            self.at.pop(due)()

    def around(self, **more: Any) -> Surroundings:
        seldom = Patience(look_every=5.0)
        return Surroundings(clock=self.now, sleep=self.sleep, patience=seldom, **more)
