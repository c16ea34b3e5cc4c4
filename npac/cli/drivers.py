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


def next_step(view: Any, word: str) -> str:
    """Give the command that goes on with a run that nobody drives; else the run's own remedy."""
    if view.ended or view.remedy or word not in (NONE, "dead"):
        return str(view.remedy)
    return f"npac resume {view.run_id}" if view.run_uid else f"npac run SPEC --run-id {view.run_id}"


def unbegun(word: str) -> str:
    """Say what a run is of which nothing is on record, where ``word`` is that of its driver."""
    if word in (NONE, "dead"):
        return "given up before launch"
    return "starting"
