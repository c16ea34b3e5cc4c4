"""Gates: a decision is read once, from the very object that a wave has proven to have written."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from npac.ir.program import PROMOTE, Gate, Program
from npac.ir.values import link
from npac.ledger.ports import Request, StoreChanged
from npac.ledger.stores.file import path_of
from npac.ledger.stores.identity import in_words
from npac.runtime import decisions
from npac.runtime import events as ev
from npac.runtime.advice import next_step
from npac.runtime.leaving import Blocked, Failed
from npac.runtime.needs import walked
from npac.runtime.options import Refused
from npac.runtime.outputs import Declared, observe, patiently
from npac.runtime.session import Session
from npac.runtime.view import BLOCKED, OutputRecord, RunView


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate comes to: a decision, or the code of what stands against one."""

    decision: str = ""
    code: str = ""
    why: str = ""


NOT_WRITTEN = "DECISION_NOT_WRITTEN"
CHANGED = "DECISION_CHANGED"
INVALID = "DECISION_INVALID"


def verdict(*, recorded: bool, read: bytes | None) -> Verdict:
    """Say what follows from what a gate finds.

    ``recorded``: a finished wave on the path has written the object.  ``read``: its bytes; None when
    the very object that was recorded is not there any more.
    """
    if not recorded:
        return Verdict(code=NOT_WRITTEN)
    if read is None:
        return Verdict(code=CHANGED)
    try:
        return Verdict(decisions.parse(read))
    except decisions.DecisionError as error:
        return Verdict(code=INVALID, why=str(error))


def decide(session: Session, gate: Gate) -> str:
    """Give the id of the node that follows a gate, reading its decision unless it is on record.

    Raises :class:`Blocked` when no record of the object exists, or the object is not the recorded
    one any more, and :class:`Failed` when it holds no decision.
    """
    known = session.view.decisions.get(gate.id)
    if known is not None:
        return known.next
    uri = link(gate.uri, {"run.id": session.view.run_id})
    record = session.view.records.get(uri)
    data = None if record is None else _read(session, record)
    found = verdict(recorded=record is not None, read=data)
    if record is None:
        raise Blocked(
            f"gate {gate.id} reads {uri}, which no finished wave on this path has written",
            code=found.code,
            node=gate.id,
            remedy=_remedy(session, gate),
        )
    if data is None:
        raise _changed(session, gate, record, found.code)
    if found.code:
        raise Failed(
            f"gate {gate.id} cannot decide: {found.why} ({uri})",
            code=found.code,
            node=gate.id,
            remedy=_mend(session, gate, record),
        )
    decision = found.decision
    following = gate.promote if decision == PROMOTE else gate.loop_back
    session.append(
        ev.DECISION_READ,
        {
            "node": gate.id,
            "state": gate.state,
            "uri": uri,
            "decision": decision,
            "next": following,
            "observation": ev.observation_to_json(record.observation),
            "bytes_blob": session.ledger.put_blob(data),
        },
    )
    session.world.progress.gate_read(session.view.decisions[gate.id])
    return following


def _read(session: Session, record: OutputRecord) -> bytes | None:
    """Give the bytes of the very object that is on record; None when it is not there any more."""
    uri, expected = record.uri, record.observation
    store_for = session.world.store_for
    try:
        return patiently(session, uri, lambda: store_for(uri).read(uri, expected))
    except (StoreChanged, FileNotFoundError):
        return None


def _changed(session: Session, gate: Gate, record: OutputRecord, code: str) -> Blocked:
    uri, expected = record.uri, record.observation
    now = observe(session, Declared(uri, record.kind))
    was = in_words(expected.identity)
    shown = "nothing is there" if now is None else f"there are {in_words(now.identity)}"
    if now is not None and in_words(now.identity) == was:
        shown = "another file of that size and time is there"
    return Blocked(
        f"gate {gate.id} reads {uri}, which is not what {record.state} (attempt {record.attempt}) wrote: "
        f"{was}; now {shown}",
        code=code,
        node=gate.id,
        remedy=_remedy(session, gate),
        evidence={
            "recorded": ev.observation_to_json(expected),
            "now": ev.observation_to_json(now),
        },
    )


def _mend(session: Session, gate: Gate, record: OutputRecord) -> str:
    """Say how a run gets over an artifact that holds no decision: its writer runs again once it is gone.

    That is so only for the wave that ran last; what others made from it would not be made again.
    """
    gone = f"rm {shlex.quote(path_of(record.uri))}" if record.uri.startswith("file://") else record.uri
    last = next(reversed(session.view.waves), "")
    if record.node == last:
        return f"mend what {record.state} writes, remove what it wrote ({gone}) so that it runs again"
    return (
        f"remove what {record.state} wrote ({gone}), npac retry {session.view.run_id}, "
        f"and give the decision: {_remedy(session, gate)}"
    )


def _remedy(session: Session, gate: Gate) -> str:
    return f"npac decide {session.view.run_id} {gate.id} promote_checkpoint --reason '…' (or loop_back)"


def blocked_gate(view: RunView, program: Program) -> Gate | None:
    """Give the gate that a blocked run stands at, whatever it was that blocked it; else None.

    That is the first node that is not finished on the path taken, not the one that was touched
    last: a driver that resumes may be stopped by something that lies before the gate.
    """
    if view.state != BLOCKED:
        return None
    node = program.index()[walked(view, program)[1]]
    return node if isinstance(node, Gate) else None


def demand_blocked(view: RunView, program: Program, wanted: str) -> Gate:
    """Give the blocked gate called ``wanted`` (node id or state).  Raises :class:`Refused` for any other."""
    known = [node for node in program.nodes if isinstance(node, Gate)]
    if not any(wanted in (gate.id, gate.state) for gate in known):
        names = ", ".join(gate.id for gate in known[:8]) + (", …" if len(known) > 8 else "")
        raise Refused(
            f"run {view.run_id} has no gate {wanted!r}",
            remedy=f"its gates are {names}" if known else "its program has no gates",
        )
    if view.ended:
        raise Refused(
            f"run {view.run_id} has ended ({view.state}); a gate takes a decision only while it is blocked",
            remedy=f"npac status {view.run_id} shows what it decided",
        )
    gate = blocked_gate(view, program)
    if gate is not None and wanted in (gate.id, gate.state):
        return gate
    at = walked(view, program)[1]
    if gate is not None:
        remedy = f"npac decide {view.run_id} {gate.id} promote_checkpoint --reason '…' (or loop_back)"
    else:
        blocked = next_step(view) if view.state == BLOCKED else ""
        remedy = blocked or f"npac why {view.run_id} says what it waits for"
    waits = f": {view.reason}" if view.reason else ""
    raise Refused(
        f"gate {wanted} of run {view.run_id} is not blocked; the run is {view.state} at {at}{waits}",
        remedy=remedy,
    )


def given(session: Session, gate: Gate, request: Request) -> bool:
    """Take a person's decision for ``gate``, where a blocked run stands; gives whether it was taken."""
    view = session.view
    wanted = str(request.data.get("gate", ""))
    if view.state != BLOCKED or wanted not in (gate.id, gate.state):
        where = f"the run is {view.state} at {view.node or 'its beginning'}"
        session.answer(request, False, f"only a blocked gate takes a decision; {where}")
        return False
    try:
        decision = decisions.meaning(request.data.get("decision"))
    except decisions.DecisionError as error:
        session.answer(request, False, str(error))
        return False
    reason = str(request.data.get("reason", "")).strip()
    if not reason:
        session.answer(request, False, "a decision needs a reason")
        return False
    session.append(
        ev.DECISION_GIVEN,
        {
            "node": gate.id,
            "state": gate.state,
            "uri": link(gate.uri, {"run.id": view.run_id}),
            "decision": decision,
            "next": gate.promote if decision == PROMOTE else gate.loop_back,
            "reason": reason,
            "by": str(request.data.get("by", "")),
        },
    )
    session.answer(request, True, f"gate {gate.id} goes on with {decision}")
    session.world.progress.gate_read(view.decisions[gate.id])
    return True
