"""What happens to a launch and what is to be done about it: the words of the launch transaction.

Times are seconds of one monotonic clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from npac.launch.ports import JobRow

# --- what happens -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """The engine gave its whole list."""

    rows: Sequence[JobRow]
    now: float


@dataclass(frozen=True, slots=True)
class RowsUnavailable:
    """The engine did not give its list; this says nothing about any job."""

    message: str
    now: float


@dataclass(frozen=True, slots=True)
class IntentDurable:
    """The intent is on disk."""

    now: float


@dataclass(frozen=True, slots=True)
class Accepted:
    """The engine took the launch."""

    request_id: str
    job_id: str
    now: float


@dataclass(frozen=True, slots=True)
class PostFailed:
    """The call failed; ``phase`` is that of :class:`npac.launch.ports.EngineError`."""

    phase: str
    message: str
    remedy: str
    now: float


@dataclass(frozen=True, slots=True)
class Woke:
    """A wait is over."""

    now: float


@dataclass(frozen=True, slots=True)
class StopAsked:
    """The driver has to leave; nothing new is begun."""

    why: str


Happening: TypeAlias = "Rows | RowsUnavailable | IntentDurable | Accepted | PostFailed | Woke | StopAsked"

# --- what is to be done -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Read the engine's whole list; answered by :class:`Rows` or :class:`RowsUnavailable`."""


@dataclass(frozen=True, slots=True)
class RecordIntent:
    """Make intent ``n`` durable; answered by :class:`IntentDurable`, or the driver stops."""

    n: int


@dataclass(frozen=True, slots=True)
class Post:
    """Send the launch once; answered by :class:`Accepted` or :class:`PostFailed`."""

    n: int


@dataclass(frozen=True, slots=True)
class RecordResult:
    """Make the outcome of POST ``n`` durable; nothing answers."""

    n: int
    outcome: str
    """``accepted``, ``never-sent``, ``rejected`` or ``maybe-sent``."""
    request_id: str = ""
    job_id: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class WaitToRetry:
    """Wait as long as belongs to ``tries`` launches that never left; answered by :class:`Woke`."""

    tries: int


@dataclass(frozen=True, slots=True)
class WaitToLook:
    """Wait as long as belongs to ``tries`` undecided looks; answered by :class:`Woke`."""

    tries: int


@dataclass(frozen=True, slots=True)
class Finish:
    """The transaction is over.

    ``outcome``: ``attached`` (``row`` is our job), ``absent`` (proven: there is none and none will
    come), ``rejected``, ``unreachable`` (nothing was sent), ``undecided``, ``stopped``.
    """

    outcome: str
    row: JobRow | None = None
    adopted: bool = False
    """The job was there before this driver posted anything that was accepted."""
    message: str = ""
    remedy: str = ""


Effect: TypeAlias = "ReadRows | RecordIntent | Post | RecordResult | WaitToRetry | WaitToLook | Finish"
