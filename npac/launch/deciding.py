"""From what was seen of a launch to what is done about it.

What decides an open POST, in this order: a job of ours that is seen; what became of its request; its
register, which is sealed when nothing has come of it for as long as it may stay invisible; and without a
register nothing but the long absence from the list of a server that has not been restarted since.

A register is not sealed sooner than that, although it would decide at once: a job that is merely slow
to be seen would find it sealed and end without having done anything, and the next one waits as long.
The exception is a POST that a driver which may be alive may yet send: no time says anything about
that one, and the seal is what makes it harmless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from npac.launch.evidence import Evidence, certain, read
from npac.launch.messages import (
    Finish,
    ReadClaim,
    ReadRequest,
    ReadRows,
    RecordIntent,
    RecordReaped,
    RecordResult,
    RecordSettled,
    Rows,
    Seal,
)
from npac.launch.ports import JobRow, RequestResult
from npac.launch.reaping import judge, reap, suspects, taken_up, watch
from npac.launch.state import (
    ABSENT,
    CLAIMED_OUT,
    DECIDE,
    INTENT,
    RECONCILE,
    SEALED,
    Launch,
    Step,
    finish,
    late,
    look_again,
    quiet_over,
    settle,
    undecided,
)


def seen(state: Launch, survey: Rows) -> Step:
    """Take in a survey."""
    goal, now = state.goal, survey.now
    if survey.instance != goal.instance:
        return moved(state, survey.instance)
    state = replace(state, incarnation=survey.incarnation)
    found = read(state, survey)
    if found.strange:
        return undecided(
            state,
            f"job {ids(found.strange)} has our launch id {goal.launch_id} under another name than "
            f"{goal.name}",
            "look at that job; nothing was launched or cancelled",
        )
    state = taken_up(state, now)
    if state.reaping is not None:
        return watch(state, state.reaping, survey)
    if found.over:
        # Told apart from the jobs of later POSTs now, while there are none.
        state = replace(state, reaped=state.reaped.union(row.id for row in found.over))
        return state, (*(RecordReaped(row.id, row.status) for row in found.over), ReadRows())
    for row in found.stale:
        if certain(goal, row):
            return reap(state, row, SEALED, now)
    if found.astray:
        return undecided(
            state,
            f"job {ids(found.astray)} carries our launch id and is not of POST {state.posts}, the last one",
            "look at these jobs; cancel those that are not wanted, and resume",
        )
    state = replace(state, suspects=suspects(state, found, now))
    if state.claimed:
        return _held(state, survey)
    if len(found.viable) > 1:
        return _several(state, found, now)
    if found.lively:
        return _take(state, found.lively[0])
    if found.lifeless:
        return _lifeless(state, found.lifeless[0], found, now)
    if found.ended:
        return _take(state, max(found.ended, key=lambda each: (each.submitted_at, each.id)))
    return _absent(state, found, now)


def moved(state: Launch, instance: str) -> Step:
    """End because another engine answers than the recorded one."""
    goal = state.goal
    return finish(
        state,
        Finish(
            "moved",
            message=f"engine instance {instance or '(unnamed)'} answers, and the jobs of {goal.name} are on "
            f"{goal.instance or '(unnamed)'}; they cannot be seen from here",
        ),
    )


# --- a job that is seen -----------------------------------------------------------------------


def _attached(state: Launch, row: JobRow) -> Step:
    return finish(state, Finish("attached", row=row, adopted=not state.accepted))


def _take(state: Launch, row: JobRow) -> Step:
    """Adopt a job, after asking the register where there is reason to doubt that it is the one."""
    if state.phase == DECIDE and not state.job_hint and not _plainly_of_last(state, row) and _may_ask(state):
        return state, (ReadRequest(state.request_id),)
    wrong = bool(state.job_hint) and row.id != state.job_hint
    if state.granted and state.phase == DECIDE and (state.inherited or not _plainly_of_last(state, row)):
        return replace(state, candidates=(row,)), (ReadClaim(state.posts),)
    if wrong:
        return undecided(
            state,
            f"the engine accepted the launch as job {state.job_hint} and lists it as job {row.id}",
            "look at both jobs; nothing was cancelled",
        )
    return _attached(state, row)


def unclaimed(state: Launch, now: float) -> Step:
    """Go on when nobody holds the register of the last POST, about which some rows gave reason to ask."""
    rows = state.candidates
    state = replace(state, candidates=(), inherited=False)
    if len(rows) == 1 and _plainly_of_last(state, rows[0]):
        return _attached(state, rows[0])
    if not late(state, now):
        return look_again(state)
    return undecided(
        state,
        f"nobody has claimed POST {state.posts} of {state.goal.name} within {state.goal.deadline:g} s, and "
        f"these jobs carry our launch id: {ids(rows)}",
        "look at what they wait for, cancel those that are not wanted, and resume",
    )


def _may_ask(state: Launch) -> bool:
    """Say whether there is a request of the last POST of which it is not known what became of it."""
    return state.goal.requests and bool(state.request_id) and state.request_id not in state.results


def _plainly_of_last(state: Launch, row: JobRow) -> bool:
    """Say whether a job can be of no other POST than the last one."""
    if state.job_hint:
        return row.id == state.job_hint
    return not state.sealed or row.post == state.posts


def _several(state: Launch, found: Evidence, now: float) -> Step:
    if state.posts and not state.goal.unique_key and len(found.lively) < 2:
        # A phantom is none of them; whether a row is one takes a second look.
        for row in found.lifeless:
            step = judge(state, row, found, now)
            if step is not None:
                return step
    if state.granted and state.phase == DECIDE:
        return replace(state, candidates=found.viable), (ReadClaim(state.posts),)
    return undecided(
        state,
        f"several jobs ({ids(found.viable)}) carry one launch id, {state.goal.launch_id}",
        "cancel all but one of them and resume",
    )


def _held(state: Launch, survey: Rows) -> Step:
    """Go on when it is known which job holds the register: the others are ended, and it is adopted."""
    goal = state.goal
    holder = next((row for row in survey.rows if row.id == state.claimed), None)
    if holder is None:
        if not late(state, survey.now):
            return look_again(state)
        return undecided(
            state,
            f"job {state.claimed} has claimed POST {state.posts} of {goal.name}, and the engine does not "
            "list it",
            "look for that job in the engine, then resume",
        )
    if holder.name != goal.name or holder.launch_id not in ("", goal.launch_id):
        return undecided(
            state,
            f"job {holder.id}, which has claimed POST {state.posts}, is {holder.name}, not {goal.name}",
            "look at that job; nothing was cancelled",
        )
    for row in survey.rows:
        over = row.terminal or row.id in state.reaped or row.id in state.left
        if row.id != holder.id and not over and certain(goal, row):
            return reap(state, row, CLAIMED_OUT, survey.now)
    return _attached(state, holder)


def _lifeless(state: Launch, row: JobRow, found: Evidence, now: float) -> Step:
    if state.goal.unique_key or state.posts == 0:
        # What the log knows nothing of is not for the transaction to judge.
        return _take(state, row)
    step = judge(state, row, found, now)
    if step is not None:
        return step
    if not late(state, now):
        return look_again(state)
    return undecided(
        state,
        f"job {row.id} ({row.name}) shows no sign of life, and its request is still active",
        "resume when the engine is done with it",
    )


# --- nothing is seen --------------------------------------------------------------------------


def _absent(state: Launch, found: Evidence, now: float) -> Step:
    if state.phase == RECONCILE:
        return _nothing_open(state, found, now)
    if state.goal.unique_key:
        return _absent_unique(state, now)
    if found.coming:
        return _coming(state, found, now)
    if _may_ask(state):
        return state, (ReadRequest(state.request_id),)
    result = state.results.get(state.request_id)
    if result is not None and result.state == "failed":
        if state.granted:
            # What was delivered twice could be refused once.
            return replace(state, refused=True), (Seal(state.posts),)
        return finish(state, _refusal(state, result))
    if state.wild:
        return _wild(state)
    # What was promised, by a request that is not known to be lost, is waited for longer.
    promised = state.accepted and (result is None or result.state != "unknown")
    if not (late(state, now) if promised else quiet_over(state, now)):
        return look_again(state)
    if state.granted:
        return state, (Seal(state.posts),)
    return _by_absence(state, found, now)


def _refusal(state: Launch, result: RequestResult) -> Finish:
    return Finish("rejected", message=result.message or f"the engine gave up request {state.request_id}")


def sealed(state: Launch, now: float) -> Step:
    """Take in that no job of the last POST will ever start user code."""
    if state.refused:
        record = RecordSettled(state.posts, SEALED)
        return finish(state, _refusal(state, state.results[state.request_id]), record)
    return settle(state, SEALED, now)


def _by_absence(state: Launch, found: Evidence, now: float) -> Step:
    """Decide a POST without a register, that has not been seen for as long as it may be invisible."""
    if state.accepted:
        if not late(state, now):
            return look_again(state)
        return undecided(
            state,
            f"the engine accepted the launch but listed no job {state.goal.name} within "
            f"{state.goal.deadline:g} s",
            "look for the job in the engine, then resume",
        )
    if not state.posted_in or not state.incarnation:
        return unanswered(state)
    if state.incarnation != state.posted_in:
        return unanswered(state, "the engine's server was started anew since, and may have lost sight of it")
    if found.opaque:
        if not late(state, now):
            return look_again(state)
        return unanswered(state, "the engine works at requests of which it does not say what they are for")
    return settle(state, ABSENT, now)


def _wild(state: Launch) -> Step:
    if state.granted:
        return state, (Seal(state.posts),)
    return unanswered(
        state,
        "the driver that was about to send it is not proven dead, and may send it yet",
        "end that driver's process and resume on its machine, or look for the job in the engine",
    )


def _nothing_open(state: Launch, found: Evidence, now: float) -> Step:
    if found.coming and (state.loose or not state.sealed) and not state.goal.unique_key:
        # Nothing is known to be out, and yet a job may come.
        if not late(state, now):
            return look_again(state)
        return undecided(
            state,
            f"the engine works at request {found.coming[0].id}, which carries our launch id, and the log has "
            "no POST that it could be of",
            "resume when the engine is done with it",
        )
    if not state.goal.may_post:
        return finish(state, Finish("absent", message="nothing was launched"))
    return _intend(state)


def _coming(state: Launch, found: Evidence, now: float) -> Step:
    """Wait for an active request; its id is put on record when it can be of no other POST."""
    only = found.coming[0].id
    if not state.request_id and len(found.coming) == 1 and not state.sealed and not state.loose:
        state = replace(state, accepted=True, open=False, wild=False, request_id=only)
        state, effects = look_again(state)
        return state, (RecordResult(state.posts, "accepted", only), *effects)
    if not late(state, now):
        return look_again(state)
    return undecided(
        state,
        f"the engine still works at request {only} of {state.goal.name} after {state.goal.deadline:g} s",
        "resume when the engine is done with it",
    )


def _absent_unique(state: Launch, now: float) -> Step:
    goal = state.goal
    if state.accepted:
        if not late(state, now):
            return look_again(state)
        return undecided(
            state,
            f"the engine accepted the launch but listed no job {goal.name} within {goal.deadline:g} s",
            "look for the job in the engine, then resume",
        )
    if state.refusal is not None:
        if not quiet_over(state, now):
            return look_again(state)
        refused = state.refusal
        return finish(state, Finish("rejected", message=refused.message, remedy=refused.remedy))
    if goal.may_post:
        # The same launch id again is not a second job: the engine gives the first one back.
        return unanswered(state) if late(state, now) else _intend(state)
    if not quiet_over(state, now):
        return look_again(state)
    return finish(state, Finish("absent", message="the last launch never reached the engine"))


def _intend(state: Launch) -> Step:
    state = replace(state, phase=INTENT, looks=0)
    claim = state.goal.claims and not state.goal.unique_key
    return state, (RecordIntent(state.posts + 1, state.incarnation, claim),)


def unanswered(state: Launch, why: str = "", remedy: str = "") -> Step:
    """Leave a POST of which it is not known whether it made a job."""
    said = "; ".join(part for part in (state.trouble, why) if part)
    return undecided(
        state,
        f"it is not known whether POST {state.posts} of {state.goal.name} made a job"
        + (f": {said}" if said else ""),
        remedy or state.remedy or "look for the job in the engine; nothing is posted again on doubt",
    )


def ids(rows: Sequence[JobRow]) -> str:
    """Give the ids of jobs for people."""
    return ", ".join(row.id for row in rows)
