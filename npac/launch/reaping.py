"""Jobs of ours that are to end: phantoms, and those that can never start user code.

A phantom is a row without any sign of life whose request is over, or went with an earlier start of the
server.  Nothing will bring it to life, so it is not adopted, and its POST would wait for it for ever.  A
job is ended by its id alone, only where the engine tells that it carries our launch id, and only a good
answer that shows it ended, or lacks it several times, counts.
"""

from __future__ import annotations

from dataclasses import replace

from npac.launch.evidence import Evidence, certain, read
from npac.launch.messages import Finish, ReadRequest, ReadRows, Reap, RecordReaped, Rows, Seal
from npac.launch.ports import SUCCEEDED, JobRow
from npac.launch.state import (
    DECIDE,
    ENDED,
    PHANTOM,
    Launch,
    Reaping,
    Step,
    finish,
    look_again,
    settle,
    undecided,
)

REAP_AGAIN = 8
"""Looks at a job that does not end after which the wish to end it is given again."""

GONE_AFTER = 3
"""Good answers in a row without a job that was to end, after which it counts as gone."""


def suspects(state: Launch, found: Evidence, now: float) -> dict[str, float]:
    """Give the lifeless rows that no live request can bring to life, and since when they are that."""
    if found.opaque:
        return {}
    active = {request.id for request in found.coming}
    return {
        row.id: state.suspects.get(row.id, now)
        for row in found.lifeless
        if not active or (row.request_id and row.request_id not in active)
    }


def judge(state: Launch, row: JobRow, found: Evidence, now: float) -> Step | None:
    """Look further into a lifeless row, or end it as a phantom; None for one that is merely young."""
    since = state.suspects.get(row.id)
    if since is None:
        return None
    request = row.request_id or state.request_id
    result = state.results.get(request)
    if state.goal.requests and request and result is None:
        return state, (ReadRequest(request),)
    if result is not None and result.message:
        state = replace(state, trouble=result.message)
    # A request that has ended well may be a moment ahead of what it has made.
    patience = state.goal.quiet if result is not None and result.state == "succeeded" else 0.0
    if now <= since or now - since < patience:
        return look_again(state)
    if state.granted and state.phase == DECIDE and not found.lively:
        # A sealed POST needs no proof that its job has ended before the next one follows.
        return replace(state, candidates=()), (Seal(state.posts),)
    if certain(state.goal, row):
        return reap(state, row, PHANTOM, now)
    return undecided(
        state,
        f"job {row.id} ({row.name}) shows no sign of life, and the engine does not tell its launch id",
        f"cancel job {row.id} if it is a leftover, then resume",
    )


def reap(state: Launch, row: JobRow, why: str, now: float) -> Step:
    """Begin to end one job by its id."""
    begun = {**state.begun, row.id: why}
    state = replace(state, reaping=Reaping(row.id, why, now), begun=begun)
    return state, (Reap(row, why),)


def taken_up(state: Launch, now: float) -> Launch:
    """Go on with what an earlier driver has begun to end and has not seen to end."""
    if state.reaping is None:
        for job_id, why in state.begun.items():
            if job_id not in state.left:
                return replace(state, reaping=Reaping(job_id, why, now))
    return state


def watch(state: Launch, reaping: Reaping, survey: Rows) -> Step:
    """Take in a survey while a job is being ended."""
    goal = state.goal
    row = next((each for each in survey.rows if each.id == reaping.job_id), None)
    if row is not None and not certain(goal, row):
        if reaping.why != PHANTOM:
            return _leave(state, reaping)
        return undecided(
            state,
            f"job {row.id} was to be ended, and is now {row.name}, not {goal.name}; it was left alone",
            "look at that job, then resume",
        )
    if row is None:
        reaping = replace(reaping, misses=reaping.misses + 1)
        if reaping.misses >= GONE_AFTER:
            return _over(state, reaping, None, survey)
        return look_again(replace(state, reaping=reaping))
    if row.terminal:
        return _over(state, reaping, row, survey)
    if survey.now - reaping.since < goal.patience:
        reaping = replace(reaping, misses=0, looks=reaping.looks + 1)
        if not reaping.asked or reaping.looks >= REAP_AGAIN:
            return replace(state, reaping=replace(reaping, looks=0)), (Reap(row, reaping.why),)
        return look_again(replace(state, reaping=reaping))
    if reaping.why != PHANTOM:
        return _leave(state, reaping)
    return undecided(
        state,
        f"job {row.id} ({row.name}), which shows no sign of life, was to be cancelled, and was not seen to "
        f"end within {goal.patience:g} s",
        f"see that job {row.id} ends, then resume",
    )


def _leave(state: Launch, reaping: Reaping) -> Step:
    """Wait no longer for a job that cannot start user code anyhow."""
    return replace(state, reaping=None, left=state.left | {reaping.job_id}), (ReadRows(),)


def _over(state: Launch, reaping: Reaping, row: JobRow | None, survey: Rows) -> Step:
    """Take in that a job which was to end has ended."""
    job = reaping.job_id
    done = RecordReaped(job, row.status if row is not None else "absent")
    begun = {each: why for each, why in state.begun.items() if each != job}
    state = replace(state, reaping=None, begun=begun, looks=0)
    if reaping.why != PHANTOM:
        return replace(state, reaped=state.reaped | {job}), (done, ReadRows())
    if row is not None and (row.status == SUCCEEDED or row.started_at is not None):
        # It came to life just before it was ended: what it did counts.
        return finish(state, Finish("attached", row=row, adopted=True), done)
    state = replace(state, reaped=state.reaped | {job})
    if state.phase != DECIDE:
        return state, (done, ReadRows())
    post = row.post if row is not None else 0
    of_last = post == state.posts if post else not (state.loose or state.sealed)
    found = read(state, survey)
    if of_last and state.job_hint in ("", job) and not (found.viable or found.ended or found.coming):
        # One POST makes one job, and this one's is over.
        state, effects = settle(state, ENDED, survey.now)
        return state, (done, *effects)
    return state, (done, ReadRows())
