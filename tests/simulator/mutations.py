"""Faults that are put into the machines on purpose, and by what each must be noticed.

Each breaks one rule of the launch layer, the runtime or the lease, as a patch in this process alone.  A
simulator that does not notice one of them does not look at that rule.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest

from npac.launch import deciding, evidence, interpreter, reaping
from npac.launch import transaction as tx
from npac.launch.ports import CANCELLED, FAILED_CONTROLLER, JobRow
from npac.launch.supervision import Ended, Gone, JobRef
from npac.launch.supervision import look as real_look
from npac.ledger import lease
from npac.ledger.objects.client import InDoubt
from npac.ledger.objects.writing import Writer
from npac.ledger.process import ProcessIdentity
from npac.runtime import attach, fold, gates, jobs, outputs, triggers
from npac.runtime import events as ev
from npac.runtime.leaving import Blocked
from npac.runtime.session import Session
from npac.runtime.view import LaunchView, WaveView
from npac.runtime.waves import FIRST, WaveRunner

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Mutation:
    """One broken rule."""

    name: str
    apply: Callable[[Patch], None]
    noticed: str
    """A regular expression that the violation must match, so that a mere crash does not count."""
    programs: tuple[str, ...] = ("one",)
    engines: tuple[str, ...] = ("unique", "plain", "survey", "claims")


# --- the lease --------------------------------------------------------------------------------


def _impatient(patch: Patch) -> None:
    decide = lease.decide

    def early(first: Any, latest: Any, watched: float, *patience: Any) -> Any:
        return decide(first, replace(latest, silent=latest.silent + 55.0), watched + 55.0, *patience)

    patch.setattr(lease, "decide", early)


def _taken_from_the_living(patch: Patch) -> None:
    patch.setattr(lease, "decide", lambda *seen: "silent")


def _wall_clock(patch: Patch) -> None:
    patch.setattr(ProcessIdentity, "shares_clock", lambda self, other: True)


def _acts_for_ever(patch: Patch) -> None:
    patch.setattr(Session, "may_act", lambda self: True)


def _no_sign_of_life(patch: Patch) -> None:
    patch.setattr(Session, "beat", lambda self: None)
    patch.setattr(Session, "may_act", lambda self: True)


def _everyone_is_dead(patch: Patch) -> None:
    patch.setattr(Session, "gone", lambda self, fence: True)


# --- the ledger in a bucket ---------------------------------------------------------------------


def _unconditional(patch: Patch) -> None:
    def write(self: Writer, objects: Any, key: str, body: bytes) -> None:
        objects._put_once(key, body, {})

    patch.setattr(Writer, "write", write)


def _lost_is_stored(patch: Patch) -> None:
    def write(self: Writer, objects: Any, key: str, body: bytes) -> None:
        with suppress(InDoubt):
            objects.put_new(key, body)

    patch.setattr(Writer, "write", write)


# --- the launch transaction --------------------------------------------------------------------


def _no_intent(patch: Patch) -> None:
    patch.setattr(attach._Recorder, "intent", lambda self, record: None)


def _intent_afterwards(patch: Patch) -> None:
    intent, result = attach._Recorder.intent, attach._Recorder.result
    late: list[Any] = []
    patch.setattr(attach._Recorder, "intent", lambda self, record: late.append(record))

    def both(self: Any, record: Any) -> None:
        intent(self, late.pop())
        result(self, record)

    patch.setattr(attach._Recorder, "result", both)


def _adopted_by_name(patch: Patch) -> None:
    patch.setattr(evidence, "ours", lambda goal, row: row.name == goal.name)


def _retried_on_unknown(patch: Patch) -> None:
    post = interpreter._Desk._post

    def never_sent(self: Any, n: int, goal: tx.Goal) -> tx.Happening:
        end = post(self, n, goal)
        return replace(end, phase="never-sent") if isinstance(end, tx.PostFailed) else end

    patch.setattr(interpreter._Desk, "_post", never_sent)


def _forgotten_doubt(patch: Patch) -> None:
    known = attach._known
    patch.setattr(attach, "_known", lambda *a: replace(known(*a), open=False, accepted=False))


def _list_alone(patch: Patch) -> None:
    patch.setattr(evidence, "coming", lambda goal, requests: ())


def _any_incarnation(patch: Patch) -> None:
    by_absence = deciding._by_absence
    patch.setattr(
        deciding,
        "_by_absence",
        lambda state, found, now: by_absence(replace(state, posted_in=state.incarnation), found, now),
    )


def _any_instance(patch: Patch) -> None:
    seen = deciding.seen
    patch.setattr(
        tx, "seen", lambda state, survey: seen(state, replace(survey, instance=state.goal.instance))
    )


def _impatient_absence(patch: Patch) -> None:
    patch.setattr(deciding, "quiet_over", lambda state, now: True)


def _seal_unwritten(patch: Patch) -> None:
    register = interpreter._Desk._register

    def pretend(self: Any, effect: Any, goal: tx.Goal) -> tx.Happening:
        return tx.Sealed(self._world.now()) if isinstance(effect, tx.Seal) else register(self, effect, goal)

    patch.setattr(interpreter._Desk, "_register", pretend)


def _claim_ignored(patch: Patch) -> None:
    register = interpreter._Desk._register

    def sealed(self: Any, effect: Any, goal: tx.Goal) -> tx.Happening:
        said = register(self, effect, goal)
        return tx.Sealed(said.now) if isinstance(said, tx.Claimed) else said

    patch.setattr(interpreter._Desk, "_register", sealed)


def _seal_error_is_seal(patch: Patch) -> None:
    register = interpreter._Desk._register

    def sealed(self: Any, effect: Any, goal: tx.Goal) -> tx.Happening:
        said = register(self, effect, goal)
        return tx.Sealed(said.now) if isinstance(said, tx.ClaimUnknown) else said

    patch.setattr(interpreter._Desk, "_register", sealed)


def _phantom_adopted(patch: Patch) -> None:
    patch.setattr(deciding, "_lifeless", lambda state, row, found, now: deciding._take(state, row))


def _young_reaped(patch: Patch) -> None:
    patch.setattr(deciding, "judge", lambda state, row, found, now: reaping.reap(state, row, "phantom", now))


def _reaped_by_name(patch: Patch) -> None:
    reap = interpreter._Desk._reap

    def all_of_that_name(self: Any, effect: tx.Reap) -> tx.Happening:
        said = reap(self, effect)
        for row in self._world.engine.jobs():
            if row.name == effect.row.name and row.id != effect.row.id:
                self._world.engine.cancel(row.id)
        return said

    patch.setattr(interpreter._Desk, "_reap", all_of_that_name)


def _open_launch_dropped(patch: Patch) -> None:
    patch.setattr(LaunchView, "in_flight", property(lambda self: self.job is not None and not self.ended))


def _deaf_before_posting(patch: Patch) -> None:
    patch.setattr(attach, "_stop_when_cancelled", attach._only_look_up)


# --- supervision and cancelling ------------------------------------------------------------------


def _known_by_number(patch: Patch) -> None:
    patch.setattr(JobRef, "is_of", lambda self, row: row.id == self.id)


def _cancelled_by_name(patch: Patch) -> None:
    def all_of_that_name(session: Session, ref: JobRef) -> bool:
        for row in session.world.engine.jobs():
            if row.name == ref.name:
                session.world.engine.cancel(row.id)
        return True

    patch.setattr(jobs, "_ask_to_end", all_of_that_name)


def _gone_is_failed(patch: Patch) -> None:
    def look(watch: Any, answer: Any, now: float) -> Any:
        watch, verdict = real_look(watch, answer, now)
        if isinstance(verdict, Gone):
            ref = watch.ref
            return watch, Ended(JobRow(ref.id, ref.name, ref.launch_id, FAILED_CONTROLLER, ref.submitted_at))
        return watch, verdict

    patch.setattr(jobs, "look", look)


def _outage_cancels(patch: Patch) -> None:
    dark = jobs._Outage.dark

    def ends_it(self: Any, verdict: Any) -> float:
        try:
            return dark(self, verdict)
        except Blocked:
            launch = attach.launch_of(self._session, self._batch)
            assert launch is not None
            self._session.view.dark = ""
            jobs._cancel(self._session, self._batch, launch, "the engine is silent")
            raise

    patch.setattr(jobs._Outage, "dark", ends_it)


def _no_cancel_intent(patch: Patch) -> None:
    append = Session.append
    patch.setattr(
        Session,
        "append",
        lambda self, type, data: None if type == ev.CANCEL_INTENT else append(self, type, data),
    )


def _cancel_unverified(patch: Patch) -> None:
    def cancel(session: Session, batch: Any, launch: LaunchView, why: str) -> JobRow:
        ref = launch.job
        assert ref is not None
        session.append(ev.CANCEL_INTENT, {"launch_id": launch.launch_id, "job_id": ref.id, "why": why})
        jobs._ask_to_end(session, ref)
        return JobRow(ref.id, ref.name, ref.launch_id, CANCELLED, ref.submitted_at)

    patch.setattr(jobs, "_cancel", cancel)


# --- waves, outputs, decisions, triggers -----------------------------------------------------------


def _existence_is_enough(patch: Patch) -> None:
    patch.setattr(outputs, "same", lambda one, other: False)


def _success_is_enough(patch: Patch) -> None:
    patch.setattr(outputs, "prove", lambda *a: outputs.Proof([], []))


def _empty_is_enough(patch: Patch) -> None:
    observe = outputs.observe

    def full(session: Session, what: outputs.Declared) -> Any:
        seen = observe(session, what)
        return seen and replace(seen, empty=False)

    patch.setattr(outputs, "observe", full)


def _touched_is_overwritten(patch: Patch) -> None:
    patch.setattr(WaveRunner, "_demand_untouched", lambda self, wave, known, members: None)


def _finished_again(patch: Patch) -> None:
    run = WaveRunner.run

    def again(self: Any, wave: Any) -> None:
        known = self._session.view.waves.get(wave.id)
        if known is not None and known.state == "succeeded":
            self._start(wave, known.last.number + 1, tuple(range(len(wave.members))), FIRST)
        run(self, wave)

    patch.setattr(WaveRunner, "finished", lambda self, wave: False)
    patch.setattr(WaveRunner, "run", again)


def _members_again(patch: Patch) -> None:
    patch.setattr(WaveView, "done", lambda self: set())


def _budget_forgotten(patch: Patch) -> None:
    started = fold._driver_started

    def forget(view: Any, data: Any, event: Any) -> None:
        started(view, data, event)
        for wave in view.waves.values():
            for attempt in wave.attempts:
                attempt.budget = "first"

    patch.setitem(fold._HANDLERS, ev.DRIVER_STARTED, forget)


def _decision_read_again(patch: Patch) -> None:
    decide = gates.decide

    def again(session: Session, gate: Any) -> str:
        session.view.decisions.pop(gate.id, None)
        return decide(session, gate)

    patch.setattr(gates, "decide", again)


def _latest_decision(patch: Patch) -> None:
    def read(session: Session, *where: Any) -> bytes:
        uri = where[-1].uri
        return outputs.patiently(session, uri, lambda: session.world.store_for(uri).read(uri))

    patch.setattr(gates, "_read", read)


def _fires_again(patch: Patch) -> None:
    def await_all(session: Session, wave: Any) -> None:
        for trigger in wave.triggers:
            triggers._await(session, wave, trigger)

    patch.setattr(triggers, "await_all", await_all)


S3 = ("unique@s3", "claims@s3")
SHARED = ("plain", "survey", "claims")
RETRYING = ("fails", "flaky")
DECIDING = ("loop",)
G3 = ("survey",)
G4 = ("claims",)

MUTATIONS = (
    Mutation("a lease is taken after 5 s of silence", _impatient, "takes the run from", ("one", "long")),
    Mutation("a lease is taken from a holder that lives", _taken_from_the_living, "takes the run from"),
    Mutation("silence is measured between two machines' clocks", _wall_clock, "takes the run from"),
    Mutation(
        "a driver acts however old its last sign of life is",
        _acts_for_ever,
        "last sign of life|taken the run",
    ),
    Mutation(
        "a driver gives no sign of life",
        _no_sign_of_life,
        "last sign of life|taken the run",
        ("one", "hangs"),
    ),
    Mutation(
        "an intent of a driver that may live is decided by absence",
        _everyone_is_dead,
        "lives, may yet",
        ("one",),
        G3,
    ),
    Mutation(
        "events are written without a condition", _unconditional, "is written after event", ("long",), S3
    ),
    Mutation(
        "a write without an answer counts as stored", _lost_is_stored, "after event|no durable", ("one",), S3
    ),
    Mutation("an intent is not durable", _no_intent, "no durable intent"),
    Mutation("the intent is recorded after the launch", _intent_afterwards, "no durable intent"),
    Mutation(
        "a job is adopted by its name",
        _adopted_by_name,
        "is taken for the job",
        ("one",),
        SHARED,
    ),
    Mutation(
        "an unknown outcome is retried",
        _retried_on_unknown,
        "may still come to life|user code",
        ("one",),
        SHARED,
    ),
    Mutation(
        "a later driver forgets a doubt",
        _forgotten_doubt,
        "may still come to life|user code",
        ("one",),
        SHARED,
    ),
    Mutation("absence from the list is enough", _list_alone, "may still come to life", ("one",), G3),
    Mutation(
        "absence counts from any start of the server",
        _any_incarnation,
        "may still come to life",
        ("one",),
        G3,
    ),
    Mutation("absence counts from any server", _any_instance, "may still come to life", ("one",), G3),
    Mutation("absence counts at once", _impatient_absence, "may still come to life", ("one",), G3),
    Mutation("a seal is taken for granted", _seal_unwritten, "called sealed", ("one",), G4),
    Mutation("a claimed register counts as sealed", _claim_ignored, "called sealed", ("one",), G4),
    Mutation(
        "a register that does not answer counts as sealed", _seal_error_is_seal, "called sealed", ("one",), G4
    ),
    Mutation("a phantom is adopted", _phantom_adopted, "never had a sign of life", ("one",), G3 + G4),
    Mutation(
        "a young row is ended as a phantom",
        _young_reaped,
        "its request is at work|user code",
        ("one",),
        G3 + G4,
    ),
    Mutation("phantoms are ended by name", _reaped_by_name, "somebody else's", ("one",), G3 + G4),
    Mutation(
        "a POST without an answer is dropped when the run is cancelled",
        _open_launch_dropped,
        "may still come|is alive|after the run",
    ),
    Mutation("a wish to cancel is not looked for before a POST", _deaf_before_posting, "is to be cancelled"),
    Mutation(
        "a job is known by its number alone",
        _known_by_number,
        "somebody else's|is on record as|is known",
        ("one", "hangs"),
        SHARED,
    ),
    Mutation(
        "jobs are cancelled by name",
        _cancelled_by_name,
        "somebody else's|without a durable intent",
        ("hangs",),
    ),
    Mutation("a job that is gone has failed", _gone_is_failed, "is on record as", ("long",), G3 + G4),
    Mutation("a silent engine has its job cancelled", _outage_cancels, "nobody asked for that", ("long",)),
    Mutation(
        "a job is cancelled without an intent on record",
        _no_cancel_intent,
        "without a durable intent",
        ("hangs",),
    ),
    Mutation("a cancelled job counts as ended", _cancel_unverified, "is on record as", ("hangs",)),
    Mutation(
        "an output that exists completes a wave", _existence_is_enough, "has not written", ("silent", "loop")
    ),
    Mutation("success completes a wave", _success_is_enough, "without a record", ("silent", "one")),
    Mutation("an empty output completes a wave", _empty_is_enough, "has not written", ("empty",)),
    Mutation(
        "outputs of a lost job are overwritten", _touched_is_overwritten, "should be blocked", ("touched",)
    ),
    Mutation("a finished wave runs again on resume", _finished_again, "although it is finished", ("three",)),
    Mutation("finished members run again", _members_again, "although they are finished", ("group",)),
    Mutation("budgets are counted anew by each driver", _budget_forgotten, "of its budget", RETRYING),
    Mutation("a decision is read again on replay", _decision_read_again, "read again|decides", DECIDING),
    Mutation("a decision is read from whatever is there", _latest_decision, "decides", DECIDING),
    Mutation("a trigger fires again on resume", _fires_again, "fires twice|come to no end", ("trigger",)),
)
