"""What is known of the driver of a run, and what follows from it.

Only this host's processes can be looked at; anything else stays unknown, and is said to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NONE = "none"


def driver_word(holder: Mapping[str, Any] | None) -> str:
    """Give ``none``, ``alive``, ``dead`` or ``unknown``."""
    if holder is None or holder["released"]:
        return NONE
    return str(holder["liveness"]) if holder["liveness"] in ("alive", "dead") else "unknown"


def next_step(run_id: str, ended: bool, remedy: str, word: str) -> str:
    """Give the command that goes on with a run that nobody drives; else the run's own remedy."""
    if not ended and not remedy and word in (NONE, "dead"):
        return f"npac resume {run_id}"
    return remedy
