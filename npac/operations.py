"""What is done with runs and builds that exist: ask, look, verify, compare.

These are the operations of :mod:`npac.api` beside compiling and running.  All raise
:class:`npac.errors.NpacError` for what the user can mend.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from npac.build.verify import Problem
    from npac.ledger.fold import LedgerFault, LedgerReport
    from npac.ledger.ports import Event

PathLike = str | os.PathLike[str]


def runs(*, ledger: str | None = None) -> list[str]:
    """Give the ids of all runs below a ledger root, sorted."""
    from npac.running import ledger_root, plain_errors

    with plain_errors():
        return ledger_root(ledger).runs()


def runs_place(*, ledger: str | None = None) -> str:
    """Give the folder or URL that run ledgers are kept in."""
    from npac.running import ledger_root

    return ledger_root(ledger).place


def strays(*, ledger: str | None = None) -> list[tuple[str, str]]:
    """Give what stands in a ledger root under the name of a run and cannot be opened, and why not."""
    from npac.running import ledger_root, plain_errors

    with plain_errors():
        return ledger_root(ledger).strays()


def damage(run_id: str, *, ledger: str | None = None) -> list[tuple[str, str]]:
    """Give what an unfinished run needs to go on and has lost: a sentence and its remedy for each."""
    from npac import running

    return running.damage(run_id, ledger=ledger)


def events(run_id: str, *, ledger: str | None = None) -> Sequence[Event]:
    """Give the event log of a run, verified."""
    from npac.running import open_ledger, plain_errors

    with plain_errors():
        return open_ledger(run_id, ledger).events()


def fsck(run_id: str, *, ledger: str | None = None) -> list[str]:
    """Replay a run's whole log and give what is wrong with it, a sentence each."""
    from npac.ledger.fold import fsck as replay
    from npac.running import open_ledger, plain_errors

    with plain_errors():
        return replay(open_ledger(run_id, ledger))


def examine(run_id: str, *, ledger: str | None = None) -> LedgerReport:
    """Replay a run's whole log and give how much of it is proven, and each fault with its remedy."""
    from npac.ledger import fold
    from npac.ledger.ports import LedgerError
    from npac.running import open_ledger, plain_errors
    from npac.runtime.api import run_view

    with plain_errors():
        book = open_ledger(run_id, ledger)
        report = fold.examine(book)
        if not report.faults:
            # Events may be what was written and still not be what this version can go on with.
            try:
                run_view(book)
            except (LedgerError, KeyError, TypeError, ValueError) as error:
                message = f"the events are whole, and they do not make a run: {error or type(error).__name__}"
                fault = fold.LedgerFault(message, "Use the version of npac that the run was started with.")
                return fold.LedgerReport(run_id, report.events, report.blobs, (fault,))
        return report


def examine_all(*, ledger: str | None = None) -> tuple[list[LedgerReport], list[tuple[str, LedgerFault]]]:
    """Replay the logs of all runs of a root, in the order of their ids.

    Gives a report for each, and, for each run of which nothing could be found out, its id and why.  What
    is named like a run and cannot be opened as one is damaged.
    """
    from npac.errors import NpacError
    from npac.ledger.fold import LedgerFault, LedgerReport
    from npac.ledger.ports import LedgerCorrupt

    remedy = "Restore the run's folder from a copy, or move it out of the ledger root."
    reports = [
        LedgerReport(name, 0, 0, (LedgerFault(f"{name} cannot be opened: {why}", remedy),))
        for name, why in strays(ledger=ledger)
    ]
    unknown = []
    for name in runs(ledger=ledger):
        try:
            reports.append(examine(name, ledger=ledger))
        except NpacError as error:
            fault = LedgerFault(str(error), error.remedy)
            if isinstance(error.__cause__, LedgerCorrupt):
                reports.append(LedgerReport(name, 0, 0, (fault,)))
            else:
                unknown.append((name, fault))
    return sorted(reports, key=lambda report: report.run_id), unknown


def holder(run_id: str, *, ledger: str | None = None) -> Mapping[str, Any] | None:
    """Give what a run's last driver said of itself and whether it is ``alive``, ``dead`` or ``unknown``."""
    from npac.running import open_ledger, plain_errors

    with plain_errors():
        return open_ledger(run_id, ledger).holder()


def why(run_id: str, wave: str = "", *, ledger: str | None = None) -> str:
    """Explain a run, or one wave of it (its number, node or state), in one paragraph."""
    from npac.errors import NpacError
    from npac.running import status
    from npac.runtime.why import why as explain

    view = status(run_id, ledger=ledger)
    try:
        return explain(view, wave)
    except KeyError:
        known = ", ".join(f"{item.number} {item.node}" for item in list(view.waves.values())[:8])
        remedy = f"Its waves so far: {known or 'none yet'}."
        raise NpacError(f"run {run_id} has no wave {wave!r}", remedy=remedy) from None


def cancel(run_id: str, reason: str = "", *, ledger: str | None = None) -> str:
    """Ask for the end of a run; gives the request's id.  A live driver sees it at its next look.

    Refused for a run that has ended.
    """
    from npac.running import open_ledger, plain_errors
    from npac.runtime.api import request_cancel

    with plain_errors():
        return request_cancel(open_ledger(run_id, ledger), reason)


def answer(run_id: str, request_id: str, *, ledger: str | None = None) -> Mapping[str, Any] | None:
    """Give what a driver said to a request: ``accepted`` and ``why``; None while none has seen it."""
    from npac.running import open_ledger, plain_errors

    with plain_errors():
        return open_ledger(run_id, ledger).result(request_id)


def retry(run_id: str, *, ledger: str | None = None) -> str:
    """Ask for one more attempt at what failed; ``resume`` carries it out.  Gives the request's id.

    Refused for a run that has succeeded, and for one that is going on.
    """
    from npac.running import open_ledger, plain_errors
    from npac.runtime.api import request_retry

    with plain_errors():
        return request_retry(open_ledger(run_id, ledger))


def decide(
    run_id: str, gate: str, decision: str, reason: str, *, by: str = "", ledger: str | None = None
) -> str:
    """Give a blocked gate (its node id or state) its decision; ``resume`` carries it out.

    ``decision`` is any word that a decision artifact may hold.  Gives the request's id.  Refused for
    another word, and for a gate that does not exist or does not wait.
    """
    from npac.errors import NpacError
    from npac.running import open_ledger, plain_errors
    from npac.runtime import decisions
    from npac.runtime.api import demand_blocked_gate, request_decision

    try:
        meant = decisions.meaning(decision)
    except decisions.DecisionError as error:
        raise NpacError(
            f"the {error}", remedy="Give promote_checkpoint to go on, or loop_back for another round."
        ) from error
    with plain_errors():
        book = open_ledger(run_id, ledger)
        return request_decision(book, demand_blocked_gate(book, gate), meant, reason, by=by)


def logs(
    run_id: str, job: str, *, task: str = "", follow: bool = False, ledger: str | None = None
) -> Iterator[str]:
    """Yield the log of one job of a run in pieces of text, of one task where ``task`` is given."""
    from npac.engines.local.stored_logs import only_readable, stored_logs
    from npac.errors import NpacError
    from npac.running import local_root, make_engine, plain_errors, status

    view = status(run_id, ledger=ledger)
    if not view.engine:
        raise NpacError(
            f"run {run_id} has launched nothing, so it has no logs", remedy=f"npac status {run_id}"
        )
    if view.engine["name"] == "local" and only_readable(local_root()):
        with plain_errors():
            yield from stored_logs(local_root(), job, view.tasks_of(job), task)
        return
    engine = make_engine(str(view.engine["name"]), {})
    with plain_errors():
        yield from engine.logs(job, task=task, follow=follow)


def verify(folder: PathLike) -> list[Problem]:
    """Hash a build again and give what is not as its manifest says."""
    from pathlib import Path

    from npac.build.errors import BuildError
    from npac.build.verify import verify_build
    from npac.errors import NpacError

    try:
        return verify_build(Path(folder))
    except BuildError as error:
        raise NpacError(error.message, remedy=error.remedy) from error


def restore(folder: PathLike) -> None:
    """Make the readable files of a build again from its objects, which are verified first."""
    from pathlib import Path

    from npac.build.errors import BuildError
    from npac.build.restore import restore_views
    from npac.errors import NpacError

    try:
        restore_views(Path(folder))
    except BuildError as error:
        raise NpacError(error.message, remedy=error.remedy) from error
