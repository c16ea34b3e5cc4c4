"""A run as it was stored when it began, and whether it still is what someone means to go on with."""

from __future__ import annotations

import json
from dataclasses import dataclass

from npac.ir.canonical import digest_bytes, program_bytes
from npac.ir.codec import program_from_json, program_to_json
from npac.ir.linking import LinkRecord, record_bytes, record_from_json, record_to_json
from npac.ir.program import Program
from npac.ledger.ports import LedgerCorrupt, LedgerError, RunLedger
from npac.runtime import fold
from npac.runtime.options import Refused
from npac.runtime.view import RunView


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a run was started with, and its view."""

    view: RunView
    program: Program
    link: LinkRecord


def load(ledger: RunLedger) -> StoredRun:
    """Read a run back: its log, and the program and link record that it was started with.

    Raises :class:`npac.ledger.ports.LedgerError` when it cannot be read, and :class:`Refused` for a
    run that ended before it was on record what it is.
    """
    view = fold.fold(ledger.events(), ledger.get_blob)
    if not view.run_uid:
        raise unbegun(ledger)
    try:
        program = program_from_json(json.loads(ledger.get_blob(view.blobs["program"])))
        link = record_from_json(json.loads(ledger.get_blob(view.blobs["link"])))
    except (ValueError, KeyError) as error:
        raise LedgerCorrupt(
            f"what run {ledger.run_id} was started with cannot be read by this version: {error}",
            remedy="use the version of npac that the run was started with",
        ) from error
    return StoredRun(view, program, link)


def unbegun(ledger: RunLedger) -> Refused:
    """Give what to say of a run of which nothing is on record: its driver ended first, or begins now."""
    last = ledger.holder()
    if last is not None and not last["released"] and last["liveness"] != "dead":
        return Refused(
            f"run {ledger.run_id} is just being started, and nothing of it is on record yet",
            remedy=f"npac status {ledger.run_id} shows when it has begun",
        )
    return Refused(
        f"run {ledger.run_id} was given up before anything of it was on record; nothing was launched",
        remedy=f"give the same npac run command again: npac run SPEC --run-id {ledger.run_id}",
    )


def demand_unbegun(ledger: RunLedger) -> None:
    """Refuse unless nothing of a run is on record, so that its id may still be used."""
    if fold.fold(ledger.events(), ledger.get_blob).run_uid:
        raise Refused(
            f"run {ledger.run_id} exists already",
            remedy=f"Go on with it by `npac resume {ledger.run_id}`, or choose another run id",
        )


def damage(ledger: RunLedger, view: RunView) -> list[tuple[str, str]]:
    """Give what an unfinished run needs to go on and has lost: a sentence and its remedy for each.

    These are the program, the link record and the list of outputs that it was started with.
    """
    if view.ended or not view.run_uid:
        return []
    needed = {name: view.blobs.get(name, "") for name in ("program", "link")}
    found = []
    for name, digest in {**needed, "outputs": view.outputs}.items():
        try:
            ledger.get_blob(digest)
        except LedgerError as error:
            found.append((f"its {_STORED[name]} cannot be read: {error}", error.remedy))
    return found


_STORED = {"program": "program", "link": "link record", "outputs": "list of outputs"}


def demand_same(stored: StoredRun, program: Program | None, link: LinkRecord | None) -> None:
    """Refuse, naming what changed, unless the program and the link record are those of the run.

    None means that the caller has nothing to compare with.
    """
    if program is not None and digest_bytes(program_bytes(program)) != stored.view.blobs["program"]:
        raise Refused(
            f"the program is not the one that run {stored.view.run_id} was started with: "
            f"{_program_changes(stored.program, program)}",
            remedy=f"`npac resume {stored.view.run_id}` alone goes on with the stored program",
        )
    if link is not None and digest_bytes(record_bytes(link)) != stored.view.blobs["link"]:
        old, new = record_to_json(stored.link), record_to_json(link)
        changed = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
        raise Refused(
            f"the link record is not the one that run {stored.view.run_id} was started with; changed: "
            f"{', '.join(changed)}",
            remedy=f"`npac resume {stored.view.run_id}` alone goes on with the stored record",
        )


def _program_changes(old: Program, new: Program) -> str:
    """Name the nodes and steps in which two programs differ, the first few of each."""
    parts = []
    before, after = _by_name(old), _by_name(new)
    for word, names in (
        ("added", [name for name in after if name not in before]),
        ("removed", [name for name in before if name not in after]),
        ("changed", [name for name in before if name in after and before[name] != after[name]]),
    ):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            parts.append(f"{word}: {', '.join(names[:5])}{more}")
    return "; ".join(parts) or "its header differs"


def _by_name(program: Program) -> dict[str, object]:
    data = program_to_json(program)
    named: dict[str, object] = {}
    for node, encoded in zip(program.nodes, data["nodes"], strict=True):
        named[node.id] = encoded
    # Steps have no name of their own; several of one state differ by iteration.
    for step, encoded in zip(program.steps, data["steps"], strict=True):
        name = f"state {step.state}"
        steps = named.setdefault(name, [])
        assert isinstance(steps, list), "no node is called like a state's entry here"
        steps.append(encoded)
    return named
