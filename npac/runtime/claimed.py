"""A job that has ended and may not have begun: its register says what the launch has come to.

One POST should make one job.  Where it has made two, the first that starts claims the register and runs
user code, and the other one ends with :data:`CLAIMED_OUT`.  If that is the one that was adopted, the
holder is adopted in its place.  A job that ended before it could claim leaves a register that another
one, of the same POST and seen by nobody yet, could still claim: it is sealed before the end is taken
for the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from npac.launch.backoff import Backoff
from npac.launch.claims import ClaimError, Holder
from npac.launch.ports import SUCCEEDED, Capabilities, EngineError, JobRow
from npac.launch.supervision import JobRef
from npac.runtime import events as ev
from npac.runtime.attach import Batch, JobLost
from npac.runtime.leaving import Blocked
from npac.runtime.session import Session
from npac.runtime.view import LaunchView

CLAIMED_OUT = 75
"""Exit code of a job that found its register held by another or sealed, and has run no user code."""

PATIENCE = 180.0
"""Seconds within which the register, and the job that holds it, must be seen."""

_ASK_AGAIN = Backoff(first=1.0, cap=15.0)

Found = TypeVar("Found")


def taken_over(
    session: Session, capabilities: Capabilities, batch: Batch, launch: LaunchView, row: JobRow
) -> bool:
    """Say whether another job than the one that has ended is that of the launch; it is attached then.

    Otherwise no other job of that POST will ever start user code.  Raises :class:`JobLost` when the job
    tells that it has run nothing and the register is sealed, and :class:`Blocked` when nobody tells who
    holds it.
    """
    if session.world.claims is None or not launch.claim or not _may_be_out(row):
        return False
    holder = _patiently(session, batch, launch, lambda: _sealed(session, launch, row))
    if holder.job_id == row.id or (holder.sealed and not _lost(row)):
        return False
    if holder.sealed:
        raise JobLost(
            f"job {row.id} of {launch.name} found its register sealed, and has run nothing",
            "CLAIM_SEALED",
        )
    if holder.instance not in ("", capabilities.instance):
        raise Blocked(
            f"job {holder.job_id} of engine instance {holder.instance} holds the register of {launch.name}, "
            f"and this is {capabilities.instance}",
            code="ENGINE_MOVED",
            node=batch.wave.id,
            remedy="look for that job on that engine, then resume",
        )
    other = _patiently(session, batch, launch, lambda: _job(session, launch, holder.job_id))
    session.world.progress.note(f"job {row.id} was not the one that runs {launch.name}; job {other.id} is")
    session.append(
        ev.JOB_ATTACHED,
        {
            "node": batch.wave.id,
            "attempt": session.view.waves[batch.wave.id].last.number,
            "batch": batch.number,
            "launch_id": launch.launch_id,
            "job": JobRef.of(other, capabilities.instance, launch.launch_id).to_json(),
            "adopted": True,
            "n": launch.posts,
        },
    )
    return True


def _may_be_out(row: JobRow) -> bool:
    """Say whether a job may have ended before it ran user code; another exit code is the user's own."""
    codes = {task.exit_code for task in row.tasks} - {None, 0}
    return row.status != SUCCEEDED and (not codes or CLAIMED_OUT in codes)


def _lost(row: JobRow) -> bool:
    """Say whether a job tells that it found its register taken."""
    return any(task.exit_code == CLAIMED_OUT for task in row.tasks)


def _sealed(session: Session, launch: LaunchView, row: JobRow) -> Holder:
    claims = session.world.claims
    assert claims is not None, "asked only where there are registers"
    if not session.may_act():
        raise ClaimError("the driver was held up")
    return claims.seal(launch.launch_id, row.post or launch.posts)


def _job(session: Session, launch: LaunchView, job_id: str) -> JobRow:
    row = session.world.engine.job(job_id)
    if row is None:
        raise EngineError(f"the engine has no job {job_id}, which holds the register of {launch.name}")
    if row.name != launch.name or row.launch_id not in ("", launch.launch_id):
        raise EngineError(f"job {job_id}, which holds the register of {launch.name}, is {row.name}")
    return row


def _patiently(session: Session, batch: Batch, launch: LaunchView, ask: Callable[[], Found]) -> Found:
    until = session.world.clock() + PATIENCE
    tries = 0
    while True:
        session.look_up()
        try:
            return ask()
        except (ClaimError, EngineError) as error:
            if session.world.clock() >= until:
                raise Blocked(
                    f"which job runs {launch.name} could not be told within {PATIENCE:g} s: {error}",
                    code="CLAIM_UNKNOWN",
                    node=batch.wave.id,
                    remedy=error.remedy or "make the store of claims and the engine reachable, then resume",
                ) from error
        tries += 1
        session.pause(_ASK_AGAIN.delay(tries, session.world.random))
