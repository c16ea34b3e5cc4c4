"""Triggers: objects that must be there before a wave is launched."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known of a trigger that has not fired; times are seconds of one monotonic clock."""

    needed: int
    """How many new objects make it fire."""
    most_polls: int
    """Looks after which it fails; 0 for no bound."""
    patience: float
    """How long the store may be silent."""
    polls: int = 0
    silent_since: float | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """The store gave its whole list."""

    fresh: int
    """Objects that the previous firing did not have."""
    now: float


@dataclass(frozen=True, slots=True)
class Unlisted:
    """The store gave no list; this says nothing about any object."""

    permanent: bool
    now: float


FIRE = "fire"
WAIT = "wait"
TIMEOUT = "TRIGGER_TIMEOUT"
UNUSABLE = "STORE_UNUSABLE"
UNAVAILABLE = "STORE_UNAVAILABLE"


def step(watch: Watch, event: Looked | Unlisted) -> tuple[Watch, str]:
    """Give what follows from one look: ``fire``, ``wait``, or the code of what ends the wait."""
    if isinstance(event, Unlisted):
        since = event.now if watch.silent_since is None else watch.silent_since
        watch = replace(watch, silent_since=since)
        if event.permanent:
            return watch, UNUSABLE
        return watch, UNAVAILABLE if event.now - since > watch.patience else WAIT
    # A look that saw nothing because the store was silent is no poll.
    watch = replace(watch, polls=watch.polls + 1, silent_since=None)
    if event.fresh >= watch.needed:
        return watch, FIRE
    return watch, TIMEOUT if watch.most_polls and watch.polls >= watch.most_polls else WAIT


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
    watch = Watch(trigger.min_objects, trigger.max_polls, session.options.max_status_outage)
    announced, clock = False, session.world.clock
    while True:
        try:
            haul = _look(session, uri, old)
        except StoreError as error:
            watch, what = step(watch, Unlisted(error.permanent, clock()))
            if not error.permanent:
                session.world.progress.note(f"{uri} could not be listed, looking again: {error}")
            if what != WAIT:
                raise Blocked(
                    f"the trigger of {trigger.state} could not list {uri}: {error}",
                    code=what,
                    remedy=error.remedy or "make the store reachable, then resume",
                ) from error
        else:
            watch, what = step(watch, Looked(haul.fresh, clock()))
            if what == FIRE:
                _fired(session, wave, trigger, uri, haul, watch.polls)
                return
            if what != WAIT:
                raise Failed(
                    f"the trigger of {trigger.state} found {haul.fresh} of {trigger.min_objects} "
                    f"objects at {uri} in {watch.polls} poll{'' if watch.polls == 1 else 's'}",
                    code=what,
                    remedy=f"put the objects at {uri}",
                )
        if not announced:
            where = {"node": wave.id, "state": trigger.state, "uri": uri}
            session.append(ev.TRIGGER_WAITING, where)
            announced = True
        plural = "" if trigger.min_objects == 1 else "s"
        session.world.progress.waiting(
            f"{trigger.state}: {trigger.min_objects} object{plural} at {uri}", watch.polls
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
