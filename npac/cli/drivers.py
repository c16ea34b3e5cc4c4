"""What is known of the driver of a run, and what follows from it.

Only this host's processes can be looked at; anything else stays unknown, and is said to be.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from npac.api import result_of
from npac.cli.project_defaults import ledger_of

NONE = "none"


def driver_word(holder: Mapping[str, Any] | None) -> str:
    """Give ``none``, ``alive``, ``dead`` or ``unknown``."""
    if holder is None or holder["released"]:
        return NONE
    return str(holder["liveness"]) if holder["liveness"] in ("alive", "dead") else "unknown"


def next_step(view: Any, word: str, ledger: str | None = None) -> str:
    """Give what to do next with a run whose driver is ``word``, with whole commands."""
    return placed(result_of(view, word).remedy, view.run_id, ledger)


def placed(text: str, run_id: str, ledger: str | None) -> str:
    """Name the ledger root in the commands of a text, where the user had to name it, too."""
    if not text or not ledger or ledger == ledger_of():
        return text
    option = f" --ledger {shlex.quote(ledger)}"
    named = re.sub(
        rf"npac (?:\w+|runs fsck) {re.escape(run_id)}(?![\w.-])", lambda found: found[0] + option, text
    )
    return re.sub(r"npac run (?:'[^']*'|[^\s']+)", lambda found: found[0] + option, named)


def unbegun(word: str) -> str:
    """Say what a run is of which nothing is on record, where ``word`` is that of its driver."""
    if word in (NONE, "dead"):
        return "given up before launch"
    return "starting"
