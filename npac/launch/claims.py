"""What the launch layer asks of a register of claims.

Each POST ``n`` of a launch has one register.  The first act of a job is to write its own id there
on the condition that nobody has written yet; a driver in doubt writes "sealed" on the same
condition.  One of them wins, for good: a sealed POST never starts user code, and a claimed one
has exactly one job.

That rests on one property of the store: of two conditional writes of one key, one fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class ClaimError(Exception):
    """The register did not answer; this says nothing about who holds it.

    ``remedy`` is one sentence that says what to do.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a register: a job (``job_id`` at the engine ``instance``), or nobody ever (sealed)."""

    sealed: bool
    job_id: str = ""
    instance: str = ""


class Claims(Protocol):
    """The registers of one run."""

    def grant(self, launch_id: str, n: int) -> str:
        """Give what lets one job claim POST ``n``: a URL for one conditional write.  It is a secret."""
        ...

    def seal(self, launch_id: str, n: int) -> Holder:
        """Seal POST ``n`` unless a job has claimed it; gives who holds the register afterwards.

        A reply that was lost is settled by reading, so that our own seal is never taken for
        another's.  Raises :class:`ClaimError`.
        """
        ...

    def holder(self, launch_id: str, n: int) -> Holder | None:
        """Give who holds the register; None when nobody has written yet.  Raises :class:`ClaimError`."""
        ...
