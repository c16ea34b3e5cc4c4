"""Running specs and builds to their end, going on with runs, and saying where they are."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npac.api.checking import DEFAULTS, Options, PathLike

if TYPE_CHECKING:
    from npac.cleaning import Cleaned
    from npac.runtime.options import RunOptions, RunResult
    from npac.runtime.progress import Progress
    from npac.runtime.view import RunView


def run(
    target: PathLike,
    options: Options = DEFAULTS,
    *,
    run_id: str | None = None,
    run_options: RunOptions | None = None,
    engine: str = "local",
    engine_options: Mapping[str, Any] | None = None,
    ledger: str | None = None,
    single_writer: bool = False,
    secrets: Sequence[str] = (),
    progress: Progress | None = None,
    handle_signals: bool = False,
) -> RunResult:
    """Run a spec, a build folder or raw SkyPilot YAML to its end, and give how it ended.

    ``secrets`` are names of environment variables whose values the tasks get.  ``ledger`` is a
    folder or URL (``file://``, ``s3://``) for run ledgers; ``single_writer`` allows one on a store that
    cannot keep two drivers of a run apart.  Raises :class:`NpacError` (or :class:`SpecError`) when the run is
    refused before anything is launched.
    """
    from npac import running
    from npac.api.compiling import compile_target

    return running.run(
        target,
        options,
        compile=compile_target,
        run_id=run_id,
        run_options=run_options,
        engine=engine,
        engine_options=engine_options or {},
        ledger=ledger,
        single_writer=single_writer,
        secrets=secrets,
        progress=progress,
        handle_signals=handle_signals,
    )


def resume(
    run_id: str,
    options: Options = DEFAULTS,
    *,
    amend: PathLike = "",
    rerun_from: str = "",
    as_stored: bool = False,
    run_options: RunOptions | None = None,
    engine_options: Mapping[str, Any] | None = None,
    ledger: str | None = None,
    secrets: Sequence[str] = (),
    progress: Progress | None = None,
    handle_signals: bool = False,
) -> RunResult:
    """Go on with a run from where its log says it is.

    It goes on with the program stored with it, and is refused, with the differences by meaning, when its
    spec gives another one now; ``as_stored`` goes on all the same.  With ``amend`` the rest of the run
    follows another spec or build, compiled as the run's was with ``options`` (``vars``, ``sets``,
    ``config``) laid over that; all that has finished must be the same in it.  With ``rerun_from`` a wave
    (node, number, label or state) runs again and all that followed.  Raises :class:`NpacError` when it is
    refused.
    """
    from npac import resuming
    from npac.api.compiling import compile_target
    from npac.errors import NpacError

    if not amend and (options.vars or options.sets or options.config):
        raise NpacError(
            "overrides change the program, and a run goes on with the one that is stored with it",
            remedy="Give them with --amend SPEC.",
        )
    return resuming.resume(
        run_id,
        resuming.Course(as_stored, os.fspath(amend), rerun_from),
        options,
        compile=compile_target,
        run_options=run_options,
        engine_options=engine_options or {},
        ledger=ledger,
        secrets=secrets,
        progress=progress,
        handle_signals=handle_signals,
    )


def clean(
    run_id: str,
    *,
    logs: bool = False,
    engine_options: Mapping[str, Any] | None = None,
    ledger: str | None = None,
) -> Cleaned:
    """Remove what the ended jobs of a run have left on this machine, their logs only with ``logs``.

    Best effort: what could not be removed is told.  The ledger, artifacts, jobs that have not ended and
    whatever belongs to other runs are not touched.
    """
    from npac import cleaning

    return cleaning.clean(run_id, logs=logs, engine_options=engine_options or {}, ledger=ledger)


def project_ledger(folder: PathLike = os.curdir) -> str | None:
    """Give the place of run ledgers that the project of a folder names; None when it names none.

    Raises :class:`ProjectError` for a configuration with mistakes: a run must not go to another ledger
    because a line of it was misread.
    """
    from npac.checking import demand_sound
    from npac.project import discover

    project, problems = discover(folder)
    demand_sound(problems)
    return project.ledger


def status(run_id: str, *, ledger: str | None = None) -> RunView:
    """Give what a run's log says.  Raises :class:`NpacError` when it cannot be read."""
    from npac import running

    return running.status(run_id, ledger=ledger)
