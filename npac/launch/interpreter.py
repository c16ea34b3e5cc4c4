"""Executes the effects of the launch transaction against a real engine and a real ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from npac.launch import transaction as tx
from npac.launch.backoff import LAUNCH, LOOK, Backoff
from npac.launch.claims import ClaimError, Claims, Holder
from npac.launch.ports import Engine, EngineError, Indexed, Surveying

CLAIM_URL = "NPAC_CLAIM_URL"
"""Environment variable, a secret, by which a job claims the POST that made it."""

HELD_UP = "the driver was held up for so long that another one may have taken the run"


class Recorder(Protocol):
    """Makes what the transaction says durable before it returns, or raises."""

    def intent(self, record: tx.RecordIntent) -> None:
        """Record that POST ``n`` is about to be sent."""
        ...

    def result(self, record: tx.RecordResult) -> None:
        """Record what is known of a POST that was sent."""
        ...

    def settled(self, record: tx.RecordSettled) -> None:
        """Record that a POST has no job that counts."""
        ...

    def reap(self, effect: tx.Reap) -> None:
        """Record that one job is about to be ended."""
        ...

    def reaped(self, record: tx.RecordReaped) -> None:
        """Record that it has ended."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that the transaction needs of the world.

    ``now`` gives seconds of a monotonic clock, ``wait`` waits at most so many seconds, ``random``
    gives numbers in [0, 1).  ``stop`` gives the reason to leave, or an empty string; it is asked
    before each effect that may be left out, and may raise to end the driver at once.  ``may_act``
    says whether the driver has given a sign of life so lately that no other can have taken its place.
    """

    engine: Engine
    recorder: Recorder
    now: Callable[[], float]
    wait: Callable[[float], None]
    random: Callable[[], float]
    stop: Callable[[], str]
    retry: Backoff = LAUNCH
    look: Backoff = LOOK
    claims: Claims | None = None
    may_act: Callable[[], bool] = lambda: True


@dataclass(frozen=True, slots=True)
class Parcel:
    """What is sent: documents, and secrets that are recorded nowhere.

    ``documents`` gives those of POST ``n``, always the same.  It is called for POSTs only: a launch
    that is merely found again needs none.
    """

    documents: Callable[[int], Sequence[Mapping[str, Any]]]
    secrets: Mapping[str, str]


def execute(started: tx.Step, parcel: Parcel, world: Surroundings) -> tx.Finish:
    """Carry a launch to its end and give how it ended.

    Raises what the recorder raises (nothing is posted then), and no error of engine or claims.
    """
    state, effects = started
    desk = _Desk(parcel, world)
    while True:
        answer: tx.Happening | None = None
        for effect in effects:
            if isinstance(effect, tx.Finish):
                return effect
            if isinstance(effect, tx.RecordResult):
                world.recorder.result(effect)
            elif isinstance(effect, tx.RecordSettled):
                world.recorder.settled(effect)
            elif isinstance(effect, tx.RecordReaped):
                world.recorder.reaped(effect)
            else:
                answer = desk.perform(effect, state)
        if answer is None:
            raise RuntimeError(f"the launch of {state.goal.name} has come to no next step")
        state, effects = tx.step(state, answer)


class _Desk:
    """Performs the effects that are answered."""

    def __init__(self, parcel: Parcel, world: Surroundings) -> None:
        self._parcel, self._world = parcel, world
        self._granted: dict[str, str] = {}
        """What goes with the next POST beside the secrets of its documents."""

    def perform(self, effect: tx.Effect, state: tx.Launch) -> tx.Happening:
        world = self._world
        if isinstance(effect, tx.Post):
            return self._post(effect.n, state.goal)
        why = world.stop()
        if why:
            return tx.StopAsked(why)
        if isinstance(effect, tx.ReadRows):
            return self._survey(state.goal)
        if isinstance(effect, tx.RecordIntent):
            return self._intent(effect, state.goal)
        if isinstance(effect, tx.ReadRequest):
            return self._request(effect.request_id)
        if isinstance(effect, tx.Seal | tx.ReadClaim):
            return self._register(effect, state.goal)
        if isinstance(effect, tx.Reap):
            return self._reap(effect)
        if isinstance(effect, tx.WaitToRetry):
            world.wait(world.retry.delay(effect.tries, world.random))
            return tx.Woke(world.now())
        if isinstance(effect, tx.WaitToLook):
            world.wait(world.look.delay(effect.tries, world.random))
            return tx.Woke(world.now())
        raise TypeError(f"no way to perform {effect!r}")

    def _survey(self, goal: tx.Goal) -> tx.Happening:
        world, engine = self._world, self._world.engine
        try:
            if isinstance(engine, Surveying):
                seen = engine.survey()
                return tx.Rows(seen.rows, world.now(), seen.requests, seen.instance, seen.incarnation)
            # An engine that shows no requests cannot show that none is under way: it has no incarnation
            # within which absence would count.
            rows = engine.jobs_of(goal.launch_id, goal.name) if isinstance(engine, Indexed) else engine.jobs()
            return tx.Rows(rows, world.now(), (), goal.instance)
        except EngineError as error:
            return tx.RowsUnavailable(str(error), world.now())

    def _intent(self, effect: tx.RecordIntent, goal: tx.Goal) -> tx.Happening:
        world = self._world
        # What cannot be made must fail before there is an intent to account for.
        self._parcel.documents(effect.n)
        self._granted = {}
        if effect.claim:
            if world.claims is None:
                raise RuntimeError(f"{goal.name} is to take a claim along, and there are none")
            try:
                self._granted[CLAIM_URL] = world.claims.grant(goal.launch_id, effect.n)
            except ClaimError as error:
                return tx.ClaimUnknown(str(error), world.now(), error.remedy)
        world.recorder.intent(effect)
        return tx.IntentDurable(world.now())

    def _post(self, n: int, goal: tx.Goal) -> tx.Happening:
        world, parcel = self._world, self._parcel
        if not world.may_act():
            # Between the intent and here another driver may have decided about this very POST.
            return tx.PostFailed("never-sent", HELD_UP, "", world.now())
        secrets = {**parcel.secrets, **self._granted}
        try:
            request = world.engine.launch(parcel.documents(n), goal.name, goal.launch_id, secrets)
        except EngineError as error:
            return tx.PostFailed(error.phase, str(error), error.remedy, world.now())
        return tx.Accepted(request.request_id, request.job_id, world.now())

    def _request(self, request_id: str) -> tx.Happening:
        world, engine = self._world, self._world.engine
        if not isinstance(engine, Surveying):
            return tx.RequestUnavailable("the engine cannot be asked about requests", world.now())
        try:
            return tx.RequestSeen(request_id, engine.request(request_id), world.now())
        except EngineError as error:
            return tx.RequestUnavailable(str(error), world.now())

    def _register(self, effect: tx.Seal | tx.ReadClaim, goal: tx.Goal) -> tx.Happening:
        world = self._world
        if world.claims is None:
            return tx.ClaimUnknown("there is no store of claims", world.now())
        holder: Holder | None
        try:
            if isinstance(effect, tx.ReadClaim):
                holder = world.claims.holder(goal.launch_id, effect.n)
            elif world.may_act():
                holder = world.claims.seal(goal.launch_id, effect.n)
            else:
                return tx.ClaimUnknown(HELD_UP, world.now())
        except ClaimError as error:
            return tx.ClaimUnknown(str(error), world.now(), error.remedy)
        if holder is None:
            return tx.Unclaimed(world.now())
        if holder.sealed:
            return tx.Sealed(world.now())
        return tx.Claimed(holder.job_id, holder.instance, world.now())

    def _reap(self, effect: tx.Reap) -> tx.Happening:
        world, job = self._world, effect.row.id
        world.recorder.reap(effect)
        if not world.may_act():
            return tx.ReapFailed(job, HELD_UP, world.now())
        try:
            world.engine.cancel(job)
        except EngineError as error:
            return tx.ReapFailed(job, str(error), world.now())
        return tx.ReapAsked(job, world.now())
