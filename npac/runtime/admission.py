"""What must hold before anything of a run is launched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from npac.ir.program import Program
from npac.launch.identity import may_be_of_run
from npac.launch.ports import Capabilities, Engine, EngineError
from npac.ledger.ports import LedgerError, RunLedger
from npac.runtime import events as ev
from npac.runtime import fold
from npac.runtime.options import Refused


def demand_secrets(program: Program, given: Mapping[str, str]) -> tuple[str, ...]:
    """Give the names of all secrets that the program needs, sorted.

    Raises :class:`Refused` that lists every name for which no value was given.
    """
    needed = needed_secrets(program)
    lacking = [name for name in needed if name not in given]
    if lacking:
        raise Refused(
            f"no value was given for the secrets {', '.join(lacking)}",
            remedy="name each of them with --secret-env",
        )
    return needed


def needed_secrets(program: Program) -> tuple[str, ...]:
    """Give the names of all secrets that a program needs, sorted."""
    return tuple(sorted({name for step in program.steps for name in step.secrets}))


def capabilities_of(engine: Engine) -> Capabilities:
    """Ask an engine what it is.  Raises :class:`Refused` when it does not say."""
    try:
        return engine.capabilities()
    except EngineError as error:
        raise Refused(f"the engine does not answer: {error}", remedy=error.remedy) from error


def demand_no_strange_jobs(engine: Engine, run_id: str) -> None:
    """Refuse a new run while live jobs of an earlier run with this id exist that nobody drives."""
    try:
        rows = engine.jobs()
    except EngineError as error:
        raise Refused(f"the engine's job list cannot be read: {error}", remedy=error.remedy) from error
    strange = [row for row in rows if not row.terminal and may_be_of_run(row.name, run_id)]
    if strange:
        listed = ", ".join(f"{row.id} ({row.name})" for row in strange)
        raise Refused(
            f"live jobs may belong to another run called {run_id}: {listed}",
            remedy="cancel them, or choose another run id",
        )


def demand_own_outputs(outputs: Iterable[Iterable[str]], others: Callable[[], Iterable[RunLedger]]) -> None:
    """Refuse while an unfinished run of ``others`` declares an output that overlaps with ``outputs``.

    ``outputs`` are ``(uri, kind)``.  Two outputs overlap when they are equal or one is a directory
    that holds the other.  Refuses, too, when another run's log cannot be read, since nothing is known
    of its outputs then.  ``others`` is called only when there are outputs.
    """
    mine = [(str(uri), str(kind)) for uri, kind in outputs]
    for other in others() if mine else ():
        try:
            written = _unfinished_outputs(other)
        except LedgerError as error:
            raise unknown_outputs(other.run_id, error) from error
        for uri, kind in written:
            clash = next((own for own, own_kind in mine if overlap(own, own_kind, uri, kind)), "")
            if clash:
                raise Refused(
                    f"run {other.run_id} is not finished and writes {uri}, as this run does ({clash})",
                    remedy=f"let it end, end it (npac cancel {other.run_id}), put run.id into the URI, "
                    "or use --allow-shared-outputs",
                )


def unknown_outputs(run_id: str, error: LedgerError) -> Refused:
    """Give what to say when the ledger of another run cannot be read."""
    remedy = f"{error.remedy.rstrip('. ')}; or " if error.remedy else ""
    return Refused(
        f"which outputs run {run_id} may be writing is not known: {error}",
        remedy=f"{remedy}move that run's folder out of the ledger root, or use --allow-shared-outputs",
    )


def _unfinished_outputs(other: RunLedger) -> list[tuple[str, str]]:
    """Give ``(uri, kind)`` of all that an unfinished run may write; nothing for one that has ended."""
    events = other.events()
    if events and events[-1].type == ev.RUN_ENDED:
        return []
    view = fold.fold(events, other.get_blob)
    if view.ended or not view.outputs:
        return []
    return [(uri, kind) for uri, kind in json.loads(other.get_blob(view.outputs))["outputs"]]


def overlap(one: str, one_kind: str, other: str, other_kind: str) -> bool:
    """Say whether two artifacts share an object."""
    one, other = one.rstrip("/"), other.rstrip("/")
    if one == other:
        return True
    return (one_kind == "directory" and other.startswith(one + "/")) or (
        other_kind == "directory" and one.startswith(other + "/")
    )
