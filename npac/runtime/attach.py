"""From a batch to a job that is known to be its own: launched, or found again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npac.ir.program import Program, Wave, label
from npac.launch import identity
from npac.launch import transaction as tx
from npac.launch.interpreter import Parcel, Surroundings, execute
from npac.launch.ports import Capabilities, Surveying
from npac.launch.supervision import JobRef
from npac.runtime import events as ev
from npac.runtime.leaving import Blocked, Cancelled, Failed
from npac.runtime.session import Session
from npac.runtime.view import AttemptView, LaunchView, WaveView
from npac.runtime.world import LaunchValues

IDEMPOTENT_QUIET = 2.0
"""Seconds without a row that prove, for an engine with a unique launch key, that there is none."""


_CODES = {"unreachable": "ENGINE_UNREACHABLE", "lost": "LAUNCH_LOST"}
"""Codes of blocked runs, by how the transaction ended."""


def engine_moved(session: Session, node: str, reason: str) -> Blocked:
    """Give what stops a run whose jobs are on another engine instance than the one that answers."""
    return Blocked(
        reason,
        code="ENGINE_MOVED",
        node=node,
        remedy="resume where the run was (the same server; for the engine local, NPAC_HOME as it was), or, "
        f"once you have seen that none of its jobs is left: npac resume {session.view.run_id} --engine-moved",
    )


class LaunchRejected(Exception):
    """The engine refused the documents; nothing was made."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class JobLost(Exception):
    """What was in flight is given up; it is not the user's code that has failed.

    ``code`` is a fixed word for programs.
    """

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Batch:
    """What is to be run as one job."""

    program: Program
    wave: Wave
    number: int
    """Which batch of the wave, from 1."""
    members: tuple[int, ...]
    deadline: float | None
    """When the wave has waited too long, on the driver's clock; None for never."""

    def secrets(self) -> tuple[str, ...]:
        """Give the names of the secrets that the posted members need, sorted."""
        steps = (self.program.steps[self.wave.members[m].step] for m in self.members)
        return tuple(sorted({name for step in steps for name in step.secrets}))


def wave_of(session: Session, batch: Batch) -> WaveView:
    """Give the view of the batch's wave."""
    return session.view.waves[batch.wave.id]


def _attempt(session: Session, batch: Batch) -> AttemptView:
    return wave_of(session, batch).last


def launch_of(session: Session, batch: Batch) -> LaunchView | None:
    """Give the launch of the batch in its wave's latest attempt; None before its first intent."""
    return _attempt(session, batch).launches.get(batch.number)


class _Papers:
    """The documents of one POST, made once and only when they are needed."""

    def __init__(self, session: Session, batch: Batch, values: LaunchValues) -> None:
        self._session, self._batch, self._values = session, batch, values
        self._made: Sequence[Mapping[str, Any]] = ()
        self._post = 0

    def documents(self, n: int) -> Sequence[Mapping[str, Any]]:
        if self._post != n:
            wave = self._batch.wave
            values = dataclasses.replace(self._values, post=n)
            try:
                made = self._session.world.render(wave, self._batch.members, values)
            except ValueError as error:
                raise Failed(
                    f"the documents of {wave.id} cannot be made: {error}",
                    code="LINK_FAILED",
                    node=wave.id,
                ) from error
            tasks = made if len(self._batch.members) == 1 else made[1:]
            if len(tasks) != len(self._batch.members):
                raise RuntimeError(f"{len(tasks)} tasks were made for {len(self._batch.members)} members")
            self._made, self._post = made, n
        return self._made

    def tasks(self, n: int) -> list[str]:
        made = self.documents(n)
        return [str(document.get("name", "")) for document in (made if len(made) == 1 else made[1:])]


class _Recorder:
    """Writes what the transaction says into the run's log."""

    def __init__(
        self, session: Session, batch: Batch, values: LaunchValues, instance: str, papers: _Papers
    ) -> None:
        self._session, self._batch, self._values = session, batch, values
        self._instance, self._papers = instance, papers

    def intent(self, record: tx.RecordIntent) -> None:
        self._session.append(
            ev.LAUNCH_INTENT,
            {
                "node": self._batch.wave.id,
                "attempt": self._values.attempt,
                "batch": self._batch.number,
                "members": list(self._batch.members),
                "launch_id": self._values.launch_id,
                "name": self._values.name,
                "n": record.n,
                "instance": self._instance,
                "incarnation": record.incarnation,
                "claim": record.claim,
                "tasks": self._papers.tasks(record.n),
                "secrets": list(self._batch.secrets()),
            },
        )

    def result(self, record: tx.RecordResult) -> None:
        self._session.append(
            ev.LAUNCH_RESULT,
            {
                "launch_id": self._values.launch_id,
                "n": record.n,
                "outcome": record.outcome,
                "request_id": record.request_id,
                "job_id": record.job_id,
                "message": record.message[:2000],
            },
        )

    def settled(self, record: tx.RecordSettled) -> None:
        self._session.append(
            ev.LAUNCH_SETTLED, {"launch_id": self._values.launch_id, "n": record.n, "how": record.how}
        )
        self._session.world.progress.note(
            f"POST {record.n} of {self._values.name} has made no job ({record.how})"
        )

    def reap(self, effect: tx.Reap) -> None:
        known = launch_of(self._session, self._batch)
        if known is None or effect.row.id in known.reaping:
            return  # it is on record already, and asking again is the same wish
        self._session.append(
            ev.REAP_INTENT,
            {"launch_id": self._values.launch_id, "job_id": effect.row.id, "why": effect.why},
        )

    def reaped(self, record: tx.RecordReaped) -> None:
        self._session.append(
            ev.REAP_RESULT,
            {"launch_id": self._values.launch_id, "job_id": record.job_id, "status": record.status},
        )


def launch_values(session: Session, batch: Batch) -> LaunchValues:
    """Give the values of a batch's launch: those on record, else new ones."""
    view, wave, attempt = session.view, batch.wave, _attempt(session, batch)
    known = attempt.launches.get(batch.number)
    if known is not None:
        return LaunchValues(view.run_id, wave.number, attempt.number, known.launch_id, known.name)
    launch_id = identity.launch_id(
        view.run_uid, wave.id, batch.number, attempt.number, (str(m) for m in batch.members)
    )
    name = identity.job_name(
        view.run_id,
        wave.number,
        label(wave, batch.program),
        launch_id,
        batch=batch.number if len(wave.batches) > 1 else None,
        attempt=attempt.number,
    )
    return LaunchValues(view.run_id, wave.number, attempt.number, launch_id, name)


def attach(session: Session, capabilities: Capabilities, batch: Batch) -> LaunchView:
    """Launch a batch, or find its launch again, and put its job on record.

    Raises :class:`LaunchRejected`; :class:`Cancelled` when the run is to be cancelled and no job was
    made; :class:`Blocked` when it cannot be told whether one was.
    """
    values = launch_values(session, batch)
    papers = _Papers(session, batch, values)
    recorder = _Recorder(session, batch, values, capabilities.instance, papers)
    given = session.world.secrets
    parcel = Parcel(papers.documents, {name: given[name] for name in batch.secrets() if name in given})
    engine, claims = session.world.engine, session.world.claims
    while True:
        cancelling = session.look_up()
        known = launch_of(session, batch)
        uncertain = known is not None and known.in_flight
        if cancelling and not uncertain:
            raise Cancelled(session.view.cancel or "cancelled", code="CANCELLED", node=batch.wave.id)
        lacking = [name for name in batch.secrets() if name not in given]
        if lacking and not cancelling:
            raise Blocked(
                f"{values.name} needs the secrets {', '.join(lacking)}, which were not given",
                code="SECRETS_MISSING",
                node=batch.wave.id,
                remedy="export them, then: npac resume "
                + " ".join([session.view.run_id, *(f"--secret-env {name}" for name in lacking)]),
            )
        unique = capabilities.unique_launch_key
        goal = tx.Goal(
            launch_id=values.launch_id,
            name=values.name,
            unique_key=unique,
            may_post=not cancelling,
            quiet=IDEMPOTENT_QUIET if unique else session.options.launch_quiet,
            instance=capabilities.instance,
            requests=isinstance(engine, Surveying),
            claims=claims is not None and not unique,
        )
        started = tx.begin(goal, session.world.clock(), known=_known(session, known))
        # A launch that is only looked for, to be cancelled, is not stopped by the same wish again.
        stop = _stop_when_cancelled(session) if goal.may_post else _only_look_up(session)
        surroundings = Surroundings(
            engine=engine,
            recorder=recorder,
            now=session.world.clock,
            wait=session.pause,
            random=session.world.random,
            stop=stop,
            claims=claims,
            may_act=session.may_act,
        )
        end = execute(started, parcel, surroundings)
        if end.outcome == "stopped":
            continue
        return _attached(session, capabilities, batch, values, end)


def _known(session: Session, launch: LaunchView | None) -> tx.Known:
    """Give what the log says of a launch, as the transaction takes it up."""
    if launch is None:
        return tx.Known()
    return tx.Known(
        posts=launch.posts,
        open=launch.open,
        answered=launch.answered,
        accepted=launch.accepted,
        job_hint=launch.job_id if launch.accepted else "",
        request_id=launch.request_id if launch.accepted else "",
        posted_in=launch.incarnation,
        granted=launch.claim,
        predecessor_dead=session.gone(launch.fence),
        sealed=frozenset(launch.sealed),
        loose=frozenset(launch.loose),
        reaped=frozenset(launch.reaped),
        begun=dict(launch.reaping),
    )


def _stop_when_cancelled(session: Session) -> Callable[[], str]:
    return lambda: "cancelled" if session.look_up() else ""


def _only_look_up(session: Session) -> Callable[[], str]:
    def stop() -> str:
        session.look_up()
        return ""

    return stop


def _attached(
    session: Session, capabilities: Capabilities, batch: Batch, values: LaunchValues, end: tx.Finish
) -> LaunchView:
    node = batch.wave.id
    if end.outcome == "rejected":
        raise LaunchRejected(end.message, end.remedy)
    if end.outcome == "absent":
        session.append(ev.LAUNCH_ABSENT, {"launch_id": values.launch_id})
        raise Cancelled(session.view.cancel or "cancelled", code="CANCELLED", node=node)
    if end.outcome == "moved":
        raise engine_moved(session, node, end.message)
    if end.outcome != "attached" or end.row is None:
        code = _CODES.get(end.outcome, "LAUNCH_UNDECIDED")
        raise Blocked(end.message, code=code, node=node, remedy=end.remedy)
    known = launch_of(session, batch)
    if known is None:
        # A job with our launch id that the log knows nothing of: the log was cut or copied.
        raise Blocked(
            f"job {end.row.id} carries the launch id of {values.name}, and the log has no intent for it",
            code="LAUNCH_UNRECORDED",
            node=node,
            remedy=f"check the run's log: npac runs fsck {session.view.run_id}",
        )
    ref = JobRef.of(end.row, capabilities.instance, values.launch_id)
    session.append(
        ev.JOB_ATTACHED,
        {
            "node": node,
            "attempt": values.attempt,
            "batch": batch.number,
            "launch_id": values.launch_id,
            "job": ref.to_json(),
            "adopted": end.adopted,
            "n": known.posts,
        },
    )
    return known
