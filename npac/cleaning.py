"""Removing what the jobs of a run have left behind on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from npac import running
from npac.launch.ports import EngineError
from npac.launch.supervision import JobRef
from npac.runtime.view import LaunchView, RunView


class Cleaned(NamedTuple):
    """What was removed, and of which jobs nothing was."""

    jobs: int
    """Jobs of which something was removed, or nothing was left."""
    bytes: int
    kept: list[tuple[str, str]]
    """Ids of jobs that were left alone, and why."""


def clean(run_id: str, *, logs: bool, engine_options: Mapping[str, Any], ledger: str | None) -> Cleaned:
    """Remove what a run's ended jobs have left; see :func:`npac.api.clean`."""
    view = running.status(run_id, ledger=ledger)
    if not view.engine or view.engine["name"] != "local":
        return Cleaned(0, 0, [])  # Other engines keep nothing here that is the run's alone.
    from npac.engines.local.engine import LocalEngine
    from npac.engines.local.leftovers import remove_leftovers

    engine = running.make_engine("local", engine_options)
    assert isinstance(engine, LocalEngine), "that is what the engine local is"
    done = freed = 0
    kept: list[tuple[str, str]] = []
    with running.plain_errors():
        instance = engine.capabilities().instance
    for launch, ref in _jobs(view):
        why = "" if ref.instance == instance else "it is another engine's"
        try:
            row = engine.job(ref.id) if not why else None
            if row is not None and not ref.is_of(row):
                why = "it is another run's now"
            elif row is not None and not (row.terminal and launch.ended):
                why = "it has not ended, or its end is not on record yet"
            if not why:
                freed += remove_leftovers(engine.root, int(ref.id), logs=logs) if row is not None else 0
                done += 1
        except EngineError as error:
            why = str(error)
        if why:
            kept.append((ref.id, why))
    return Cleaned(done, freed, kept)


def _jobs(view: RunView) -> Iterator[tuple[LaunchView, JobRef]]:
    for wave in view.every_wave():
        for attempt in wave.attempts:
            for launch in attempt.launches.values():
                if launch.job is not None:
                    yield launch, launch.job
