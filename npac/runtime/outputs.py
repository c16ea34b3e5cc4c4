"""Declared outputs: how they were before, and the proof that a wave has written them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from npac.ir.program import Artifact, Program, Wave
from npac.ir.values import link
from npac.launch.backoff import Backoff
from npac.ledger.ports import Observation, Store, StoreChanged, StoreError
from npac.runtime import events as ev
from npac.runtime.leaving import Blocked, Cancelled, Failed
from npac.runtime.session import Session

T = TypeVar("T")

STORE_RETRY = Backoff(first=0.5, cap=10.0)
STORE_TRIES = 6


@dataclass(frozen=True, slots=True)
class Declared:
    """One declared artifact with its URI filled in."""

    uri: str
    kind: str
    """``file`` or ``directory``."""

    @property
    def key(self) -> str:
        """Name this artifact in the log."""
        return f"{self.kind}:{self.uri}"


@dataclass(frozen=True, slots=True)
class Proof:
    """What a look at declared outputs after success has found."""

    records: list[dict[str, Any]]
    missing: list[dict[str, str]]


def declared(artifacts: Iterable[Artifact], run_id: str) -> list[Declared]:
    """Fill in the run id; artifacts that are declared twice come once."""
    late = {"run.id": run_id}
    found = {each.key: each for each in (Declared(link(a.uri, late), a.kind) for a in artifacts)}
    return list(found.values())


def of_wave(program: Program, wave: Wave) -> list[Artifact]:
    """Give all outputs that a wave's members and its group declare."""
    members = [a for member in wave.members for a in program.steps[member.step].outputs]
    return [*members, *wave.outputs]


def of_program(program: Program, run_id: str) -> list[list[str]]:
    """Give ``[uri, kind]`` of everything that the program may write, sorted."""
    artifacts = [a for step in program.steps for a in step.outputs]
    for node in program.nodes:
        if isinstance(node, Wave):
            artifacts += node.outputs
            artifacts += [a for group in node.opens for a in group.outputs]
    return sorted([each.uri, each.kind] for each in declared(artifacts, run_id))


def patiently(session: Session, what: str, call: Callable[[], T]) -> T:
    """Call a store, again after a hiccup.

    What the store proves (:class:`StoreChanged`, ``FileNotFoundError``) is raised at once; when it
    stays silent the run is :class:`Blocked`, or :class:`Cancelled` when that is what was asked for.
    """
    for tries in range(1, STORE_TRIES + 1):
        try:
            return call()
        except StoreChanged:
            raise
        except StoreError as error:
            if session.look_up():  # what is there no longer matters, and its jobs have ended
                raise Cancelled(session.view.cancel or "cancelled", code="CANCELLED") from error
            if tries == STORE_TRIES or error.permanent:
                raise Blocked(
                    f"{what} could not be looked at: {error}",
                    code="STORE_UNUSABLE" if error.permanent else "STORE_UNAVAILABLE",
                    remedy=error.remedy or "make the store reachable, then resume",
                ) from error
            session.world.progress.note(f"{what} could not be looked at, trying again: {error}")
            session.pause(STORE_RETRY.delay(tries, session.world.random))
    raise AssertionError("the last try returns or raises")


def observe(session: Session, what: Declared) -> Observation | None:
    """Look at one artifact; None when it is proven absent."""
    store_for = session.world.store_for
    return patiently(session, what.uri, lambda: store_for(what.uri).observe(what.uri, what.kind))


def make_room(session: Session, artifacts: Iterable[Artifact]) -> None:
    """Make the folders that artifacts will be written into.

    Raises :class:`Failed` when one cannot be made: nothing that is launched could write there.
    """

    def make(uri: str) -> None:
        session.world.store_for(uri).make_room(uri)

    for each in declared(artifacts, session.view.run_id):
        try:
            patiently(session, each.uri, partial(make, each.uri))
        except Blocked as blocked:
            cause = blocked.__cause__
            if isinstance(cause, StoreError) and cause.permanent:
                raise Failed(str(cause), code="OUTPUT_FOLDER", remedy=cause.remedy) from cause
            raise


def before(session: Session, artifacts: Iterable[Artifact]) -> dict[str, Any]:
    """Observe artifacts as they are before anything is launched, in the log's form."""
    return {
        each.key: ev.observation_to_json(observe(session, each))
        for each in declared(artifacts, session.view.run_id)
    }


def marks(session: Session, artifacts: Iterable[Artifact]) -> dict[str, str]:
    """Give each store's mark of the moment before anything is launched, where it has one."""
    store_for = session.world.store_for
    found = {
        each.key: store_for(each.uri).mark(each.uri) for each in declared(artifacts, session.view.run_id)
    }
    return {key: mark for key, mark in found.items() if mark}


def prove(
    session: Session,
    artifacts: Iterable[Artifact],
    first: Mapping[str, Observation | None],
    marked: Mapping[str, str],
    state: str,
) -> Proof:
    """Observe declared outputs after success.

    An output counts when it is there, is not empty and is not what it was at first.  One of which
    no first observation is on record counts as missing: nothing tells it from an old file.  Links
    count as what they lead to, which must have changed since the mark in ``marked``.
    """
    store_for = session.world.store_for
    records: list[dict[str, Any]] = []
    missing: list[dict[str, str]] = []
    for each in declared(artifacts, session.view.run_id):
        seen = observe(session, each)
        why = ""
        if seen is None:
            why = _instead(store_for(each.uri), each) or "nothing is there"
        elif seen.empty:
            why = "it is empty"
        elif each.key not in first:
            why = "it is not on record how it was before"
        elif same(first[each.key], seen):
            why = "it is the same as before the step began"
        elif patiently(
            session,
            each.uri,
            partial(store_for(each.uri).stale, each.uri, each.kind, marked.get(each.key, "")),
        ):
            why = "it is a link to what was there before the step began"
            if each.kind == "directory":
                why = "nothing but links to what was there before the step began is new in it"
        if why or seen is None:
            missing.append({"uri": each.uri, "kind": each.kind, "why": why})
        else:
            record = {"uri": each.uri, "kind": each.kind, "state": state}
            records.append({**record, "observation": ev.observation_to_json(seen)})
    return Proof(records, missing)


def _instead(store: Store, what: Declared) -> str:
    """Say that an artifact of the other kind stands where one was declared; empty when none does."""
    other = "file" if what.kind == "directory" else "directory"
    try:
        if store.observe(what.uri.rstrip("/"), other) is None:
            return ""
    except StoreError:
        return ""
    if other == "directory":
        return "a directory stands there, not a file; end the URI with a slash, or declare kind: directory"
    return "a file stands there, not a directory; take the slash off the URI's end, or declare kind: file"


def same(one: Observation | None, other: Observation | None) -> bool:
    """Say whether two observations are of the same thing; absent equals absent."""
    if one is None or other is None:
        return one is other
    # One of the two may have been through JSON, where tuples become lists and 1.0 may become 1.
    return bool(_plain(one) == _plain(other))


def _plain(observed: Observation) -> Any:
    return json.loads(ev.encode({"identity": observed.identity}))


def say_missing(missing: Iterable[Mapping[str, str]]) -> str:
    """Tell about missing outputs in one clause."""
    return "; ".join(f"{each['uri']}: {each['why']}" for each in missing)
