"""What kind of end a job has come to.

Only the typed status that an engine reports is looked at, never text.
"""

from __future__ import annotations

from collections.abc import Iterable

from npac.launch import ports

SUCCESS = "success"
PAYLOAD = "payload"
"""The user's code, its set-up or what it should have written."""
INFRASTRUCTURE = "infrastructure"
"""The engine or the provider; the user's code is not to blame."""
CANCELLED = "cancelled"
REJECTED = "rejected"
"""The engine refused the launch; the same documents would be refused again."""

_FAMILIES = {
    ports.SUCCEEDED: SUCCESS,
    ports.FAILED: PAYLOAD,
    ports.FAILED_SETUP: PAYLOAD,
    ports.FAILED_PRECHECKS: INFRASTRUCTURE,
    ports.FAILED_NO_RESOURCE: INFRASTRUCTURE,
    ports.FAILED_CONTROLLER: INFRASTRUCTURE,
    ports.CANCELLED: CANCELLED,
}


def family(status: str) -> str:
    """Give the family of a terminal status.  Raises ``ValueError`` for any other."""
    try:
        return _FAMILIES[status]
    except KeyError:
        raise ValueError(f"{status!r} is not the end of a job") from None


def gravest(families: Iterable[str]) -> str:
    """Give the family that decides about several failures of one batch.

    The end of one member makes an engine stop the others, so a cancelled member beside one that
    failed says nothing.  A payload failure decides over an infrastructure failure: the batch would
    fail again on the best of machines.
    """
    found = set(families)
    for kind in (PAYLOAD, INFRASTRUCTURE, CANCELLED):
        if kind in found:
            return kind
    return SUCCESS
