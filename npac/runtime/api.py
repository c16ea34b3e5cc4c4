"""What the rest of npac may ask of the runtime: start, go on, ask, show."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from npac.ir.canonical import program_bytes
from npac.ir.linking import LinkRecord, record_bytes
from npac.ir.program import Program
from npac.launch.ports import Capabilities
from npac.ledger.ports import LeaseHeld, Request, RunLedger
from npac.runtime import admission, fold, gates, outputs
from npac.runtime import events as ev
from npac.runtime.admission import unknown_outputs
from npac.runtime.advice import has_ended, next_step
from npac.runtime.amending import Amend
from npac.runtime.driver import drive, release
from npac.runtime.options import Driven, Refused, RunOptions, RunResult, result_of
from npac.runtime.session import CANCEL, DECIDE, RETRY, Session
from npac.runtime.stored import StoredRun, damage, demand_same, demand_unbegun, load, unbegun
from npac.runtime.turns import put_on_record, turn
from npac.runtime.view import BLOCKED, CANCELLED, FAILED, RUNNING, SUCCEEDED, WAITING, RunView
from npac.runtime.waves import affordable
from npac.runtime.why import why
from npac.runtime.world import LaunchValues, Render, World

__all__ = [
    "Admission",
    "Amend",
    "Driven",
    "LaunchValues",
    "Refused",
    "Render",
    "RunOptions",
    "RunResult",
    "StoredRun",
    "World",
    "admit",
    "damage",
    "demand_blocked_gate",
    "demand_unbegun",
    "load",
    "may_be_retried",
    "request_cancel",
    "request_decision",
    "request_retry",
    "resume_run",
    "run_view",
    "start_run",
    "unknown_outputs",
    "why",
    "written_by",
]


def start_run(
    ledger: RunLedger,
    world: World,
    program: Program,
    link: LinkRecord,
    options: RunOptions | None = None,
    *,
    blobs: Mapping[str, bytes] | None = None,
    others: Callable[[], Iterable[RunLedger]] = tuple,
    driver: Mapping[str, Any] | None = None,
    target: str = "",
) -> RunResult:
    """Run a program from its entry, in the empty ledger of a new run.

    A ledger that a driver took and of which nothing else is on record is as good as empty.

    ``link`` holds the run's id (the ledger's) and its random uid.  ``blobs`` are stored with the run
    (``{"spec": …, "manifest": …}``).  ``others`` gives the ledgers of the other runs of the same
    root, whose outputs must not overlap.  ``driver`` is what this driver says of itself.  ``target``
    is the path of what is run, for people who want to run it anew.

    Raises :class:`Refused` before anything is launched, and a ledger error when the ledger
    cannot be written at the very beginning; all later trouble is in the result.
    """
    options = options or RunOptions()
    if link.run_id != ledger.run_id or not link.run_uid:
        raise ValueError("the link record must hold the run's id and a uid")
    admitted = admit(world, program, link, options, others)
    secrets, capabilities, written = admitted.secrets, admitted.capabilities, admitted.outputs
    stored = {"program": program_bytes(program), "link": record_bytes(link), **(blobs or {})}
    fence = _take(ledger, driver)
    session = Session(ledger, fence, RunView(), world, options)
    try:
        demand_unbegun(ledger)
        session.view = fold.fold(ledger.events(), ledger.get_blob)
        if fence > 1:
            # They were meant for a driver that never began.
            for request in ledger.requests():
                session.answer(request, False, "the run had not begun")
        session.append(
            ev.RUN_CREATED,
            {
                "schema": ev.SCHEMA,
                "run_id": link.run_id,
                "run_uid": link.run_uid,
                "workflow": program.workflow,
                "blobs": {f"{name}_blob": ledger.put_blob(data) for name, data in stored.items()},
                "outputs_blob": ledger.put_blob(ev.encode({"outputs": written})),
                "engine": _engine(capabilities),
                "secrets": list(secrets),
                "options": dataclasses.asdict(options),
                "target": target,
            },
        )
    except BaseException:
        release(session)
        raise
    return drive(session, program, capabilities)


def written_by(program: Program, run_id: str) -> list[list[str]]:
    """Give ``[uri, kind]`` of everything that a run of ``program`` may write, sorted."""
    return outputs.of_program(program, run_id)


@dataclasses.dataclass(frozen=True, slots=True)
class Admission:
    """What was found out while a run was let in."""

    secrets: tuple[str, ...]
    capabilities: Capabilities
    outputs: list[list[str]]


def admit(
    world: World,
    program: Program,
    link: LinkRecord,
    options: RunOptions | None = None,
    others: Callable[[], Iterable[RunLedger]] = tuple,
) -> Admission:
    """See that a new run may be started; nothing is written anywhere.  Raises :class:`Refused`.

    :func:`start_run` asks the same again.  Who asks first, and makes the run's ledger afterwards,
    leaves nothing behind for a run that is refused.
    """
    options = options or RunOptions()
    secrets = admission.demand_secrets(program, world.secrets)
    capabilities = admission.capabilities_of(world.engine)
    written = outputs.of_program(program, link.run_id)
    if not options.allow_shared_outputs:
        admission.demand_own_outputs(written, others)
    admission.demand_no_strange_jobs(world.engine, link.run_id)
    return Admission(secrets, capabilities, written)


def resume_run(
    ledger: RunLedger,
    world: World,
    options: RunOptions | None = None,
    *,
    program: Program | None = None,
    link: LinkRecord | None = None,
    amend: Amend | None = None,
    rerun_from: str = "",
    others: Callable[[], Iterable[RunLedger]] = tuple,
    driver: Mapping[str, Any] | None = None,
) -> RunResult:
    """Go on with a run, from where its log says it is, with the program that is stored with it.

    ``program`` and ``link``, where given, are what the caller would run today; if they are not
    the run's, it is refused.  ``options`` default to those of the last driver.  Open requests to
    cancel, retry or decide are taken in first.  A run that has ended, and that nothing allows to go
    on, is left as it is and its result is given again.

    With ``amend`` the rest of the run follows another program, for which ``world`` must render; with
    ``rerun_from`` (a wave by node, number, label or state) this wave runs again and all that followed;
    with both, as the amended program has them.  Either lets a run that has ended go on.  ``others`` are
    as for :func:`start_run`, and asked for a run that had ended or is amended.

    Raises :class:`Refused` (another driver holds the run, something changed, secrets are lacking, a
    wave that has finished would change) and :class:`npac.ledger.ports.LedgerError`.
    """
    stored = load(ledger)
    demand_same(stored, program, link)
    options = inherited(options, stored.view)
    # A request that came too late for a run stays in its ledger, and is answered if it ever goes on.
    if not (amend or rerun_from) and not _may_go_on(stored.view, ledger.requests(), options):
        return result_of(stored.view)
    # Asked before the lease is taken, too: what is refused leaves no trace.
    turn(stored.view, stored.program, amend, rerun_from)
    followed = stored.program if amend is None else amend.program
    if not options.allow_shared_outputs and (stored.view.ended or amend is not None):
        admission.demand_own_outputs(outputs.of_program(followed, stored.view.run_id), others)
    fence = _take(ledger, driver)
    view = fold.fold(ledger.events(), ledger.get_blob)
    session = Session(ledger, fence, view, world, options)
    try:
        if view.blobs != stored.view.blobs:
            raise Refused(
                f"another driver has just amended run {view.run_id}",
                remedy="Give the command again",
            )
        capabilities = admission.capabilities_of(world.engine)
        if capabilities.name != view.engine["name"]:
            raise Refused(
                f"run {view.run_id} was started on the engine {view.engine['name']}, not {capabilities.name}",
                remedy=f"resume it with --engine {view.engine['name']}",
            )
        if view.cancel is None and not _asked(ledger, CANCEL):
            admission.demand_secrets(followed, world.secrets)
        retry = _take_requests(session, stored.program)
        put_on_record(session, stored.program, amend, rerun_from)
        retry = retry or view.retry
        if not retry and not _may_go_on(view, (), options):
            release(session)
            return result_of(view)
        session.append(
            ev.RUN_RESUMED,
            {"engine": _engine(capabilities), "options": dataclasses.asdict(options), "retry": retry},
        )
    except BaseException:
        release(session)
        raise
    return drive(session, followed, capabilities, resumed=True)


def run_view(ledger: RunLedger) -> RunView:
    """Give all that a run's log says.  Raises a ledger error when it cannot be read.

    A run of which nothing is on record is ``planned``, and has nothing but its id.
    """
    view = fold.fold(ledger.events(), ledger.get_blob)
    view.run_id = view.run_id or ledger.run_id
    return view


def _gone(ledger: RunLedger) -> bool:
    """Say whether it is certain that nobody drives a run."""
    last = ledger.holder()
    return last is None or bool(last["released"]) or last["liveness"] == "dead"


def _demand_someone(ledger: RunLedger) -> RunView:
    """Give the view of a run that takes requests.

    Refused is one that never began, unless its driver may be about to begin.
    """
    # Looked for before the log is read: a driver that goes in between has put all on record.
    gone = _gone(ledger)
    view = run_view(ledger)
    if gone and not view.run_uid:
        raise unbegun(ledger)
    return view


def request_cancel(ledger: RunLedger, reason: str = "") -> str:
    """Ask for the end of a run; gives the request's id.

    A live driver sees it within one poll.  When there is none, :func:`resume_run` takes the run and
    cancels what is in flight.  Raises :class:`Refused` for a run that has ended and is not to be tried
    again, and for one that never began, unless its driver may be alive and about to.
    """
    view = _demand_someone(ledger)
    if view.ended and not _asked(ledger, RETRY):
        raise Refused(has_ended(view, "cancel"), remedy=next_step(view))
    return ledger.ask(CANCEL, {"reason": reason or "cancelled by request"})


def request_retry(ledger: RunLedger) -> str:
    """Ask for one more attempt at what failed; :func:`resume_run` carries it out.

    Raises :class:`Refused` for a run that has succeeded, one that is going on, and one that never began.
    """
    view = _demand_someone(ledger)
    if view.state == SUCCEEDED:
        raise Refused(has_ended(view, "retry"), remedy=f"npac status {view.run_id} shows how it went")
    if view.state in (RUNNING, WAITING) and not _gone(ledger):
        raise Refused(
            f"run {view.run_id} is going on; there is no failed wave to try again",
            remedy=f"npac status {view.run_id} shows where it is",
        )
    return ledger.ask(RETRY, {})


def request_decision(ledger: RunLedger, gate: str, decision: str, reason: str, by: str = "") -> str:
    """Give a decision for a blocked gate (its node id or state); :func:`resume_run` carries it out.

    A decision that no blocked gate takes is answered so by the driver, and changes nothing;
    :func:`demand_blocked_gate` tells beforehand.
    """
    return ledger.ask(DECIDE, {"gate": gate, "decision": decision, "reason": reason, "by": by})


def demand_blocked_gate(ledger: RunLedger, gate: str) -> str:
    """Give the node id of the blocked gate called ``gate``.

    Raises :class:`Refused` for a gate that the program does not have, one that is not blocked, and
    a run that has ended.
    """
    stored = load(ledger)
    return gates.demand_blocked(stored.view, stored.program, gate).id


def _take(ledger: RunLedger, driver: Mapping[str, Any] | None) -> int:
    try:
        return ledger.take(dict(driver or {}))
    except LeaseHeld as error:
        raise Driven(f"run {ledger.run_id}: {error}", remedy=error.remedy) from error


def _engine(capabilities: Capabilities) -> dict[str, str]:
    return {"name": capabilities.name, "instance": capabilities.instance}


def inherited(options: RunOptions | None, view: RunView) -> RunOptions:
    """Give the options of a driver that goes on with a run; what is not chosen stays as it was."""
    if options is None:
        return _options(view)
    if options.max_gpu_hours is None:
        return dataclasses.replace(options, max_gpu_hours=view.options.get("max_gpu_hours"))
    return options


def _options(view: RunView) -> RunOptions:
    # What somebody has seen once is not seen for good.
    known = {each.name for each in dataclasses.fields(RunOptions)} - {"engine_moved"}
    return RunOptions(**{name: value for name, value in view.options.items() if name in known})


def may_be_retried(ledger: RunLedger) -> bool:
    """Say whether one more attempt was asked for, and no driver has seen it yet."""
    return _asked(ledger, RETRY)


def _asked(ledger: RunLedger, kind: str) -> bool:
    return any(request.kind == kind for request in ledger.requests())


def _may_go_on(view: RunView, requests: Iterable[Request], options: RunOptions) -> bool:
    """Say whether a driver has anything to do; an end stays an end unless a budget or a person says so."""
    if not view.ended:
        return True
    if view.state == SUCCEEDED:
        return False
    if any(request.kind == RETRY for request in requests):
        return True
    wave = view.waves.get(view.node)
    return (
        view.state == FAILED
        and wave is not None
        and wave.state == FAILED
        and affordable(wave, options.retries, options.max_infrastructure_recoveries) != ""
    )


def _take_requests(session: Session, program: Program) -> bool:
    """Answer what was asked while no driver was there; gives whether one more attempt was asked for.

    A request to cancel is left for the walk, which sees to what is in flight first.
    """
    retry = False
    view = session.view
    for request in session.ledger.requests():
        if request.kind == RETRY:
            taken = view.state in (FAILED, CANCELLED, BLOCKED)
            session.answer(request, taken, "" if taken else f"the run is {view.state}; nothing has failed")
            retry = retry or taken
        elif request.kind == DECIDE:
            gate = gates.blocked_gate(view, program)
            if gate is not None:
                gates.given(session, gate, request)
            else:
                session.answer(request, False, f"the run is {view.state}, and not at a gate")
        elif request.kind == CANCEL and view.ended and not retry:
            word = "was" if view.state == CANCELLED else "has"
            session.answer(request, False, f"the run {word} {view.state} already")
        elif request.kind != CANCEL and view.ended:
            session.answer(request, False, f"this version knows no request of kind {request.kind!r}")
    return retry
