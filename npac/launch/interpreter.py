"""Executes the effects of the launch transaction against a real engine and a real ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from npac.launch import transaction as tx
from npac.launch.backoff import LAUNCH, LOOK, Backoff
from npac.launch.ports import Engine, EngineError


class Recorder(Protocol):
    """Makes what the transaction says durable before it returns, or raises."""

    def intent(self, n: int) -> None:
        """Record that POST ``n`` is about to be sent."""
        ...

    def result(self, record: tx.RecordResult) -> None:
        """Record what is known of a POST that was sent."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that the transaction needs of the world.

    ``now`` gives seconds of a monotonic clock, ``wait`` waits at most so many seconds, ``random``
    gives numbers in [0, 1).  ``stop`` gives the reason to leave, or an empty string; it is asked
    before each effect that may be left out, and may raise to end the driver at once.
    """

    engine: Engine
    recorder: Recorder
    now: Callable[[], float]
    wait: Callable[[float], None]
    random: Callable[[], float]
    stop: Callable[[], str]
    retry: Backoff = LAUNCH
    look: Backoff = LOOK


@dataclass(frozen=True, slots=True)
class Parcel:
    """What is sent: documents, and secrets that are recorded nowhere.

    ``documents`` is called for the first POST only: a launch that is merely found again needs none.
    """

    documents: Callable[[], Sequence[Mapping[str, Any]]]
    secrets: Mapping[str, str]


def execute(started: tx.Step, parcel: Parcel, world: Surroundings) -> tx.Finish:
    """Carry a launch to its end and give how it ended.

    Raises what the recorder raises (nothing is posted then), and no engine error.
    """
    state, effects = started
    while True:
        answer: tx.Happening | None = None
        for effect in effects:
            if isinstance(effect, tx.Finish):
                return effect
            if isinstance(effect, tx.RecordResult):
                world.recorder.result(effect)
                continue
            answer = _perform(effect, state, parcel, world)
        if answer is None:
            raise RuntimeError(f"the launch of {state.goal.name} has come to no next step")
        state, effects = tx.step(state, answer)


def _perform(effect: tx.Effect, state: tx.Launch, parcel: Parcel, world: Surroundings) -> tx.Happening:
    if isinstance(effect, tx.Post):
        return _post(state, parcel, world)
    why = world.stop()
    if why:
        return tx.StopAsked(why)
    if isinstance(effect, tx.ReadRows):
        try:
            rows = world.engine.jobs()
        except EngineError as error:
            return tx.RowsUnavailable(str(error), world.now())
        return tx.Rows(rows, world.now())
    if isinstance(effect, tx.RecordIntent):
        # Documents that cannot be made must fail before there is an intent to account for.
        parcel.documents()
        world.recorder.intent(effect.n)
        return tx.IntentDurable(world.now())
    if isinstance(effect, tx.WaitToRetry):
        world.wait(world.retry.delay(effect.tries, world.random))
        return tx.Woke(world.now())
    if isinstance(effect, tx.WaitToLook):
        world.wait(world.look.delay(effect.tries, world.random))
        return tx.Woke(world.now())
    raise TypeError(f"no way to perform {effect!r}")


def _post(state: tx.Launch, parcel: Parcel, world: Surroundings) -> tx.Happening:
    goal = state.goal
    try:
        request = world.engine.launch(parcel.documents(), goal.name, goal.launch_id, parcel.secrets)
    except EngineError as error:
        return tx.PostFailed(error.phase, str(error), error.remedy, world.now())
    return tx.Accepted(request.request_id, request.job_id, world.now())
