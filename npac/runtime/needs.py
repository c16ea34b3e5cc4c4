"""Outputs of finished waves that the rest of a run still needs, looked for when it is resumed."""

from __future__ import annotations

from npac.ir.program import Gate, Program, Wave, successors
from npac.ir.values import link
from npac.runtime import outputs
from npac.runtime.advice import OUTPUT_LOST
from npac.runtime.leaving import Blocked
from npac.runtime.session import Session
from npac.runtime.view import RUNNING, SUCCEEDED, OutputRecord, RunView

KEEP = "keep"
AGAIN = "run its wave again"
ASK_GATE = "left to the gate"
OUT_OF_REACH = OUTPUT_LOST


def fate(*, needed: bool, there: bool, last: bool, read_by_gate: bool) -> str:
    """Say what a driver that resumes does about one output record.

    ``needed``: the rest of the run may read it.  ``there``: it is there and not empty.  ``last``: the
    wave that wrote it is the last that has finished.  ``read_by_gate``: the gate that is next reads it.
    """
    if not needed or there:
        return KEEP
    if last:
        return AGAIN
    return ASK_GATE if read_by_gate else OUT_OF_REACH


def lost(session: Session, program: Program) -> dict[str, tuple[int, ...]]:
    """Give the members of finished waves whose needed outputs are gone and that may run again.

    An output is needed when an unfinished wave that has no job yet, or an unread gate, reads it.
    Only a wave after which nothing has finished may run again; for any other the run is
    :class:`Blocked`, since what followed it was made from the output that is gone.
    """
    path, frontier = walked(session.view, program)
    gate = program.index()[frontier]
    late = {"run.id": session.view.run_id}
    needed = _needed(session, program, frontier)
    again: dict[str, set[int]] = {}
    for record in session.view.records.values():
        if not _read(record, needed):
            continue
        seen = outputs.observe(session, outputs.Declared(record.uri, record.kind))
        wave = program.index().get(record.node)
        members = _writers(session, program, wave, record) if isinstance(wave, Wave) else set()
        what = fate(
            needed=True,
            there=seen is not None and not seen.empty,
            last=bool(path) and record.node == path[-1] and bool(members),
            # The gate itself says so when it is read, and can be given its decision there.
            read_by_gate=isinstance(gate, Gate) and link(gate.uri, late) == record.uri,
        )
        if what == OUT_OF_REACH:
            raise Blocked(
                f"{record.uri}, which {record.state} had written and the rest of the run reads, is gone; "
                f"waves after {record.node} were made from it",
                code=OUTPUT_LOST,
                node=record.node,
                remedy="put it back",
            )
        if what == AGAIN:
            again.setdefault(record.node, set()).update(members)
    return {node: tuple(sorted(members)) for node, members in again.items()}


def walked(view: RunView, program: Program) -> tuple[list[str], str]:
    """Give the finished nodes on the path taken, and the first that is not finished."""
    index = program.index()
    path: list[str] = []
    at = program.entry
    while True:
        node = index[at]
        if isinstance(node, Wave) and at in view.waves and view.waves[at].state == SUCCEEDED:
            following = node.next
        elif isinstance(node, Gate) and at in view.decisions:
            following = view.decisions[at].next
        else:
            return path, at
        path.append(at)
        at = following


def _needed(session: Session, program: Program, frontier: str) -> list[str]:
    """Give the URIs that nodes from ``frontier`` on may read."""
    view, index = session.view, program.index()
    late = {"run.id": view.run_id}
    seen, todo, found = {frontier}, [frontier], set()
    while todo:
        node = index[todo.pop()]
        if isinstance(node, Gate):
            found.add(link(node.uri, late))
        elif isinstance(node, Wave):
            known = view.waves.get(node.id)
            # A job that runs has its inputs or has not; it is the one to tell.
            runs = known is not None and known.state == RUNNING
            if known is None or not (runs and any(launch.job for launch in known.last.launches.values())):
                for member in node.members:
                    found.update(link(a.uri, late) for a in program.steps[member.step].inputs)
        for each in successors(node):
            if each not in seen:
                seen.add(each)
                todo.append(each)
    return sorted(found)


def _read(record: OutputRecord, needed: list[str]) -> bool:
    """Say whether one of the needed URIs is this output, or lies in it."""
    inside = record.uri.rstrip("/") + "/"
    whole = record.uri.rstrip("/")
    return any(
        uri.rstrip("/") == whole or (record.kind == "directory" and uri.startswith(inside)) for uri in needed
    )


def _writers(session: Session, program: Program, wave: Wave, record: OutputRecord) -> set[int]:
    """Give the members that declare an output; all of them when the group itself declares it."""
    run_id = session.view.run_id
    for number, member in enumerate(wave.members):
        declared = outputs.declared(program.steps[member.step].outputs, run_id)
        if any(each.uri == record.uri for each in declared):
            return {number}
    if any(each.uri == record.uri for each in outputs.declared(wave.outputs, run_id)):
        return set(range(len(wave.members)))
    return set()
