"""The launch transaction: from "start this batch" to one job that is known to be ours.

A pure function: :func:`begin` and :func:`step` take a state and what has just happened and give
the next state and the effects to execute, in order.  Nothing here reads a clock, an engine or a
ledger; :mod:`npac.launch.interpreter` does, and a simulator in the tests does.

The order is always: look at the engine's whole list; make the intent durable; POST once; look
again.  An intent whose outcome is not known is never followed by another POST, unless the engine
has a unique launch key: there the same launch id gives the same job, whatever became of the first.

Times are seconds of one monotonic clock and come in with each event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from npac.launch.messages import (
    Accepted,
    Effect,
    Finish,
    Happening,
    IntentDurable,
    Post,
    PostFailed,
    ReadRows,
    RecordIntent,
    RecordResult,
    Rows,
    RowsUnavailable,
    StopAsked,
    WaitToLook,
    WaitToRetry,
    Woke,
)
from npac.launch.ports import SUCCEEDED, JobRow

__all__ = [
    "Accepted",
    "DECIDE",
    "DONE",
    "Effect",
    "Finish",
    "Goal",
    "Happening",
    "INTENT",
    "IntentDurable",
    "Launch",
    "POSTING",
    "Post",
    "PostFailed",
    "RECONCILE",
    "ReadRows",
    "RecordIntent",
    "RecordResult",
    "Rows",
    "RowsUnavailable",
    "Step",
    "StopAsked",
    "WaitToLook",
    "WaitToRetry",
    "Woke",
    "begin",
    "ours",
    "step",
]

# --- what is being launched ------------------------------------------------------------------


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
    """How long an uncertain POST may stay invisible before the launch is given up as undecided."""
    deadline: float = 180.0
    """How long the engine may be unreachable, or an accepted launch invisible."""


RECONCILE = "reconcile"
"""No POST is open; one may follow."""
INTENT = "intent"
POSTING = "posting"
DECIDE = "decide"
"""A POST was, or may have been, sent."""
DONE = "done"


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
    unsent: int = 0
    """Tries in a row that never left this host."""
    looks: int = 0
    """Looks in a row that did not decide."""
    trouble: str = ""
    """The last thing that went wrong, for people."""
    remedy: str = ""


Step: TypeAlias = "tuple[Launch, tuple[Effect, ...]]"


# --- the function -----------------------------------------------------------------------------


def begin(
    goal: Goal, now: float, *, posts: int = 0, open: bool = False, accepted: bool = False, job_hint: str = ""
) -> Step:
    """Start or take up a launch.

    ``posts`` intents are on record; ``open`` says that one of them has no certain outcome, and
    ``accepted`` that the engine took the last one but no job was seen yet.
    """
    phase = DECIDE if open or accepted else RECONCILE
    state = Launch(goal, phase, posts, now, open=open, accepted=accepted, job_hint=job_hint)
    return state, (ReadRows(),)


def step(state: Launch, event: Happening) -> Step:
    """Give what follows from ``event``.  Raises ``ValueError`` for an event out of place."""
    if state.phase == DONE:
        raise ValueError("the launch is over")
    if isinstance(event, StopAsked):
        if state.phase == POSTING:
            raise ValueError("a POST is not stopped halfway")
        return _finish(state, Finish("stopped", message=event.why))
    if isinstance(event, Woke):
        return state, (ReadRows(),)
    if isinstance(event, Rows):
        return _seen(state, event)
    if isinstance(event, RowsUnavailable):
        return _blind(state, event)
    if isinstance(event, IntentDurable) and state.phase == INTENT:
        posts = state.posts + 1
        state = replace(state, phase=POSTING, posts=posts, open=True, doubt=state.open, accepted=False)
        return state, (Post(state.posts),)
    if isinstance(event, Accepted) and state.phase == POSTING:
        done = RecordResult(state.posts, "accepted", event.request_id, event.job_id)
        state = replace(
            state,
            phase=DECIDE,
            open=False,
            doubt=False,
            accepted=True,
            job_hint=event.job_id,
            since=event.now,
            looks=0,
        )
        return state, (done, ReadRows())
    if isinstance(event, PostFailed) and state.phase == POSTING:
        return _failed(state, event)
    raise ValueError(f"{type(event).__name__} does not belong to phase {state.phase}")


def ours(goal: Goal, row: JobRow) -> bool:
    """Say whether a row is the job of this launch.

    The name must be equal, and the launch id too where the engine can tell it.
    """
    return row.name == goal.name and row.launch_id in ("", goal.launch_id)


def _seen(state: Launch, event: Rows) -> Step:
    goal = state.goal
    mine = [row for row in event.rows if ours(goal, row)]
    strange = [row for row in event.rows if row.launch_id == goal.launch_id and row.name != goal.name]
    if strange:
        return _finish(
            state,
            Finish(
                "undecided",
                message=f"job {_ids(strange)} has our launch id {goal.launch_id} under another name than "
                f"{goal.name}",
                remedy="look at that job; nothing was launched or cancelled",
            ),
        )
    viable = [row for row in mine if not row.terminal or row.status == SUCCEEDED]
    if len(viable) > 1:
        return _finish(
            state,
            Finish(
                "undecided",
                message=f"several jobs ({_ids(viable)}) carry one launch id, {goal.launch_id}",
                remedy="cancel all but one of them and resume",
            ),
        )
    if mine:
        row = viable[0] if viable else max(mine, key=lambda each: (each.submitted_at, each.id))
        if state.job_hint and row.id != state.job_hint:
            return _finish(
                state,
                Finish(
                    "undecided",
                    message=f"the engine accepted the launch as job {state.job_hint} and lists it as job "
                    f"{row.id}",
                    remedy="look at both jobs; nothing was cancelled",
                ),
            )
        return _finish(state, Finish("attached", row=row, adopted=not state.accepted))
    return _absent(state, event.now)


def _absent(state: Launch, now: float) -> Step:
    goal = state.goal
    if state.phase == RECONCILE:
        if not goal.may_post:
            return _finish(state, Finish("absent", message="nothing was launched"))
        return _intend(state)
    if state.accepted:
        if now - state.since >= goal.deadline:
            return _finish(
                state,
                Finish(
                    "undecided",
                    message=f"the engine accepted the launch but listed no job {goal.name} within "
                    f"{goal.deadline:g} s",
                    remedy="look for the job in the engine, then resume",
                ),
            )
        return _look_again(state)
    if state.refusal is not None:
        if now - state.since < goal.quiet:
            return _look_again(state)
        refused = state.refusal
        return _finish(state, Finish("rejected", message=refused.message, remedy=refused.remedy))
    if goal.unique_key and goal.may_post:
        # The same launch id again is not a second job: the engine gives the first one back.
        if now - state.since >= goal.deadline:
            return _unanswered(state)
        return _intend(state)
    if now - state.since < goal.quiet:
        return _look_again(state)
    if goal.unique_key:
        return _finish(state, Finish("absent", message="the last launch never reached the engine"))
    return _unanswered(state)


def _intend(state: Launch) -> Step:
    state = replace(state, phase=INTENT, looks=0)
    return state, (RecordIntent(state.posts + 1),)


def _look_again(state: Launch) -> Step:
    state = replace(state, looks=state.looks + 1)
    return state, (WaitToLook(state.looks),)


def _unanswered(state: Launch) -> Step:
    why = f": {state.trouble}" if state.trouble else ""
    return _finish(
        state,
        Finish(
            "undecided",
            message=f"it is not known whether POST {state.posts} of {state.goal.name} made a job{why}",
            remedy=state.remedy or "look for the job in the engine; nothing is posted again on doubt",
        ),
    )


def _blind(state: Launch, event: RowsUnavailable) -> Step:
    state = replace(state, trouble=event.message)
    if event.now - state.since < state.goal.deadline:
        return _look_again(state)
    known = "a POST is open" if state.open else "no POST is open"
    known = "the launch was accepted" if state.accepted else known
    return _finish(
        state,
        Finish(
            "undecided",
            message=f"the engine's job list could not be read for {state.goal.deadline:g} s ({known}): "
            f"{event.message}",
            remedy="make the engine reachable and resume",
        ),
    )


def _failed(state: Launch, event: PostFailed) -> Step:
    record = RecordResult(state.posts, event.phase, message=event.message)
    state = replace(state, trouble=event.message, remedy=event.remedy)
    if event.phase == "rejected" and state.doubt:
        # This POST made nothing, but an earlier one may have: only the list can tell.
        state = replace(state, phase=DECIDE, refusal=event, since=event.now, looks=0)
        return state, (record, ReadRows())
    if event.phase == "rejected":
        state, effects = _finish(
            replace(state, open=False), Finish("rejected", message=event.message, remedy=event.remedy)
        )
        return state, (record, *effects)
    if event.phase == "never-sent":
        since = event.now if state.unsent == 0 else state.since
        phase = DECIDE if state.doubt else RECONCILE
        state = replace(state, phase=phase, open=state.doubt, unsent=state.unsent + 1, since=since)
        if event.now - since >= state.goal.deadline and state.open:
            state, effects = _unanswered(state)
            return state, (record, *effects)
        if event.now - since >= state.goal.deadline:
            state, effects = _finish(
                state,
                Finish(
                    "unreachable",
                    message=f"the engine could not be reached for {state.goal.deadline:g} s; nothing was "
                    f"launched: {event.message}",
                    remedy=event.remedy or "make the engine reachable and resume",
                ),
            )
            return state, (record, *effects)
        return state, (record, WaitToRetry(state.unsent))
    # Anything else may have been sent, also a phase that this version does not know.
    record = replace(record, outcome="maybe-sent")
    first = state.unsent == 0
    state = replace(
        state,
        phase=DECIDE,
        since=event.now if first or not state.goal.unique_key else state.since,
        unsent=state.unsent + 1 if state.goal.unique_key else 0,
        looks=0,
    )
    if state.goal.unique_key and state.unsent > 1:
        return state, (record, WaitToRetry(state.unsent - 1))
    return state, (record, ReadRows())


def _finish(state: Launch, end: Finish) -> Step:
    return replace(state, phase=DONE), (end,)


def _ids(rows: Sequence[JobRow]) -> str:
    return ", ".join(row.id for row in rows)
