"""What is known of a run, as data.  Only :mod:`npac.runtime.fold` makes these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from npac.launch.supervision import JobRef
from npac.ledger.ports import Observation

PLANNED = "planned"
RUNNING = "running"
WAITING = "waiting"
SUCCEEDED = "succeeded"
FAILED = "failed"
BLOCKED = "blocked"
CANCELLED = "cancelled"

ENDED = frozenset({SUCCEEDED, FAILED, CANCELLED})


@dataclass(slots=True)
class OutputRecord:
    """An output that a wave has proven to have written."""

    uri: str
    kind: str
    observation: Observation
    node: str
    attempt: int
    state: str
    """The state (or group) that declares it."""


@dataclass(slots=True)
class MemberResult:
    """How one member of a batch ended."""

    member: int
    ok: bool
    family: str
    status: str
    exit_code: int | None
    reason: str
    missing: list[dict[str, str]]


@dataclass(slots=True)
class LaunchView:
    """One logical launch: a batch of an attempt."""

    launch_id: str
    name: str
    batch: int
    members: tuple[int, ...]
    tasks: tuple[str, ...]
    instance: str
    posts: int = 0
    fence: int = 0
    """The driver that wrote the last intent."""
    incarnation: str = ""
    """Of the engine's server, as of the last intent."""
    claim: bool = False
    """The last POST took a grant along, so that its register decides."""
    open: bool = False
    """A POST has no certain outcome."""
    answered: bool = False
    """The call of the last POST has returned."""
    doubt: bool = False
    """So it was already before the last intent, whose outcome alone does not settle it."""
    accepted: bool = False
    request_id: str = ""
    """What the engine calls the last POST; empty when it is not known."""
    sealed: set[int] = field(default_factory=set)
    """POSTs whose register is sealed."""
    loose: set[int] = field(default_factory=set)
    """POSTs that were held to be absent."""
    reaping: dict[str, str] = field(default_factory=dict)
    """Jobs that were to be ended without being adopted, and why."""
    reaped: dict[str, str] = field(default_factory=dict)
    """Those that have ended, and how."""
    absent: bool = False
    """Given up: it is proven that there is no job."""
    job_id: str = ""
    """What the engine said when it accepted."""
    job: JobRef | None = None
    adopted: bool = False
    status: str = ""
    task_status: list[list[str]] = field(default_factory=list)
    reason: str = ""
    cancelling: str = ""
    """Why its job is being cancelled; empty when it is not."""
    ended: bool = False
    results: list[MemberResult] = field(default_factory=list)
    seconds: float | None = None
    """How long its job ran, by the engine's own times; None where that is not on record."""

    @property
    def in_flight(self) -> bool:
        """Say whether there is, or may be, a job that has not been seen to end."""
        return not self.ended and (self.job is not None or self.open or self.accepted)

    @property
    def word(self) -> str:
        """Give the status for people, also before the engine has given one."""
        if self.status:
            return self.status
        if self.absent:
            return "not made"
        if self.job is not None or self.accepted:
            return "accepted, not seen yet"
        return "being launched" if self.open else "not launched yet"


@dataclass(slots=True)
class AttemptView:
    """One attempt at a wave."""

    number: int
    members: tuple[int, ...]
    budget: str
    started: str
    """When, for people."""
    ended: str = ""
    state: str = RUNNING
    family: str = ""
    code: str = ""
    reason: str = ""
    remedy: str = ""
    gpus: tuple[int, ...] = ()
    """GPUs that each member of the wave asks for, on all its nodes; empty where none does."""
    launches: dict[int, LaunchView] = field(default_factory=dict)
    """By batch."""

    @property
    def in_flight(self) -> bool:
        """Say whether there is, or may be, a job of this attempt that has not been seen to end."""
        return any(launch.in_flight or launch.reaping for launch in self.launches.values())

    def done(self) -> set[int]:
        """Give the members that have succeeded in this attempt."""
        return {r.member for launch in self.launches.values() for r in launch.results if r.ok}


@dataclass(frozen=True, slots=True)
class MemberView:
    """One member of a wave, as it was last seen."""

    state: str
    job: str
    """Id of its latest job; empty while there is none."""
    status: str
    exit_code: int | None
    reason: str
    """Why it failed; empty when it did not."""
    attempt: int
    """The attempt that it was last launched in; 0 for none."""


@dataclass(slots=True)
class WaveView:
    """All that is known of one wave."""

    node: str
    number: int
    label: str
    kind: str
    loops: dict[str, int]
    states: tuple[str, ...]
    before: dict[str, Observation | None] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    """The stores' marks of the moment before its first attempt, by output."""
    opens: dict[str, dict[str, Observation | None]] = field(default_factory=dict)
    """Group that begins with this wave to how its outputs were before."""
    retry_all: bool | None = None
    """Another attempt runs all members, also those that have succeeded; None where that is not on record."""
    attempts: list[AttemptView] = field(default_factory=list)

    @property
    def state(self) -> str:
        """Give ``running``, ``succeeded`` or ``failed``."""
        return self.attempts[-1].state

    @property
    def word(self) -> str:
        """Give the state for people: a wave that was cancelled has not failed by itself."""
        return CANCELLED if self.state == FAILED and self.last.code == "CANCELLED" else self.state

    @property
    def last(self) -> AttemptView:
        """Give the latest attempt."""
        return self.attempts[-1]

    def used(self, budget: str) -> int:
        """Say how many attempts were paid from a budget."""
        return sum(attempt.budget == budget for attempt in self.attempts)

    def done(self) -> set[int]:
        """Give the members that have succeeded in any attempt."""
        return set().union(*(attempt.done() for attempt in self.attempts))

    def members(self) -> list[MemberView]:
        """Give each member as it was last seen, in the program's order."""
        found = {n: MemberView(name, "", "not launched", None, "", 0) for n, name in enumerate(self.states)}
        for attempt in self.attempts:
            for launch in attempt.launches.values():
                job = launch.job.id if launch.job is not None else launch.job_id
                seen = {each[0]: each[1] for each in launch.task_status}
                if len(seen) != len(launch.tasks):
                    seen = {}  # tasks of one name cannot be told apart
                for member, task in zip(launch.members, launch.tasks, strict=False):
                    status = seen.get(task) or launch.word
                    found[member] = MemberView(self.states[member], job, status, None, "", attempt.number)
                for result in launch.results:
                    found[result.member] = MemberView(
                        self.states[result.member],
                        job,
                        result.status,
                        result.exit_code,
                        _said(result),
                        attempt.number,
                    )
        return list(found.values())


def _said(result: MemberResult) -> str:
    """Give why a member failed; empty for one that succeeded."""
    if result.ok:
        return ""
    if result.missing or not result.exit_code:
        return result.reason
    return f"exit code {result.exit_code}"


@dataclass(slots=True)
class DecisionView:
    """What a gate has decided."""

    node: str
    state: str
    uri: str
    decision: str
    next: str
    given: bool
    """By a person, not by an artifact."""
    reason: str
    at: str


@dataclass(slots=True)
class TriggerView:
    """A trigger of one wave."""

    node: str
    state: str
    uri: str
    fired: bool
    objects: int = 0
    seen: str = ""
    """Digest of the blob with the fingerprints of all objects of this firing."""


@dataclass(frozen=True, slots=True)
class AmendmentView:
    """A change of the program that a run goes on with."""

    event: int
    """Number of the event."""
    at: str
    before: str
    """Digest of the program until then."""
    after: str
    target: str
    """Path of what was given; empty where that is not on record."""
    set_aside: tuple[str, ...]
    """Nodes that had begun and were changed: what is on record of them no longer counts."""
    changes: list[dict[str, Any]]
    """The differences by meaning; the first of them where there are very many."""
    text: str
    """The same for people, the first lines of it."""


@dataclass(frozen=True, slots=True)
class RewindView:
    """An order to run again a wave and all that followed it."""

    event: int
    """Number of the event."""
    at: str
    node: str
    set_aside: tuple[str, ...]
    """Nodes of which nothing that is on record counts any more."""


@dataclass(slots=True)
class RunView:
    """All that the log says of a run.  It says nothing of whether a driver is alive."""

    run_id: str = ""
    run_uid: str = ""
    workflow: str = ""
    target: str = ""
    """Path of what was given to be run; empty where that is not on record."""
    created: str = ""
    blobs: dict[str, str] = field(default_factory=dict)
    """What was stored with the run, by name without ``_blob``; ``program`` and ``link`` are identities."""
    outputs: str = ""
    engine: dict[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    """The options of the latest driver."""
    state: str = PLANNED
    node: str = ""
    """The node that was last touched."""
    code: str = ""
    reason: str = ""
    remedy: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    detached: str = ""
    """Why the last driver left on purpose; empty when it did not."""
    dark: str = ""
    """What the engine said when it stopped answering; empty when it answers."""
    retry: bool = False
    """A person granted one more attempt, and it has not begun."""
    cancel: str | None = None
    """The reason of a request to cancel; None when there is none."""
    updated: str = ""
    head: int = 0
    """Number of the last event taken in."""
    fences: list[int] = field(default_factory=list)
    processes: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Fence to the identity of its driver's process."""
    replaced: dict[int, str] = field(default_factory=dict)
    """Fence to why another driver could take the run from it."""
    waves: dict[str, WaveView] = field(default_factory=dict)
    decisions: dict[str, DecisionView] = field(default_factory=dict)
    triggers: dict[tuple[str, str], TriggerView] = field(default_factory=dict)
    """By node and state."""
    firings: dict[str, str] = field(default_factory=dict)
    """State of a trigger to the ``seen`` blob of its latest firing."""
    records: dict[str, OutputRecord] = field(default_factory=dict)
    """The latest record of each URI."""
    opened: dict[str, dict[str, Observation | None]] = field(default_factory=dict)
    """Group to how its outputs were before it began."""
    opened_marks: dict[str, dict[str, str]] = field(default_factory=dict)
    """Group to the stores' marks of the moment before it began."""
    checked: set[str] = field(default_factory=set)
    """Nodes before which the outputs of ended groups were found good."""
    history: dict[str, list[OutputRecord]] = field(default_factory=dict)
    """All records of each URI that count, the latest last."""
    earlier: dict[str, list[WaveView]] = field(default_factory=dict)
    """Node to what was known of it before it was set aside, oldest first."""
    amendments: list[AmendmentView] = field(default_factory=list)
    rewinds: list[RewindView] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Say whether the run has come to an end."""
        return self.state in ENDED

    def launch(self, launch_id: str) -> LaunchView | None:
        """Find a launch by its id."""
        for wave in reversed(self.waves.values()):
            for attempt in reversed(wave.attempts):
                for launch in attempt.launches.values():
                    if launch.launch_id == launch_id:
                        return launch
        return None

    def tasks_of(self, job_id: str) -> tuple[str, ...]:
        """Give the names of the tasks of a job, in the order of its documents; none for a job unknown."""
        for wave in self.every_wave():
            for attempt in wave.attempts:
                for launch in attempt.launches.values():
                    if job_id in (launch.job_id, launch.job.id if launch.job is not None else ""):
                        return launch.tasks
        return ()

    def launches(self) -> set[str]:
        """Give the ids of all launches that the log knows."""
        return {
            launch.launch_id
            for wave in self.every_wave()
            for attempt in wave.attempts
            for launch in attempt.launches.values()
        }

    def every_wave(self) -> Iterator[WaveView]:
        """Yield what is known of all waves, also what was set aside."""
        for known in self.earlier.values():
            yield from known
        yield from self.waves.values()

    def next_attempt(self, node: str) -> int:
        """Give the number of the next attempt at a wave.

        It is never one that was used before, since the ids of launches are made from it.
        """
        known = [*self.earlier.get(node, ()), *([self.waves[node]] if node in self.waves else [])]
        return known[-1].last.number + 1 if known else 1
