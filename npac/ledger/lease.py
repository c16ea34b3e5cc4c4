"""Who may drive a run: when a lease may be taken, and how long its holder may act.

No two machines' clocks are compared.  A taker measures silence on its own boot clock; a holder
stops acting well before any taker can have measured enough of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from npac.ledger.ports import LeaseHeld
from npac.ledger.process import Liveness

SILENCE = 60.0
"""Seconds without a heartbeat after which a lease may be taken."""

MAY_ACT = 30.0
"""Seconds after its last good heartbeat during which a holder may start an effect."""


@dataclass(frozen=True, slots=True)
class Patience:
    """The times of a lease, in seconds; all drivers of a run must keep the same ones.

    ``silence`` and ``may_act`` are :data:`SILENCE` and :data:`MAY_ACT`; ``look_every`` is the pause
    between two looks of a taker, and ``settle`` how long a writer may try to find out whether a write
    of its own has reached a store that does not answer well.
    """

    silence: float = SILENCE
    may_act: float = MAY_ACT
    look_every: float = 1.0
    settle: float = 20.0

    def __post_init__(self) -> None:
        """Refuse times under which a holder could act while a taker does, with ``ValueError``."""
        if not 0 < self.settle <= self.may_act or self.may_act * 2 > self.silence:
            raise ValueError("a holder must stop acting in half the time that a taker waits")


PATIENCE = Patience()

Reason = Literal["first", "released", "dead", "silent"]
"""Why a lease could be taken: no holder before, given back, proven dead, or silent for too long."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A lease as it was seen at one moment.

    ``counter`` differs after every sign of life, and is only compared for equality.  ``silent`` is how
    long ago the last one was, in seconds, where it was written on the very clock of the one who looks;
    else 0.  ``who`` names the holder for people.
    """

    fence: int
    counter: object
    released: bool
    liveness: Liveness
    silent: float
    who: str

    def same(self, other: Sighting) -> bool:
        """Say whether nothing has happened to the lease between two sightings."""
        return (self.fence, self.counter, self.released) == (other.fence, other.counter, other.released)


def decide(
    first: Sighting, latest: Sighting, watched: float, patience: Patience = PATIENCE
) -> Reason | Literal["wait", "held"]:
    """Decide what a taker does that has watched a lease for ``watched`` seconds."""
    if latest.released:
        return "released"
    if latest.liveness == "dead":
        return "dead"
    if not latest.same(first):
        return "held"
    if max(watched, latest.silent) >= patience.silence:
        return "silent"
    return "held" if latest.liveness == "alive" else "wait"


def await_lease(
    look: Callable[[], Sighting | None],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    patience: Patience = PATIENCE,
) -> tuple[Reason, Sighting | None]:
    """Watch a lease until it may be taken; gives why, and the sighting on which that rests.

    Takes up to ``patience.silence`` seconds where the holder can be neither proven alive nor dead.
    Raises :class:`LeaseHeld` when the holder is alive, or may be.
    """
    first = latest = look()
    since = clock()
    while True:
        if first is None or latest is None:
            return "first", None
        verdict = decide(first, latest, clock() - since, patience)
        if verdict == "held":
            raise _held(latest)
        if verdict != "wait":
            return verdict, latest
        sleep(patience.look_every)
        latest = look()


def _held(seen: Sighting) -> LeaseHeld:
    why = "which is alive" if seen.liveness == "alive" else "which has just given a sign of life"
    return LeaseHeld(
        f"the run is driven by {seen.who}, {why}",
        remedy="Wait until that driver is done, or end that process and try again.",
    )


@dataclass(slots=True)
class Lease:
    """A lease that this process holds.

    ``last_good`` is when its last good heartbeat was sent, in seconds on this process's boot clock.
    """

    fence: int
    last_good: float
    patience: Patience = PATIENCE

    def beaten(self, sent: float) -> None:
        """Note a heartbeat that was sent at ``sent`` and has been acknowledged since."""
        self.last_good = max(self.last_good, sent)

    def may_act(self, now: float) -> bool:
        """Say whether an effect may be started at ``now``."""
        return now - self.last_good <= self.patience.may_act
