"""What a ledger takes from the world around it, so that tests can give it another."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from npac.ledger.lease import PATIENCE, Patience
from npac.ledger.process import ProcessIdentity, this_process

# Elsewhere than on Linux the monotonic clock is the one that also counts time asleep.
_BOOT_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_seconds() -> float:
    """Give the seconds since boot, time asleep included; never compared between machines."""
    return time.clock_gettime(_BOOT_CLOCK)


def utc_now() -> str:
    """Give the time for people: UTC, ISO 8601, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def random_id() -> str:
    """Give 32 random hexadecimal digits."""
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Clocks, sleep, randomness, the identity of this process, and the times of a lease."""

    clock: Callable[[], float] = boot_seconds
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], str] = utc_now
    new_id: Callable[[], str] = random_id
    process: Callable[[], ProcessIdentity] = this_process
    patience: Patience = PATIENCE
