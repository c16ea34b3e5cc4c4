"""What the launch layer asks of an engine.

An engine runs SkyPilot documents as jobs.  Everything that the launch layer needs of it is in
:class:`Engine`; nothing else of an engine may be used.  All methods block; all raise
:class:`EngineError` (or a subclass) and nothing else for what the outside world does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

PENDING = "PENDING"
STARTING = "STARTING"
RUNNING = "RUNNING"
RECOVERING = "RECOVERING"
CANCELLING = "CANCELLING"
SUCCEEDED = "SUCCEEDED"
FAILED = "FAILED"
FAILED_SETUP = "FAILED_SETUP"
FAILED_PRECHECKS = "FAILED_PRECHECKS"
FAILED_NO_RESOURCE = "FAILED_NO_RESOURCE"
FAILED_CONTROLLER = "FAILED_CONTROLLER"
CANCELLED = "CANCELLED"

TERMINAL = frozenset(
    {SUCCEEDED, FAILED, FAILED_SETUP, FAILED_PRECHECKS, FAILED_NO_RESOURCE, FAILED_CONTROLLER, CANCELLED}
)


class EngineError(Exception):
    """The engine did not do what it was asked, or did not say what happened.

    ``phase`` says how far a launch came: ``"never-sent"`` (no byte of the request left),
    ``"rejected"`` (a well-formed refusal; nothing was made) or ``"maybe-sent"`` (anything else).
    ``remedy`` is one sentence that says what to do.
    """

    def __init__(self, message: str, *, phase: str = "maybe-sent", remedy: str = "") -> None:
        super().__init__(message)
        self.phase = phase
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task of a job, as the engine reports it."""

    name: str
    status: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job of the engine's list.  Times are seconds since the epoch on the engine's clock."""

    id: str
    name: str
    launch_id: str
    """``NPA_WORKFLOW_ATTEMPT_ID`` of the job's tasks; empty when the engine cannot tell."""
    status: str
    submitted_at: float
    started_at: float | None = None
    ended_at: float | None = None
    reason: str = ""
    """Why the job is in this state, for people."""
    tasks: tuple[TaskRow, ...] = ()
    post: int = 0
    """The number of the POST that made the job, from ``NPA_LAUNCH_POST``; 0 when the engine cannot tell."""
    lively: bool = True
    """False for a row without any sign of life: no schedule state, no times, no process."""
    request_id: str = ""
    """The request that made the row, where the engine tells."""

    @property
    def terminal(self) -> bool:
        """Say whether the job's state can no longer change."""
        return self.status in TERMINAL


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """What an engine gives back for an accepted launch."""

    request_id: str
    job_id: str = ""
    """The job, where the engine knows it at once; else empty."""


@dataclass(frozen=True, slots=True)
class ActiveRequest:
    """A request that the engine has taken and not finished; a launch shows here before it has a row."""

    id: str
    name: str
    """The job name in the request's body; empty when the engine does not show it."""
    launch_id: str
    """The launch id in the request's body; empty when the engine does not show it."""


@dataclass(frozen=True, slots=True)
class RequestResult:
    """What became of a request.

    ``state``: ``"active"``, ``"succeeded"`` (``job_id`` is the job where the engine says it),
    ``"failed"`` (``message`` says why; no job was made) or ``"unknown"``, which proves nothing:
    request ids need not survive a restart of the server.
    """

    state: str
    job_id: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    """All that an engine knows of launches, from one good answer.

    Only a survey whose ``instance`` is the recorded one says anything about absence, and only
    surveys of one ``incarnation`` (it changes whenever the server starts) can be compared.
    """

    rows: Sequence[JobRow]
    requests: Sequence[ActiveRequest]
    instance: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do; the launch layer asks before it relies on it."""

    name: str
    unique_launch_key: bool
    """A second launch with one launch id gives the first one's job instead of a new one."""
    images: bool
    """Tasks run inside the image that they name."""
    accelerators: bool
    instance: str
    """Identity of this very engine (a random id kept in its state); part of every intent."""
    limits: Mapping[str, Any] = field(default_factory=dict)


class Engine(Protocol):
    """One place where jobs run."""

    def capabilities(self) -> Capabilities:
        """Give what the engine is and can do."""
        ...

    def launch(
        self,
        documents: Sequence[Mapping[str, Any]],
        name: str,
        launch_id: str,
        secrets: Mapping[str, str],
    ) -> LaunchRequest:
        """Submit linked SkyPilot documents as one job.

        ``documents`` is one task, or a JobGroup: a header ``{name, execution: parallel}`` and a
        task for each member.  ``secrets`` become environment variables of every task and are
        written nowhere else than where only the owner can read.
        """
        ...

    def jobs(self) -> Sequence[JobRow]:
        """Give every job of this engine, or raise; never a part of the list."""
        ...

    def job(self, job_id: str) -> JobRow | None:
        """Give one job; None when the engine answers that it does not exist."""
        ...

    def cancel(self, job_id: str) -> None:
        """Ask for the end of one job and all its processes; asking twice is no error."""
        ...

    def logs(self, job_id: str, *, task: str = "", follow: bool = False) -> Iterator[str]:
        """Yield the log of a job in pieces of text, of one task where ``task`` is given.

        With ``follow``, goes on until the job is over.
        """
        ...


@runtime_checkable
class Indexed(Protocol):
    """An engine that finds the jobs of one launch without going through its whole list.

    A launch then costs the same however many jobs the engine has seen.
    """

    def jobs_of(self, launch_id: str, name: str) -> Sequence[JobRow]:
        """Give every job that has this launch id or this name, as :meth:`Engine.jobs` would, or raise."""
        ...


@runtime_checkable
class Surveying(Protocol):
    """An engine that takes launches asynchronously: a request first, a row later."""

    def survey(self) -> Survey:
        """Give the whole list of jobs and of active requests, and who answered; or raise."""
        ...

    def request(self, request_id: str) -> RequestResult:
        """Give what became of one request; raises :class:`EngineError` when nobody answers."""
        ...


@runtime_checkable
class Prechecking(Protocol):
    """An engine that can say without launching anything whether it takes documents."""

    def precheck(self, documents: Sequence[Mapping[str, Any]], name: str, secrets: Mapping[str, str]) -> None:
        """Raise :class:`EngineError`, phase ``"rejected"``, for documents that a launch would refuse.

        Nothing is made, and nothing is asked of what may be otherwise at the launch (free places,
        room on a disk).
        """
        ...
