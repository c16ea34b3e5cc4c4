"""Requests to a run: answered by its driver, or carried out here when it has none."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import click

from npac.api import NpacError, answer, holder, status
from npac.cli.drivers import NONE, driver_word, placed
from npac.cli.streams import tell

PATIENCE = 20.0
"""Seconds within which a live driver is expected to answer; it may be busy, and answers later then."""

ENDING = 150.0
"""Seconds within which a run that is being cancelled is expected to end."""

_EVERY = 0.2


def carry_out(
    run_id: str,
    request_id: str,
    what: str,
    driver: Any,
    place: dict[str, Any],
    lines: Any,
    *,
    ends: bool = False,
) -> None:
    """Have a request dealt with that was just left, and exit by what came of it.

    A live driver is given some time to answer; with ``ends`` an accepted request ends the run, which
    is waited for.  Without a driver this process resumes the run.  Where another process gets there
    first, the request is that one's: it is on record, and nothing of it is lost.
    """
    from npac.cli.resume import go_on

    told = False
    until = time.monotonic() + PATIENCE
    while True:
        said = answer(run_id, request_id, ledger=place["ledger"])
        if said is not None:
            _exit(run_id, said, place["ledger"], ends)
            return
        if driver_word(holder(run_id, ledger=place["ledger"])) in (NONE, "dead"):
            try:
                go_on(run_id, driver, place, lines, as_stored=True)
            except NpacError as error:
                if not _driven(error):
                    raise
            # Another driver has the run now, and sees the request as this one would have.
        if not told:
            tell(f"{run_id}: {what} is recorded; the run's driver sees it at its next look")
            told = True
        if time.monotonic() >= until:
            click.echo(f"{run_id}: {what} is left for the run's driver, which has not answered yet")
            click.echo(placed(f"  next: npac status {run_id}", run_id, place["ledger"]))
            return
        time.sleep(_EVERY)


def _driven(error: NpacError) -> bool:
    from npac.api import Driven

    return isinstance(error.__cause__, Driven)


def _exit(run_id: str, said: Mapping[str, Any], ledger: str | None, ends: bool) -> None:
    """Show a driver's answer, and how the run ended where it was to end."""
    if not said.get("accepted"):
        raise NpacError(
            f"run {run_id}: {said.get('why') or 'refused'}",
            remedy=placed(f"npac status {run_id} shows where it is", run_id, ledger),
        )
    click.echo(f"{run_id}: {said.get('why') or 'the request was taken up'}", err=ends)
    until = time.monotonic() + ENDING
    while ends:
        view = status(run_id, ledger=ledger)
        if view.ended or driver_word(holder(run_id, ledger=ledger)) in (NONE, "dead"):
            from npac.api import result_of
            from npac.cli.run import finish

            finish(result_of(view), ledger)
        if time.monotonic() >= until:
            click.echo(
                placed(f"{run_id}: still being cancelled\n  next: npac status {run_id}", run_id, ledger)
            )
            return
        time.sleep(_EVERY)
