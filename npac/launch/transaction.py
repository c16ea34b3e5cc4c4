"""The launch transaction: from "start this batch" to one job that is known to be ours.

A pure function: :func:`begin` and :func:`step` take a state and what has just happened and give
the next state and the effects to execute, in order.  Nothing here reads a clock, an engine or a
ledger; :mod:`npac.launch.interpreter` does, and a simulator in the tests does.

The order is always: look at all that the engine knows; make the intent durable; POST once; look
again.  An intent whose outcome is not known is never followed by another POST before it is settled,
unless the engine has a unique launch key: there the same launch id gives the same job, whatever became
of the first.  How a POST is settled is in :mod:`npac.launch.deciding`.

Times are seconds of one monotonic clock and come in with each event.
"""

from __future__ import annotations

from dataclasses import replace

from npac.launch.deciding import moved, sealed, seen, unanswered, unclaimed
from npac.launch.evidence import ours
from npac.launch.messages import (
    Accepted,
    Claimed,
    ClaimUnknown,
    Effect,
    Finish,
    Happening,
    IntentDurable,
    Post,
    PostFailed,
    ReadClaim,
    ReadRequest,
    ReadRows,
    Reap,
    ReapAsked,
    ReapFailed,
    RecordIntent,
    RecordReaped,
    RecordResult,
    RecordSettled,
    RequestSeen,
    RequestUnavailable,
    Rows,
    RowsUnavailable,
    Seal,
    Sealed,
    StopAsked,
    Unclaimed,
    WaitToLook,
    WaitToRetry,
    Woke,
)
from npac.launch.state import (
    DECIDE,
    DONE,
    INTENT,
    POSTING,
    RECONCILE,
    Goal,
    Known,
    Launch,
    Reaping,
    Step,
    finish,
    late,
    look_again,
    undecided,
)

__all__ = [
    "Accepted",
    "ClaimUnknown",
    "Claimed",
    "DECIDE",
    "DONE",
    "Effect",
    "Finish",
    "Goal",
    "Happening",
    "INTENT",
    "IntentDurable",
    "Known",
    "Launch",
    "POSTING",
    "Post",
    "PostFailed",
    "RECONCILE",
    "ReadClaim",
    "ReadRequest",
    "ReadRows",
    "Reap",
    "ReapAsked",
    "ReapFailed",
    "RecordIntent",
    "RecordReaped",
    "RecordResult",
    "RecordSettled",
    "RequestSeen",
    "RequestUnavailable",
    "Rows",
    "RowsUnavailable",
    "Seal",
    "Sealed",
    "Step",
    "StopAsked",
    "Unclaimed",
    "WaitToLook",
    "WaitToRetry",
    "Woke",
    "begin",
    "ours",
    "step",
]


def begin(
    goal: Goal,
    now: float,
    *,
    posts: int = 0,
    open: bool = False,
    accepted: bool = False,
    job_hint: str = "",
    predecessor_dead: bool = True,
    known: Known | None = None,
) -> Step:
    """Start or take up a launch.

    ``posts`` intents are on record; ``open`` says that the last has no certain outcome, and
    ``accepted`` that the engine took it but no job was seen yet.  ``predecessor_dead`` says that the
    driver that wrote the last intent is proven to send nothing any more.  ``known`` says all that and
    more, in place of them.
    """
    if known is None:
        known = Known(posts, open, accepted=accepted, job_hint=job_hint, predecessor_dead=predecessor_dead)
    out = known.open or known.accepted
    unsent = known.open and not known.answered and not known.predecessor_dead
    state = Launch(
        goal,
        DECIDE if out else RECONCILE,
        known.posts,
        now,
        open=known.open,
        accepted=known.accepted,
        job_hint=known.job_hint,
        request_id=known.request_id,
        posted_in=known.posted_in,
        granted=known.granted and goal.claims and not goal.unique_key and out,
        inherited=out,
        wild=unsent and not goal.unique_key,
        sealed=known.sealed,
        loose=known.loose,
        reaped=known.reaped,
        begun=dict(known.begun),
    )
    return state, (ReadRows(),)


def step(state: Launch, event: Happening) -> Step:
    """Give what follows from ``event``.  Raises ``ValueError`` for an event out of place."""
    if state.phase == DONE:
        raise ValueError("the launch is over")
    if isinstance(event, StopAsked):
        if state.phase == POSTING:
            raise ValueError("a POST is not stopped halfway")
        return finish(state, Finish("stopped", message=event.why))
    if state.phase == POSTING:
        if isinstance(event, Accepted):
            return _accepted(state, event)
        if isinstance(event, PostFailed):
            return _failed(state, event)
    elif state.phase == INTENT:
        if isinstance(event, IntentDurable):
            return _intended(state)
        if isinstance(event, ClaimUnknown):
            return _ungranted(state, event)
    elif isinstance(event, Woke):
        return state, (ReadRows(),)
    elif isinstance(event, Rows):
        return seen(state, event)
    elif isinstance(event, RowsUnavailable):
        return _blind(state, event)
    elif isinstance(event, RequestSeen | RequestUnavailable) and state.goal.requests and state.posts:
        return _request(state, event)
    elif isinstance(event, ReapAsked | ReapFailed) and state.reaping is not None:
        return _reap(state, state.reaping, event)
    elif isinstance(event, Sealed | Claimed | Unclaimed | ClaimUnknown) and state.granted:
        return _register(state, event)
    raise ValueError(f"{type(event).__name__} does not belong to phase {state.phase}")


# --- a POST and its answer --------------------------------------------------------------------


def _intended(state: Launch) -> Step:
    posts = state.posts + 1
    state = replace(
        state,
        phase=POSTING,
        posts=posts,
        open=True,
        doubt=state.open,
        accepted=False,
        job_hint="",
        request_id="",
        posted_in=state.incarnation,
        granted=state.goal.claims and not state.goal.unique_key,
        inherited=False,
        wild=False,
        claimed="",
    )
    return state, (Post(posts),)


def _ungranted(state: Launch, event: ClaimUnknown) -> Step:
    """Go on when the register of the next POST cannot be made ready: nothing is recorded or sent."""
    since = event.now if state.unsent == 0 else state.since
    state = replace(state, phase=RECONCILE, unsent=state.unsent + 1, since=since, trouble=event.message)
    if event.now - since < state.goal.deadline:
        return state, (WaitToRetry(state.unsent),)
    return finish(
        state,
        Finish(
            "unreachable",
            message=f"the store of claims could not be used for {state.goal.deadline:g} s; nothing was "
            f"launched: {event.message}",
            remedy=event.remedy or "make the store reachable and resume",
        ),
    )


def _accepted(state: Launch, event: Accepted) -> Step:
    done = RecordResult(state.posts, "accepted", event.request_id, event.job_id)
    state = replace(
        state,
        phase=DECIDE,
        open=False,
        doubt=False,
        accepted=True,
        job_hint=event.job_id,
        request_id=event.request_id,
        since=event.now,
        looks=0,
        unsent=0,
    )
    return state, (done, ReadRows())


def _failed(state: Launch, event: PostFailed) -> Step:
    record = RecordResult(state.posts, event.phase, message=event.message)
    state = replace(state, trouble=event.message, remedy=event.remedy)
    if event.phase == "rejected" and state.doubt:
        # This POST made nothing, but an earlier one may have: only the list can tell.
        state = replace(state, phase=DECIDE, refusal=event, since=event.now, looks=0)
        return state, (record, ReadRows())
    if event.phase == "rejected":
        end = Finish("rejected", message=event.message, remedy=event.remedy)
        return finish(replace(state, open=False), end, record)
    if event.phase == "never-sent":
        return _unsent(state, event, record)
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


def _unsent(state: Launch, event: PostFailed, record: RecordResult) -> Step:
    since = event.now if state.unsent == 0 else state.since
    phase = DECIDE if state.doubt else RECONCILE
    state = replace(state, phase=phase, open=state.doubt, granted=False, unsent=state.unsent + 1, since=since)
    if event.now - since < state.goal.deadline:
        return state, (record, WaitToRetry(state.unsent))
    if state.open:
        state, effects = unanswered(state)
        return state, (record, *effects)
    return finish(
        state,
        Finish(
            "unreachable",
            message=f"the engine could not be reached for {state.goal.deadline:g} s; nothing was "
            f"launched: {event.message}",
            remedy=event.remedy or "make the engine reachable and resume",
        ),
        record,
    )


# --- what else is answered --------------------------------------------------------------------


def _blind(state: Launch, event: RowsUnavailable) -> Step:
    state = replace(state, trouble=event.message)
    since = state.reaping.since if state.reaping is not None else state.since
    if event.now - since < state.goal.deadline:
        return look_again(state)
    known = "a POST is open" if state.open else "no POST is open"
    known = "the launch was accepted" if state.accepted else known
    return undecided(
        state,
        f"the engine's job list could not be read for {state.goal.deadline:g} s ({known}): {event.message}",
        "make the engine reachable and resume",
    )


def _request(state: Launch, event: RequestSeen | RequestUnavailable) -> Step:
    if isinstance(event, RequestSeen) and event.result.state != "active":
        # What it made may be newer than the rows that were seen before it was asked.
        hint = state.job_hint
        if event.request_id == state.request_id and event.result.state == "succeeded":
            hint = hint or event.result.job_id
        results = {**state.results, event.request_id: event.result}
        return replace(state, results=results, job_hint=hint), (ReadRows(),)
    if not late(state, event.now):
        return look_again(state)
    if isinstance(event, RequestSeen):
        return undecided(
            state,
            f"the engine still works at request {event.request_id} of {state.goal.name} after "
            f"{state.goal.deadline:g} s",
            "resume when the engine is done with it",
        )
    return unanswered(replace(state, trouble=event.message))


def _register(state: Launch, event: Sealed | Claimed | Unclaimed | ClaimUnknown) -> Step:
    goal = state.goal
    if isinstance(event, Sealed):
        return sealed(state, event.now)
    state = replace(state, refused=False)
    if isinstance(event, Claimed):
        if event.instance not in ("", goal.instance):
            return moved(state, event.instance)
        return replace(state, claimed=event.job_id, candidates=()), (ReadRows(),)
    if isinstance(event, Unclaimed):
        return unclaimed(state, event.now)
    state = replace(state, candidates=(), trouble=event.message)
    if not late(state, event.now):
        return look_again(state)
    return undecided(
        state,
        f"the register of POST {state.posts} of {goal.name} could not be read for {goal.deadline:g} s: "
        f"{event.message}",
        event.remedy or "make the store of claims reachable and resume",
    )


def _reap(state: Launch, reaping: Reaping, event: ReapAsked | ReapFailed) -> Step:
    if reaping.job_id != event.job_id:
        raise ValueError(f"job {event.job_id} is not being ended")
    if isinstance(event, ReapFailed):
        return look_again(replace(state, trouble=event.message))
    return look_again(replace(state, reaping=replace(reaping, asked=True, looks=0)))
