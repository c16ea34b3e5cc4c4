"""``npac logs``."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable
from typing import Any

import click

from npac.api import NpacError, logs, status
from npac.cli.project_defaults import ledger_of
from npac.cli.streams import tell

_WIDEST = 2000
"""Most characters of one line that are shown of a log's end."""


@click.command()
@click.argument("run_id")
@click.argument("state", required=False)
@click.option("--follow", is_flag=True, help="Go on until the job that is running now is over.")
@click.option("--ledger", metavar="DIR", help="Folder or s3:// URL of run ledgers.")
def command(run_id: str, state: str | None, follow: bool, ledger: str | None) -> None:
    """Show the logs of a run's jobs, of one STATE (or wave number, or node) where it is given."""
    root = ledger or ledger_of()
    view = status(run_id, ledger=root)
    jobs = _jobs(view, state)
    if not jobs:
        where = f" of {state}" if state else ""
        known = (
            ", ".join(sorted({name for wave in view.waves.values() for name in wave.states})) or "none yet"
        )
        raise NpacError(f"run {run_id} has no jobs{where}", remedy=f"States that have run: {known}.")
    for title, job, task in jobs:
        tell(f"==> {title} (job {job})")
        for piece in logs(run_id, job, task=task, follow=follow, ledger=root):
            click.echo(piece, nl=False)
            sys.stdout.flush()


def show_ends(view: Any, ledger: str | None, *, lines: int = 10, most: int = 3) -> None:
    """Show on standard error the last ``lines`` of the log of each task with which a run failed.

    At most ``most`` tasks are shown.  A log that cannot be read is said to be so, and nothing more:
    the failure itself is told elsewhere.
    """
    wave = view.waves.get(view.node)
    if wave is None or wave.state != "failed":
        return
    bad = [
        (wave.states[result.member], launch, result.member)
        for launch in wave.last.launches.values()
        for result in launch.results
        if not result.ok and result.family == wave.last.family and launch.job is not None
    ]
    for name, launch, member in bad[:most]:
        task = launch.tasks[launch.members.index(member)] if len(launch.tasks) > 1 else ""
        try:
            tail = _last(logs(view.run_id, launch.job.id, task=task, ledger=ledger), lines)
        except NpacError as error:
            tell(f"the log of {name} (job {launch.job.id}) cannot be shown: {error}")
            continue
        if tail:
            tell(f"the end of the log of {name} (job {launch.job.id}):")
            for line in tail:
                tell(f"    {line}")
        else:
            tell(f"the log of {name} (job {launch.job.id}) is empty")


def _last(pieces: Iterable[str], count: int) -> list[str]:
    """Give the last lines of a text that comes in pieces, holding no more than those."""
    kept: deque[str] = deque(maxlen=count)
    open_line = ""
    for piece in pieces:
        *whole, open_line = (open_line + piece).split("\n")
        open_line = open_line[-_WIDEST:]
        kept.extend(line[-_WIDEST:] for line in whole)
    if open_line:
        kept.append(open_line)
    return [line.rstrip() for line in kept]


def _jobs(view: Any, wanted: str | None) -> list[tuple[str, str, str]]:
    """Give (title, job id, task) of every job whose log is wanted, in the order of their launch."""
    found = []
    for wave in view.waves.values():
        whole = wanted is None or wanted in (wave.node, wave.label, str(wave.number))
        for attempt in wave.attempts:
            for launch in attempt.launches.values():
                job = launch.job.id if launch.job is not None else launch.job_id
                mine = wanted in launch.tasks or wanted in wave.states
                if not job or not (whole or mine):
                    continue
                if not whole and len(launch.tasks) > 1 and wanted not in launch.tasks:
                    continue
                task = wanted if not whole and len(launch.tasks) > 1 and wanted is not None else ""
                attempt_text = f" attempt {attempt.number}" if attempt.number > 1 else ""
                found.append((f"wave {wave.number} {wave.node}{attempt_text}", job, task))
    return found
