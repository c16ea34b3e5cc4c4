"""What happens to a launch and what is to be done about it: the words of the launch transaction.

Times are seconds of one monotonic clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from npac.launch.ports import ActiveRequest, JobRow, RequestResult

# --- what happens -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """The engine gave its whole list of jobs and, where it has them, of active requests."""

    rows: Sequence[JobRow]
    now: float
    requests: Sequence[ActiveRequest] = ()
    instance: str = ""
    """Which engine answered."""
    incarnation: str = ""
    """Which start of its server; empty where the engine cannot tell, and absence proves nothing then."""


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
class RequestSeen:
    """The engine said what became of a request."""

    request_id: str
    result: RequestResult
    now: float


@dataclass(frozen=True, slots=True)
class RequestUnavailable:
    """The engine did not say what became of a request; this says nothing about it."""

    message: str
    now: float


@dataclass(frozen=True, slots=True)
class Sealed:
    """The register is sealed: no job of that POST will ever start user code."""

    now: float


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job holds the register: it alone starts user code."""

    job_id: str
    instance: str
    now: float


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """Nobody has written into the register yet."""

    now: float


@dataclass(frozen=True, slots=True)
class ClaimUnknown:
    """The register did not answer, or a grant for it could not be made."""

    message: str
    now: float
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class ReapAsked:
    """The engine took the wish to end a job; that it has ended only its list can say."""

    job_id: str
    now: float


@dataclass(frozen=True, slots=True)
class ReapFailed:
    """The engine did not take the wish to end a job."""

    job_id: str
    message: str
    now: float


@dataclass(frozen=True, slots=True)
class Woke:
    """A wait is over."""

    now: float


@dataclass(frozen=True, slots=True)
class StopAsked:
    """The driver has to leave; nothing new is begun."""

    why: str


Happening: TypeAlias = (
    "Rows | RowsUnavailable | IntentDurable | Accepted | PostFailed | RequestSeen | RequestUnavailable"
    " | Sealed | Claimed | Unclaimed | ClaimUnknown | ReapAsked | ReapFailed | Woke | StopAsked"
)

# --- what is to be done -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Read the engine's whole list; answered by :class:`Rows` or :class:`RowsUnavailable`."""


@dataclass(frozen=True, slots=True)
class RecordIntent:
    """Make intent ``n`` durable; answered by :class:`IntentDurable`, or the driver stops.

    Answered by :class:`ClaimUnknown` when the grant that goes with the POST cannot be made; nothing is
    recorded then.
    """

    n: int
    incarnation: str = ""
    """The server's incarnation, as of the last good survey."""
    claim: bool = False
    """The POST takes a grant along, so that its register decides which job starts user code."""


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
class RecordSettled:
    """Make durable that POST ``n`` has no job that counts; nothing answers."""

    n: int
    how: str
    """``sealed``, ``absent`` (nothing was seen of it for long enough) or ``ended`` (its job was reaped)."""


@dataclass(frozen=True, slots=True)
class RecordReaped:
    """Make durable that a job which was to be reaped has ended; nothing answers."""

    job_id: str
    status: str
    """Its last status; ``absent`` when good answers lack it."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Ask what became of a request; answered by :class:`RequestSeen` or :class:`RequestUnavailable`."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Seal:
    """Seal POST ``n``; answered by :class:`Sealed`, :class:`Claimed` or :class:`ClaimUnknown`."""

    n: int


@dataclass(frozen=True, slots=True)
class ReadClaim:
    """Read who holds POST ``n``; answered as :class:`Seal` is, or by :class:`Unclaimed`."""

    n: int


@dataclass(frozen=True, slots=True)
class Reap:
    """Make the wish to end one job durable, then ask once; by :class:`ReapAsked` or :class:`ReapFailed`.

    ``row`` was just read from the recorded engine instance and carries our launch id.
    """

    row: JobRow
    why: str
    """``phantom``, ``sealed`` or ``claimed-out``."""


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
    come), ``rejected``, ``unreachable`` (nothing was sent), ``lost`` (every POST was settled without a
    job, once too often), ``moved`` (another engine answers than the recorded one), ``undecided``,
    ``stopped``.
    """

    outcome: str
    row: JobRow | None = None
    adopted: bool = False
    """The job was there before this driver posted anything that was accepted."""
    message: str = ""
    remedy: str = ""


Effect: TypeAlias = (
    "ReadRows | RecordIntent | Post | RecordResult | RecordSettled | RecordReaped | ReadRequest | Seal"
    " | ReadClaim | Reap | WaitToRetry | WaitToLook | Finish"
)
