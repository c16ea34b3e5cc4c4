"""One batch as one job, to its end: attached, watched, and if need be cancelled."""

from __future__ import annotations

from npac.launch.backoff import Backoff
from npac.launch.ports import Capabilities, EngineError, JobRow, Surveying
from npac.launch.supervision import Dark, Ended, Foreign, Gone, JobRef, Moved, Watch, look
from npac.runtime import events as ev
from npac.runtime.advice import MAX_WAIT
from npac.runtime.attach import Batch, JobLost, LaunchRejected, attach, engine_moved, launch_of, wave_of
from npac.runtime.claimed import taken_over
from npac.runtime.leaving import Blocked
from npac.runtime.session import Session
from npac.runtime.view import LaunchView

__all__ = ["MAX_WAIT", "Batch", "JobLost", "LaunchRejected", "run"]

FIRST_PAUSE = 0.05
"""Seconds between the first two looks at a job; the pause grows to the user's ``poll_seconds``."""

PAUSE_GROWTH = 1.4

OUTAGE = Backoff(first=1.0, cap=15.0)
"""Between two looks at an engine that does not answer."""

SAY_AGAIN = Backoff(first=15.0, cap=300.0, jitter=0.0)
"""Between two lines about the same outage."""

_SLICE = 1.0

CANCEL_PATIENCE = 120.0
"""Seconds within which a cancelled job must be seen to have ended."""


LAUNCH = "launch"
RECONCILE = "reconcile"
WATCH = "watch"
STAY = "ENGINE_MOVED"
GIVE_UP = "give up"


def taken_up(launch: LaunchView | None, instance: str, *, engine_moved: bool) -> str:
    """Say where a driver takes up a batch that has not ended.

    ``instance`` is the engine that answers now; ``engine_moved`` is the user's word that nothing is
    left on the one before.
    """
    if launch is None or not launch.in_flight:
        return LAUNCH
    if launch.instance != instance:
        return GIVE_UP if engine_moved else STAY
    return RECONCILE if launch.job is None else WATCH


def run(session: Session, capabilities: Capabilities, batch: Batch) -> JobRow:
    """Bring a batch to the end of its job, from wherever the log says it is.

    Raises :class:`LaunchRejected`, :class:`JobLost`, and what ends the walk.
    """
    launch = launch_of(session, batch)
    where = taken_up(launch, capabilities.instance, engine_moved=session.options.engine_moved)
    if launch is not None and where in (STAY, GIVE_UP):
        said = f"{launch.name} was launched on engine instance {launch.instance}, and this is "
        said += capabilities.instance
        if where == STAY:
            raise engine_moved(session, batch.wave.id, f"{said}; its jobs cannot be seen from here")
        raise JobLost(f"{said}; it was given up on the user's word", "ENGINE_MOVED")
    if launch is None or where != WATCH:
        launch = attach(session, capabilities, batch)
    while True:
        row = _supervise(session, batch, launch)
        if not taken_over(session, capabilities, batch, launch, row):
            return row


def _supervise(session: Session, batch: Batch, launch: LaunchView) -> JobRow:
    ref = launch.job
    assert ref is not None, "a launch is supervised once it is attached"
    world, options = session.world, session.options
    watch = Watch(ref, last=(launch.status, tuple((n, s) for n, s in launch.task_status)))
    pause = min(FIRST_PAUSE, options.poll_seconds)
    outage = _Outage(session, batch)
    if launch.cancelling:
        return _cancel(session, batch, launch, launch.cancelling)
    while True:
        if session.look_up():
            return _cancel(session, batch, launch, "cancelled")
        if batch.deadline is not None and world.clock() >= batch.deadline:
            return _out_of_time(session, batch, launch)
        watch, verdict = look(watch, _answer(session, ref), world.clock())
        if isinstance(verdict, Dark):
            _rest(session, outage.dark(verdict), batch.deadline)
            pause = min(FIRST_PAUSE, options.poll_seconds)
            continue
        outage.over()
        if isinstance(verdict, Ended):
            _tell(session, batch, launch, verdict.row)
            return verdict.row
        if isinstance(verdict, Gone | Foreign):
            raise _vanished(batch, ref, verdict)
        if isinstance(verdict, Moved):
            _tell(session, batch, launch, verdict.row)
            pause = min(FIRST_PAUSE, options.poll_seconds)
        session.pause(pause)
        pause = min(pause * PAUSE_GROWTH, options.poll_seconds)


def _answer(session: Session, ref: JobRef) -> JobRow | None | Exception:
    engine = session.world.engine
    try:
        row = engine.job(ref.id)
        if isinstance(engine, Surveying) and (row is None or not ref.is_of(row)):
            # That a job is gone, or another one, only the engine that has it can tell.
            survey = engine.survey()
            if survey.instance != ref.instance:
                return EngineError(f"engine instance {survey.instance} answers, not {ref.instance}")
            row = next((each for each in survey.rows if each.id == ref.id), None)
        return row
    except EngineError as error:
        return error


def _tell(session: Session, batch: Batch, launch: LaunchView, row: JobRow) -> None:
    tasks = [[task.name, task.status] for task in row.tasks]
    if (launch.status, launch.task_status) == (row.status, tasks):
        return
    session.append(
        ev.JOB_STATUS,
        {"launch_id": launch.launch_id, "status": row.status, "tasks": tasks, "reason": row.reason[:2000]},
    )
    session.world.progress.job_changed(wave_of(session, batch), launch)


def _vanished(batch: Batch, ref: JobRef, verdict: Gone | Foreign) -> Blocked:
    if isinstance(verdict, Gone):
        return Blocked(
            f"the engine answers, but has no job {ref.id} ({ref.name}) any more; how it ended is not known",
            code="JOB_GONE",
            node=batch.wave.id,
            remedy="find out what became of the job",
        )
    return Blocked(
        f"job {ref.id} is now {verdict.row.name}, not {ref.name}; it was left alone",
        code="JOB_FOREIGN",
        node=batch.wave.id,
        remedy="have the engine that the run was started with, then resume",
    )


class _Outage:
    """An engine that does not answer: on record once, told rarely, asked less and less often."""

    def __init__(self, session: Session, batch: Batch) -> None:
        self._session, self._batch = session, batch
        self._looks = self._told = 0
        self._tell_at = 0.0

    def dark(self, verdict: Dark) -> float:
        """Take in that a look has failed; gives the seconds until the next one.

        Raises :class:`Blocked` when the engine has been silent for too long.
        """
        session = self._session
        self.tell(verdict)
        bound = session.options.max_status_outage
        if verdict.seconds > bound:
            raise Blocked(
                f"the engine has not answered for {verdict.seconds:.0f} s, and its job was left alone: "
                f"{verdict.message}",
                code="ENGINE_SILENT",
                node=self._batch.wave.id,
                remedy="make the engine reachable and resume",
            )
        self._looks += 1
        pause = OUTAGE.delay(self._looks, session.world.random)
        # The bound is met at its time, and not a long pause later.
        return min(pause, max(bound - verdict.seconds, 0.0) + FIRST_PAUSE)

    def tell(self, verdict: Dark) -> None:
        """Put the outage on record, and tell of it when it is time to."""
        session = self._session
        if not session.view.dark:
            session.append(ev.ENGINE_LOST, {"node": self._batch.wave.id, "message": verdict.message[:2000]})
        if verdict.first:
            self._looks = self._told = 0
            self._tell_at = 0.0
        if verdict.seconds >= self._tell_at:
            session.world.progress.outage(verdict.message, verdict.seconds)
            self._told += 1
            self._tell_at = verdict.seconds + SAY_AGAIN.base(self._told)

    def over(self) -> None:
        """Take in an answer: an outage that is on record is over, whatever the answer was."""
        if self._session.view.dark:
            self._session.append(ev.ENGINE_BACK, {"node": self._batch.wave.id, "message": ""})


def _rest(session: Session, seconds: float, deadline: float | None) -> None:
    """Pause without becoming deaf: what people ask for, signals and the wave's bound end it early."""
    until = session.world.clock() + seconds
    if deadline is not None:
        until = min(until, deadline)
    while True:
        left = until - session.world.clock()
        if left <= 0:
            return
        session.pause(min(left, _SLICE))
        if session.look_up():
            return


def _out_of_time(session: Session, batch: Batch, launch: LaunchView) -> JobRow:
    if session.options.on_timeout == "detach":
        raise Blocked(
            f"{launch.name} is not done after {session.options.max_wait:g} s; its job goes on",
            code=MAX_WAIT,
            node=batch.wave.id,
            remedy=f"npac resume {session.view.run_id} (without --max-wait it waits for as long as it takes)",
        )
    return _cancel(session, batch, launch, MAX_WAIT)


def _cancel(session: Session, batch: Batch, launch: LaunchView, why: str) -> JobRow:
    """End this very job and see it end; gives its last row, which may say that it had succeeded."""
    ref = launch.job
    assert ref is not None, "a job is cancelled by its identity"
    if not launch.cancelling:
        session.append(ev.CANCEL_INTENT, {"launch_id": launch.launch_id, "job_id": ref.id, "why": why})
    watch, asked, pause = Watch(ref), False, FIRST_PAUSE
    outage = _Outage(session, batch)
    until = session.world.clock() + CANCEL_PATIENCE
    while True:
        session.look_up()
        watch, verdict = look(watch, _answer(session, ref), session.world.clock())
        if isinstance(verdict, Dark):
            outage.tell(verdict)
        else:
            outage.over()
        if isinstance(verdict, Ended):
            _tell(session, batch, launch, verdict.row)
            session.append(
                ev.CANCEL_RESULT,
                {"launch_id": launch.launch_id, "job_id": ref.id, "status": verdict.row.status},
            )
            return verdict.row
        if isinstance(verdict, Gone | Foreign):
            raise _vanished(batch, ref, verdict)
        if not asked and not isinstance(verdict, Dark) and watch.missing == 0:
            # Only now was the job seen to be the one that is meant.
            asked = _ask_to_end(session, ref)
        if session.world.clock() >= until:
            raise Blocked(
                f"job {ref.id} ({ref.name}) was to be cancelled, and was not seen to end within "
                f"{CANCEL_PATIENCE:g} s",
                code="CANCELLATION_UNVERIFIED",
                node=batch.wave.id,
                remedy=f"see that job {ref.id} ends, then resume",
            )
        session.pause(pause)
        pause = min(pause * PAUSE_GROWTH, 1.0)


def _ask_to_end(session: Session, ref: JobRef) -> bool:
    if not session.may_act():
        return False  # the next look gives a sign of life first, or finds that the run was taken
    try:
        session.world.engine.cancel(ref.id)
    except EngineError as error:
        session.world.progress.note(f"job {ref.id} could not be cancelled yet: {error}")
        return False
    return True
