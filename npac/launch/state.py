"""What is being launched, and where a launch stands: the state of the launch transaction.

Times are seconds of one monotonic clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from npac.launch.messages import Effect, Finish, PostFailed, ReadRows, RecordSettled, WaitToLook
from npac.launch.ports import JobRow, RequestResult

RECONCILE = "reconcile"
"""No POST is open; one may follow."""
INTENT = "intent"
POSTING = "posting"
DECIDE = "decide"
"""A POST was, or may have been, sent."""
DONE = "done"

PHANTOM = "phantom"
"""Why a job is reaped: it shows no sign of life, and nothing is left that could bring it to life."""
SEALED = "sealed"
"""Why a job is reaped: its POST is sealed.  Also how a POST was settled."""
CLAIMED_OUT = "claimed-out"
"""Why a job is reaped: another job of its POST holds the register."""

ABSENT = "absent"
"""How a POST was settled: nothing was seen of it for long enough."""
ENDED = "ended"
"""How a POST was settled: its job was reaped."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What does not change during one launch."""

    launch_id: str
    name: str
    unique_key: bool
    """The engine never makes a second job for one launch id."""
    may_post: bool = True
    """False when the launch is only looked for (to be cancelled), never made."""
    quiet: float = 60.0
    """How long an uncertain POST may stay invisible before it is decided without having been seen."""
    deadline: float = 180.0
    """How long, from the return of a POST, it may stay undecided; also how long an engine may be silent."""
    instance: str = ""
    """The engine that is meant; answers of any other say nothing."""
    requests: bool = False
    """The engine can be asked what became of a request."""
    claims: bool = False
    """Each POST takes a grant along, and its register decides."""
    patience: float = 120.0
    """How long a job that is reaped may take to end."""
    most_lost: int = 3
    """How many POSTs in a row may be settled without a job before a person has to look."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the log says of a launch that is taken up: of its last POST unless it is said otherwise."""

    posts: int = 0
    """Intents on record."""
    open: bool = False
    """It has no certain outcome."""
    answered: bool = False
    """Its call has returned, so that nobody can still be about to send it."""
    accepted: bool = False
    """The engine took it, and no job was seen yet."""
    job_hint: str = ""
    request_id: str = ""
    posted_in: str = ""
    """The server's incarnation when it was sent."""
    granted: bool = False
    """It took a grant along."""
    predecessor_dead: bool = True
    """The driver that wrote its intent is proven to send nothing any more."""
    sealed: frozenset[int] = frozenset()
    """Earlier POSTs that are sealed."""
    loose: frozenset[int] = frozenset()
    """Earlier POSTs that were held to be absent: whatever comes of one after all is beside the promise."""
    reaped: frozenset[str] = frozenset()
    """Jobs that were reaped, and have ended."""
    begun: Mapping[str, str] = field(default_factory=dict)
    """Jobs that were to be reaped and have not been seen to end, and why."""


@dataclass(frozen=True, slots=True)
class Reaping:
    """A job that is being ended."""

    job_id: str
    why: str
    since: float
    asked: bool = False
    """The engine took the wish."""
    misses: int = 0
    """Good answers in a row that lacked it."""
    looks: int = 0
    """Looks since the wish was last given."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Where one launch stands."""

    goal: Goal
    phase: str
    posts: int
    """Intents recorded so far, in earlier drivers too."""
    since: float
    """When the present uncertainty began; deadlines count from here."""
    open: bool = False
    """A POST, of this driver or an earlier one, has no certain outcome."""
    doubt: bool = False
    """So it was already before the last intent: the answer to the last POST does not settle it."""
    refusal: PostFailed | None = None
    """The engine refused the last POST while an earlier one is open."""
    accepted: bool = False
    job_hint: str = ""
    """The job id that the engine gave when it accepted; empty when it gave none."""
    request_id: str = ""
    """The request of the last POST; empty when it is not known."""
    results: Mapping[str, RequestResult] = field(default_factory=dict)
    """What became of requests that are over, by id."""
    unsent: int = 0
    """Tries in a row that never left this host."""
    looks: int = 0
    """Looks in a row that did not decide."""
    trouble: str = ""
    """The last thing that went wrong, for people."""
    remedy: str = ""
    incarnation: str = ""
    """The server's, as of the last good survey."""
    posted_in: str = ""
    """The server's, as of the last intent."""
    granted: bool = False
    """The last POST took a grant along, so that its register decides."""
    inherited: bool = False
    """The last POST is of an earlier driver, which may have sealed it."""
    wild: bool = False
    """A driver that may be alive may yet send the last POST."""
    claimed: str = ""
    """The job that holds the last POST's register; empty while that is not known."""
    refused: bool = False
    """Its request was refused and left no row: the register is sealed, and then that is the end."""
    candidates: tuple[JobRow, ...] = ()
    """The rows about which the register is being asked."""
    sealed: frozenset[int] = frozenset()
    loose: frozenset[int] = frozenset()
    suspects: Mapping[str, float] = field(default_factory=dict)
    """Rows that were lifeless and without a live request at the last look, and since when."""
    reaping: Reaping | None = None
    begun: Mapping[str, str] = field(default_factory=dict)
    reaped: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    """Jobs that did not end in time; they never start user code, so nothing waits for them any more."""
    lost: int = 0
    """POSTs in a row that this driver has settled without a job."""


Step: TypeAlias = "tuple[Launch, tuple[Effect, ...]]"


def finish(state: Launch, end: Finish, *first: Effect) -> Step:
    """End the transaction, after the effects that come ``first``."""
    return replace(state, phase=DONE), (*first, end)


def undecided(state: Launch, message: str, remedy: str, *first: Effect) -> Step:
    """End without knowing; nothing is posted, cancelled or given up."""
    return finish(state, Finish("undecided", message=message, remedy=remedy), *first)


def quiet_over(state: Launch, now: float) -> bool:
    """Say whether the last POST has been invisible for so long that looking on proves nothing more."""
    return now - state.since >= state.goal.quiet


def late(state: Launch, now: float) -> bool:
    """Say whether the present uncertainty has lasted for as long as it may."""
    return now - state.since >= state.goal.deadline


def look_again(state: Launch) -> Step:
    """Wait, and look again."""
    state = replace(state, looks=state.looks + 1)
    return state, (WaitToLook(state.looks),)


def settle(state: Launch, how: str, now: float) -> Step:
    """Close the last POST, of which no job will come, and go on to the next."""
    n = state.posts
    record = RecordSettled(n, how)
    state = replace(
        state,
        phase=RECONCILE,
        since=now,
        open=False,
        accepted=False,
        wild=False,
        inherited=False,
        granted=False,
        job_hint="",
        request_id="",
        claimed="",
        candidates=(),
        sealed=state.sealed | {n} if how == SEALED else state.sealed,
        loose=state.loose | {n} if how == ABSENT else state.loose,
        looks=0,
        lost=state.lost + 1,
    )
    if state.goal.may_post and state.lost >= state.goal.most_lost:
        return finish(
            state,
            Finish(
                "lost",
                message=f"{state.lost} POSTs of {state.goal.name} in a row came to nothing"
                + (f": {state.trouble}" if state.trouble else ""),
                remedy="look at the engine, which takes launches and makes no jobs of them, then resume",
            ),
            record,
        )
    return state, (record, ReadRows())
