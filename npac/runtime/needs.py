"""Outputs of finished waves that the rest of a run still needs, looked for when it is resumed."""

from __future__ import annotations

import shlex

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
    out_of_reach: list[OutputRecord] = []
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
            out_of_reach.append(record)
        if what == AGAIN:
            again.setdefault(record.node, set()).update(members)
    if out_of_reach:
        raise _lost(view=session.view, path=path, records=out_of_reach)
    return {node: tuple(sorted(members)) for node, members in again.items()}


def _lost(view: RunView, path: list[str], records: list[OutputRecord]) -> Blocked:
    """Give what blocks a run of which outputs are gone that later waves were made from."""
    # From the first of their waves on all of them are made again.
    first = min(records, key=lambda record: path.index(record.node) if record.node in path else -1)
    uris = ", ".join(record.uri for record in records[:3])
    uris += f" and {len(records) - 3} more" if len(records) > 3 else ""
    verb = "is" if len(records) == 1 else "are"
    return Blocked(
        f"{uris}, which {first.state} had written and the rest of the run reads, {verb} gone; "
        f"waves after {first.node} were made from it",
        code=OUTPUT_LOST,
        node=first.node,
        remedy=f"npac resume {view.run_id} --rerun-from {shlex.quote(first.node)} (runs it again and all "
        f"that followed), or put back what is gone and npac resume {view.run_id}",
    )


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
    """Give the URIs that nodes from ``frontier`` on may read as they are now.

    What is written anew on every way to its reader is not among them: an iteration that begins by
    removing what the one before has written must not keep the run from going on.
    """
    view, index = session.view, program.index()
    late = {"run.id": view.run_id}
    places = {record.uri.rstrip("/") for record in view.records.values()}
    reachable, todo = {frontier}, [frontier]
    while todo:
        for each in successors(index[todo.pop()]):
            if each not in reachable:
                reachable.add(each)
                todo.append(each)
    wanted: dict[str, frozenset[str]] = {}
    for node in reversed(program.nodes):  # every edge goes to a later node
        if node.id not in reachable:
            continue
        later = frozenset[str]().union(*(wanted[each] for each in successors(node)))
        reads: set[str] = set()
        if isinstance(node, Gate):
            reads.add(link(node.uri, late))
        elif isinstance(node, Wave):
            known = view.waves.get(node.id)
            # A job that runs has its inputs or has not; it is the one to tell.
            runs = known is not None and known.state == RUNNING
            if known is None or not (runs and any(launch.job for launch in known.last.launches.values())):
                for member in node.members:
                    reads.update(link(a.uri, late) for a in program.steps[member.step].inputs)
            written = outputs.declared(outputs.of_wave(program, node), view.run_id)
            # A member that has succeeded does not write again when the rest of its group is tried again.
            later = _unwritten(later, [each for each in written if not _is_of(view, each.uri, node)])
        wanted[node.id] = later.union(uri for uri in reads if _below(uri, places))
    return sorted(wanted[frontier])


def _is_of(view: RunView, uri: str, wave: Wave) -> bool:
    record = view.records.get(uri)
    return record is not None and record.node == wave.id


def _unwritten(uris: frozenset[str], written: list[outputs.Declared]) -> frozenset[str]:
    """Give those of some URIs that none of these outputs is, or holds."""
    whole = {each.uri.rstrip("/") for each in written}
    folders = {each.uri.rstrip("/") for each in written if each.kind == "directory"}
    if not uris or not whole:
        return uris
    return frozenset(uri for uri in uris if uri.rstrip("/") not in whole and not _below(uri, folders))


def _below(uri: str, places: set[str]) -> bool:
    """Say whether a URI is one of some places, or lies below one."""
    at = uri.rstrip("/")
    while at:
        if at in places:
            return True
        at = at.rpartition("/")[0]
    return False


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
