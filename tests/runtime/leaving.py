"""A driver that leaves, its jobs untouched, when its job has come to some point."""

from __future__ import annotations

from npac.runtime.signals import DETACH, NONE, NoInterrupts
from tests.runtime.programs import Bench


class LeaveAfter(NoInterrupts):
    """As if SIGTERM came once the commands have left a number of traces."""

    def __init__(self, bench: Bench, traces: int) -> None:
        self._bench, self._traces = bench, traces

    def pending(self) -> str:
        """Give ``detach`` when it is time."""
        return DETACH if len(self._bench.trace()) >= self._traces else NONE
