"""Triggers: objects that must be there before a wave is launched."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from npac.ir.program import Trigger, Wave
from npac.ir.values import link
from npac.ledger.ports import ObjectInfo, StoreError
from npac.runtime import events as ev
from npac.runtime.leaving import Blocked, Cancelled, Failed
from npac.runtime.session import Session

SEEN_LIMIT = 100_000
"""Most objects of one firing that are remembered for the next."""

_SLICE = 1.0
_SAMPLE = 5


@dataclass(frozen=True, slots=True)
class Haul:
    """What one look has found, objects of the previous firing left out."""

    fresh: int
    sample: tuple[str, ...]
    prints: tuple[str, ...] | None
    """Fingerprints of all objects, also the old ones; None when there are too many."""


def await_all(session: Session, wave: Wave) -> None:
    """Wait for every trigger of a wave that has not fired yet.

    A trigger fires once for its node; all attempts share that firing.  Raises :class:`Failed` when
    the bound on polls is met, :class:`Blocked` when the store stays silent, :class:`Cancelled`.
    """
    for trigger in wave.triggers:
        known = session.view.triggers.get((wave.id, trigger.state))
        if known is None or not known.fired:
            _await(session, wave, trigger)


def _await(session: Session, wave: Wave, trigger: Trigger) -> None:
    uri = link(trigger.uri, {"run.id": session.view.run_id})
    old = _previous(session, wave, trigger, uri)
    polls, silent_since, announced = 0, -1.0, False
    clock = session.world.clock
    while True:
        haul: Haul | None = None
        try:
            haul = _look(session, uri, old)
            polls += 1  # a look that saw nothing is no poll
            silent_since = -1.0
        except StoreError as error:
            now = clock()
            silent_since = now if silent_since < 0 else silent_since
            if not error.permanent:
                session.world.progress.note(f"{uri} could not be listed, looking again: {error}")
            if error.permanent or now - silent_since > session.options.max_status_outage:
                raise Blocked(
                    f"the trigger of {trigger.state} could not list {uri}: {error}",
                    code="STORE_UNUSABLE" if error.permanent else "STORE_UNAVAILABLE",
                    remedy=error.remedy or "make the store reachable, then resume",
                ) from error
        if haul is not None and haul.fresh >= trigger.min_objects:
            _fired(session, wave, trigger, uri, haul, polls)
            return
        if haul is not None and trigger.max_polls and polls >= trigger.max_polls:
            raise Failed(
                f"the trigger of {trigger.state} found {haul.fresh} of {trigger.min_objects} "
                f"objects at {uri} in {polls} poll{'' if polls == 1 else 's'}",
                code="TRIGGER_TIMEOUT",
                remedy=f"put the objects at {uri}",
            )
        if not announced:
            where = {"node": wave.id, "state": trigger.state, "uri": uri}
            session.append(ev.TRIGGER_WAITING, where)
            announced = True
        plural = "" if trigger.min_objects == 1 else "s"
        session.world.progress.waiting(
            f"{trigger.state}: {trigger.min_objects} object{plural} at {uri}", polls
        )
        _sleep(session, float(trigger.poll_seconds))


def _sleep(session: Session, seconds: float) -> None:
    until = session.world.clock() + seconds
    while True:
        if session.look_up():
            raise Cancelled(session.view.cancel or "cancelled", code="CANCELLED")
        left = until - session.world.clock()
        if left <= 0:
            return
        session.pause(min(left, _SLICE))


def _look(session: Session, uri: str, old: frozenset[str]) -> Haul:
    fresh = 0
    sample: list[str] = []
    prints: list[str] | None = []
    for info in session.world.store_for(uri).list(uri):
        mark = _fingerprint(info)
        if prints is not None:
            prints.append(mark)
            if len(prints) > SEEN_LIMIT:
                prints = None
        if mark not in old:
            fresh += 1
            if len(sample) < _SAMPLE:
                sample.append(info.key)
        session.beat()
    return Haul(fresh, tuple(sample), None if prints is None else tuple(prints))


def _fingerprint(info: ObjectInfo) -> str:
    return hashlib.sha256(ev.encode({"key": info.key, "identity": info.identity})).hexdigest()[:32]


def _previous(session: Session, wave: Wave, trigger: Trigger, uri: str) -> frozenset[str]:
    digest = session.view.firings.get(trigger.state)
    if digest is None:
        return frozenset()
    before = json.loads(session.ledger.get_blob(digest))
    if before["uri"] != uri:
        return frozenset()
    if before["objects"] is None:
        raise Failed(
            f"the trigger of {trigger.state} fires again on {uri}, where there were more than "
            f"{SEEN_LIMIT} objects the last time; which of them are new cannot be told",
            code="TRIGGER_TOO_MANY",
            node=wave.id,
            remedy="put the iteration in the trigger's URI",
        )
    return frozenset(before["objects"])


def _fired(session: Session, wave: Wave, trigger: Trigger, uri: str, haul: Haul, polls: int) -> None:
    seen = session.ledger.put_blob(ev.encode({"uri": uri, "objects": haul.prints}))
    session.append(
        ev.TRIGGER_FIRED,
        {
            "node": wave.id,
            "state": trigger.state,
            "uri": uri,
            "objects": haul.fresh,
            "polls": polls,
            "sample": list(haul.sample),
            "seen_blob": seen,
        },
    )
