"""``npac status``."""

from __future__ import annotations

import dataclasses
import shlex
import time
from typing import Any

import click

from npac.api import damage, holder, status
from npac.cli.drivers import driver_word, next_step, placed, unbegun
from npac.cli.project_defaults import ledger_of

_SHOWN = 12
"""Lines of an amendment's differences that are shown."""


@click.command()
@click.argument("run_id")
@click.option("--json", "as_json", is_flag=True, help="Print all that the log says, as JSON.")
@click.option("--watch", is_flag=True, help="Show it again at every change until the run has ended.")
@click.option("--ledger", metavar="DIR", help="Folder or s3:// URL of run ledgers.")
def command(run_id: str, as_json: bool, watch: bool, ledger: str | None) -> None:
    """Show where a run is, from its log alone; whether a driver is alive is shown as far as it is known."""
    root = ledger or ledger_of()
    shown = ""
    while True:
        view = status(run_id, ledger=root)
        if as_json:
            text = _json(view, holder(run_id, ledger=root), root)
        else:
            text = _text(view, holder(run_id, ledger=root), damage(run_id, ledger=root), root)
        if text != shown:
            click.echo(text)
            shown = text
        if not watch or view.ended:
            return
        time.sleep(1)


def _json(view: Any, holder: Any, ledger: str | None) -> str:
    import json

    data = dataclasses.asdict(view)
    for wave in view.waves.values():
        data["waves"][wave.node]["members"] = [dataclasses.asdict(each) for each in wave.members()]
    data["next"] = next_step(view, driver_word(holder), ledger)
    data["triggers"] = [dict(value) for value in data["triggers"].values()]
    del data["history"]  # the latest of each stand in records
    data["checked"] = sorted(data["checked"])
    return json.dumps(data, indent=2, ensure_ascii=False, default=list)


def _text(view: Any, holder: Any, damage: list[tuple[str, str]], ledger: str | None) -> str:
    word = driver_word(holder)
    if not view.run_uid:
        lines = [f"{view.run_id}: {view.state}: {unbegun(word)}; nothing of it is on record"]
        remedy = next_step(view, word, ledger)
        return "\n".join([*lines, *([f"  next: {remedy}"] if remedy else [])])
    lines = [f"{view.run_id}: {view.state}" + (f": {view.reason}" if view.reason else "")]
    lines.append(f"  workflow {view.workflow}, engine {view.engine.get('name', '?')}, begun {view.created}")
    if not view.ended:
        lines.append(f"  driver: {word}")
    for change in view.amendments:
        count = len(change.changes)
        lines.append(
            f"  amended {change.at}: {change.before[:12]} -> {change.after[:12]}, "
            f"{count} difference{'' if count == 1 else 's'} (npac events {view.run_id} --json shows them)"
        )
        lines += [f"    {line}" for line in change.text.splitlines()[:_SHOWN]]
    lines += [f"  gone back {back.at} to {back.node}" for back in view.rewinds]
    for wave in view.waves.values():
        attempt = f", attempt {wave.last.number}" if wave.last.number > 1 else ""
        jobs = [_job(launch) for launch in wave.last.launches.values()]
        lines.append(f"  {wave.number:>4}  {wave.node}  {wave.word}{attempt}  {'; '.join(jobs)}".rstrip())
        if wave.last.reason and wave.last.reason not in view.reason:
            lines.append(f"        {wave.last.reason}")
        if len(wave.states) > 1:
            lines += _members(wave)
        if wave.state == "failed" and jobs:
            log = placed(f"npac logs {view.run_id} {shlex.quote(wave.label)}", view.run_id, ledger)
            lines.append(f"        logs: {log}")
    for decision in view.decisions.values():
        given = " (by hand)" if decision.given else ""
        lines.append(f"     ?  {decision.node}  {decision.decision}{given}")
    lines += [f"  damaged: {fault}" for fault, _ in damage]
    # What is broken must be mended before anything else can be done.
    remedy = damage[0][1] if damage else next_step(view, word, ledger)
    if remedy:
        lines.append(f"  next: {remedy}")
    return "\n".join(lines)


def _job(launch: Any) -> str:
    """Name the job of a launch and its status; before there is a job, how far the launch has come."""
    number = launch.job.id if launch.job is not None else launch.job_id
    return f"job {number} {launch.word}" if number else f"its job is {launch.word}"


def _members(wave: Any) -> list[str]:
    """Give a line for each member of a group: its job, its status, and why it failed."""
    members = wave.members()
    width = max(len(member.state) for member in members)
    lines = []
    for member in members:
        job = f"  job {member.job}" if member.job else ""
        reason = f": {member.reason}" if member.reason else ""
        lines.append(f"        {member.state:<{width}}{job}  {member.status}{reason}")
    return lines
