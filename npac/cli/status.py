"""``npac status``."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import click

from npac.api import damage, holder, status
from npac.cli.drivers import driver_word, next_step, unbegun
from npac.cli.project_defaults import ledger_of


@click.command()
@click.argument("run_id")
@click.option("--json", "as_json", is_flag=True, help="Print all that the log says, as JSON.")
@click.option("--watch", is_flag=True, help="Show it again at every change until the run has ended.")
@click.option("--ledger", metavar="DIR", help="Folder of run ledgers.")
def command(run_id: str, as_json: bool, watch: bool, ledger: str | None) -> None:
    """Show where a run is, from its log alone; whether a driver is alive is shown as far as it is known."""
    root = ledger or ledger_of()
    shown = ""
    while True:
        view = status(run_id, ledger=root)
        if as_json:
            text = _json(view)
        else:
            text = _text(view, holder(run_id, ledger=root), damage(run_id, ledger=root))
        if text != shown:
            click.echo(text)
            shown = text
        if not watch or view.ended:
            return
        time.sleep(1)


def _json(view: Any) -> str:
    import json

    data = dataclasses.asdict(view)
    data["triggers"] = [dict(value) for value in data["triggers"].values()]
    data["checked"] = sorted(data["checked"])
    return json.dumps(data, indent=2, ensure_ascii=False, default=list)


def _text(view: Any, holder: Any, damage: list[tuple[str, str]]) -> str:
    word = driver_word(holder)
    if not view.run_uid:
        lines = [f"{view.run_id}: {view.state}: {unbegun(word)}; nothing of it is on record"]
        remedy = next_step(view, word)
        return "\n".join([*lines, *([f"  next: {remedy}"] if remedy else [])])
    lines = [f"{view.run_id}: {view.state}" + (f": {view.reason}" if view.reason else "")]
    lines.append(f"  workflow {view.workflow}, engine {view.engine.get('name', '?')}, begun {view.created}")
    if not view.ended:
        lines.append(f"  driver: {word}")
    for wave in view.waves.values():
        attempt = f", attempt {wave.last.number}" if wave.last.number > 1 else ""
        jobs = []
        for launch in wave.last.launches.values():
            number = launch.job.id if launch.job is not None else launch.job_id or "?"
            jobs.append(f"job {number} {launch.status or 'unknown'}")
        lines.append(f"  {wave.number:>4}  {wave.node}  {wave.word}{attempt}  {'; '.join(jobs)}".rstrip())
        if wave.last.reason and wave.last.reason not in view.reason:
            lines.append(f"        {wave.last.reason}")
    for decision in view.decisions.values():
        given = " (by hand)" if decision.given else ""
        lines.append(f"     ?  {decision.node}  {decision.decision}{given}")
    lines += [f"  damaged: {fault}" for fault, _ in damage]
    # What is broken must be mended before anything else can be done.
    remedy = damage[0][1] if damage else next_step(view, word)
    if remedy:
        lines.append(f"  next: {remedy}")
    return "\n".join(lines)
