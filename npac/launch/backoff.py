"""How long to wait before something is tried again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential growth with a cap; all times are seconds.

    ``jitter`` is the share by which a delay may be shorter or longer, so that many drivers that
    lost one server do not come back in step.
    """

    first: float = 2.0
    factor: float = 2.0
    cap: float = 20.0
    jitter: float = 0.2

    def base(self, tries: int) -> float:
        """Give the delay after ``tries`` failures (at least 1) without jitter."""
        # The exponent is bounded because a float power of a long outage would overflow.
        return min(self.cap, self.first * self.factor ** min(max(tries, 1) - 1, 64))

    def delay(self, tries: int, random: Callable[[], float]) -> float:
        """Give the delay after ``tries`` failures; ``random`` gives numbers in [0, 1)."""
        return self.base(tries) * (1.0 + self.jitter * (2.0 * random() - 1.0))


LAUNCH = Backoff()
"""Between two tries of a launch that never left this host."""

LOOK = Backoff(first=0.1, cap=5.0)
"""Between two looks at the engine's list while a launch is decided."""
