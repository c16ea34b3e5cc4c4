"""Which texts may be the id of a run: it names a folder, a prefix and jobs."""

from __future__ import annotations

import re

from npac.ledger.ports import LedgerError

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")


def is_run_id(text: str) -> bool:
    """Say whether ``text`` may be the id of a run."""
    return _RUN_ID.fullmatch(text) is not None


def demand_run_id(text: str) -> None:
    """Refuse with :class:`LedgerError` what no run may be called."""
    if not is_run_id(text):
        raise LedgerError(
            f"{text!r} cannot be a run id",
            remedy="Use 1 to 96 letters, digits, '.', '_' and '-', the first a letter or digit.",
        )
