"""``npac clean``."""

from __future__ import annotations

from typing import Any

import click

from npac.cli.run import place_options, take_place


@click.command()
@click.argument("run_id")
@click.option("--logs", is_flag=True, help="Remove the logs of its jobs, too.")
@place_options
def command(run_id: str, logs: bool, **shared: Any) -> None:
    """Remove what the ended jobs of a run have left on this machine: scripts and working folders.

    Logs are kept unless --logs is given; the ledger and all artifacts stay as they are, and so does
    everything of other runs. A job that has not ended is left alone.
    """
    from npac.api import clean

    place = take_place(shared)
    done = clean(run_id, logs=logs, engine_options=place["engine_options"], ledger=place["ledger"])
    jobs = "1 job" if done.jobs == 1 else f"{done.jobs} jobs"
    click.echo(f"{run_id}: removed what {jobs} had left ({done.bytes} bytes)")
    for job, why in done.kept:
        click.echo(f"  job {job} was left alone: {why}")
