"""The driver: walks a program from its entry to its end, or to where it has to stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npac.ir.program import End, Gate, GroupOutputs, Program, Wave
from npac.launch import classify
from npac.launch.ports import Capabilities
from npac.ledger.ports import LeaseLost, LedgerError, Observation
from npac.runtime import events as ev
from npac.runtime import gates, needs, outputs
from npac.runtime.leaving import Blocked, Cancelled, Detached, Failed, Leave
from npac.runtime.options import EXIT_BLOCKED, RunResult, result_of
from npac.runtime.session import Session
from npac.runtime.view import BLOCKED, CANCELLED, FAILED, RUNNING, SUCCEEDED
from npac.runtime.waves import OUTPUT_MISSING, WaveRunner


def drive(
    session: Session,
    program: Program,
    capabilities: Capabilities,
    *,
    resumed: bool = False,
) -> RunResult:
    """Walk a run for as long as it goes, record how it was left, and give that.

    ``resumed`` makes the driver look first whether outputs that are still needed have survived.
    Raises only for faults of npac itself.
    """
    session.world.progress.run_started(session.view.run_id, len(program.waves()), resumed)
    try:
        try:
            # A run that is to be cancelled needs none of its outputs any more.
            cancelling = session.look_up()
            lost = needs.lost(session, program) if resumed and not cancelling else {}
            runner = WaveRunner(session, program, capabilities, lost=lost)
            _walk(session, program, runner)
        except Leave as leave:
            _record(session, leave)
        return result_of(session.view)
    except LeaseLost as error:
        return _unrecorded(session, f"another driver has taken the run: {error}", error.remedy)
    except LedgerError as error:
        then = f"npac resume {session.view.run_id}"
        remedy = f"{error.remedy.rstrip('. ')}. Then: {then}" if error.remedy else then
        return _unrecorded(session, f"the run's ledger cannot be used: {error}", remedy)
    finally:
        release(session)


def release(session: Session) -> None:
    """Give the lease back; where that cannot be done it runs out by itself."""
    try:
        session.ledger.release(session.fence)
    except LedgerError as error:
        session.world.progress.note(f"the lease could not be given back: {error}")


def _walk(session: Session, program: Program, runner: WaveRunner) -> None:
    index = program.index()
    at = program.entry
    while True:
        node = index[at]
        try:
            if isinstance(node, Wave):
                if not runner.finished(node):
                    _check_groups(session, node.id, node.checks)
                    runner.run(node)
                at = node.next
            elif isinstance(node, Gate):
                _check_groups(session, node.id, node.checks)
                at = gates.decide(session, node)
            else:
                _end(session, node)
                return
        except Leave as leave:
            leave.node = leave.node or node.id
            raise


def _end(session: Session, node: End) -> None:
    _check_groups(session, node.id, node.checks)
    session.append(
        ev.RUN_ENDED, {"state": SUCCEEDED, "node": node.id, "code": "", "reason": "", "remedy": ""}
    )


def _check_groups(session: Session, node: str, groups: tuple[GroupOutputs, ...]) -> None:
    """Prove the outputs of sequences that have just ended, once."""
    view = session.view
    if not groups or node in view.checked:
        return
    records: list[dict[str, Any]] = []
    for group in groups:
        first: Mapping[str, Observation | None] = view.opened.get(group.group, {})
        marked = view.opened_marks.get(group.group, {})
        proof = outputs.prove(session, group.outputs, first, marked, group.group)
        if proof.missing:
            raise Failed(
                f"{group.group} has ended without its outputs: {outputs.say_missing(proof.missing)}",
                code=OUTPUT_MISSING,
                node=node,
            )
        records += proof.records
    session.append(
        ev.GROUP_CHECKED, {"node": node, "groups": [group.group for group in groups], "records": records}
    )


def _record(session: Session, leave: Leave) -> None:
    """Put on record how the walk was left."""
    data: dict[str, Any] = {
        "node": leave.node,
        "code": leave.code,
        "reason": leave.reason,
        "remedy": leave.remedy,
    }
    if isinstance(leave, Detached):
        session.append(ev.RUN_DETACHED, {"why": leave.reason})
    elif isinstance(leave, Blocked):
        session.append(ev.RUN_BLOCKED, {**data, "evidence": dict(leave.evidence)})
    elif isinstance(leave, Cancelled):
        _close_attempt(session, leave)
        session.append(ev.RUN_ENDED, {**data, "state": CANCELLED})
    else:
        session.append(ev.RUN_ENDED, {**data, "state": FAILED})


def _close_attempt(session: Session, leave: Leave) -> None:
    """End the attempt that a cancelled run leaves open; nothing of it runs any more."""
    known = session.view.waves.get(leave.node)
    if known is not None and known.state == RUNNING:
        session.append(
            ev.WAVE_FAILED,
            {
                "node": known.node,
                "attempt": known.last.number,
                "family": classify.CANCELLED,
                "code": "CANCELLED",
                "reason": leave.reason,
                "remedy": "",
            },
        )


def _unrecorded(session: Session, reason: str, remedy: str) -> RunResult:
    return RunResult(session.view.run_id, BLOCKED, EXIT_BLOCKED, reason, remedy)
