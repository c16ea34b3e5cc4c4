"""``npac logs``."""

from __future__ import annotations

import sys
from typing import Any

import click

from npac.api import NpacError, status
from npac.cli.project_defaults import ledger_of


@click.command()
@click.argument("run_id")
@click.argument("state", required=False)
@click.option("--follow", is_flag=True, help="Go on until the job that is running now is over.")
@click.option("--ledger", metavar="DIR", help="Folder of run ledgers.")
def command(run_id: str, state: str | None, follow: bool, ledger: str | None) -> None:
    """Show the logs of a run's jobs, of one STATE (or wave number, or node) where it is given."""
    from npac.running import make_engine, plain_errors

    view = status(run_id, ledger=ledger or ledger_of())
    jobs = _jobs(view, state)
    if not jobs:
        where = f" of {state}" if state else ""
        known = (
            ", ".join(sorted({name for wave in view.waves.values() for name in wave.states})) or "none yet"
        )
        raise NpacError(f"run {run_id} has no jobs{where}", remedy=f"States that have run: {known}.")
    engine = make_engine(view.engine["name"], {})
    for title, job, task in jobs:
        click.echo(f"==> {title} (job {job})", err=True)
        with plain_errors():
            for piece in engine.logs(job, task=task, follow=follow):
                click.echo(piece, nl=False)
                sys.stdout.flush()


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
