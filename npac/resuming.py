"""Going on with a run: with the program stored with it, with an amended one, or from an earlier wave."""

from __future__ import annotations

import functools
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from npac import running
from npac.diagnostics.credentials import redacted
from npac.errors import NpacError
from npac.ir.canonical import digest_bytes, program_bytes
from npac.ir.linking import link_program
from npac.ir.program import Program
from npac.ledger.ports import LedgerError, RunLedger
from npac.ledger.stores import store_for
from npac.reading import MAX_MANIFEST_BYTES, MAX_SPEC_BYTES, read_regular
from npac.running import Compile
from npac.runtime import api as runtime
from npac.runtime.exposure import demand_unexposed_text
from npac.runtime.options import RunOptions, RunResult
from npac.runtime.precheck import demand_launchable
from npac.runtime.progress import Progress, Silent
from npac.runtime.view import RunView


@dataclass(frozen=True, slots=True)
class Course:
    """How a run is to go on; without anything, as its log says and only if its spec says the same."""

    as_stored: bool = False
    """Go on with the stored program and link record, whatever the spec and this environment say now."""
    amend: str = ""
    """A spec or build that the rest of the run follows."""
    rerun_from: str = ""
    """A wave that runs again, with all that followed."""


def resume(
    run_id: str,
    course: Course,
    given: Any,
    *,
    compile: Compile,
    run_options: RunOptions | None,
    engine_options: Mapping[str, Any],
    ledger: str | None,
    secrets: Sequence[str],
    progress: Progress | None,
    handle_signals: bool,
) -> RunResult:
    """Go on with a run; ``given`` are the options of an amended spec.  See :func:`npac.api.resume`."""
    with running.plain_errors():
        book = running.open_ledger(run_id, ledger)
        stored = runtime.load(book)
        root = running.ledger_root(ledger)
        tell = progress or Silent()
        running.caution(root, run_id, tell)
        names = sorted({*secrets, *(str(name) for name in stored.view.secrets)})
        values = running.secret_values(names, missing_ok=True)
        amend = None
        if course.amend:
            amend = _amendment(book, stored, course.amend, given, compile, values)
            if amend is None:
                tell.note(
                    f"{course.amend} gives the program that run {run_id} has: there is nothing to amend"
                )
        place = running.make_engine(str(stored.view.engine["name"]), engine_options, start=True)
        # Of a run that has ended and stays so nothing runs, whatever is in its spec.
        goes_on = not stored.view.ended or course.rerun_from or runtime.may_be_retried(book)
        if goes_on and not course.amend:
            _hold_against_spec(book, stored, given, compile, course, tell)
        program = stored.program if amend is None else amend.program
        if amend is not None:
            _demand_possible(amend, stored, place, values)
        with running.interrupted(handle_signals) as interrupts:
            world = runtime.World(
                place,
                store_for,
                running.renderer(program, stored.link),
                secrets=values,
                progress=tell,
                interrupts=interrupts,
            )
            return runtime.resume_run(
                book,
                world,
                run_options,
                amend=amend,
                rerun_from=course.rerun_from,
                others=functools.cache(lambda: running.other_ledgers(root, run_id)),
                driver=running.this_driver(),
            )


def _hold_against_spec(
    book: RunLedger, stored: runtime.StoredRun, given: Any, compile: Compile, course: Course, tell: Progress
) -> None:
    """Refuse to go on when the run's spec or this environment gives another program or link record now.

    With ``as_stored`` that is only told.  What cannot be compared is told, too.
    """
    view = stored.view
    now = None if _files_are_same(book, view) else _compiled_now(book, stored, given, compile, course, tell)
    program, pins, accelerators = now or (stored.program, stored.link.pins, stored.link.accelerators)
    if digest_bytes(program_bytes(program)) != view.blobs["program"]:
        amend = f"npac resume {view.run_id} --amend {shlex.quote(view.target)}"
        if course.as_stored:
            tell.note(
                f"{view.target} has changed since run {view.run_id} began, which goes on with the program "
                f"stored with it; to run what is there now: npac run {shlex.quote(view.target)}, or for the "
                f"rest of this run: {amend}"
            )
            return
        raise NpacError(
            f"{view.target} has changed since run {view.run_id} began, and gives another program now:\n"
            f"{_told(stored.program, program)[1].rstrip()}",
            remedy=f"Put the spec back as it was; or let the rest of the run follow it: {amend}; or go on "
            f"with the program that is stored: npac resume {view.run_id} --as-stored",
        )
    if not course.as_stored:
        _demand_link(stored, pins, accelerators)


def _demand_link(stored: runtime.StoredRun, pins: Mapping[str, str], accelerators: Mapping[str, str]) -> None:
    """Refuse when the run would be linked otherwise now, naming what differs."""
    was, run_id = stored.link, stored.view.run_id
    now = replace(
        was,
        pins=dict(pins),
        accelerators=dict(accelerators),
        endpoint_url=running.endpoint() or ("" if _on_s3(stored) else was.endpoint_url),
        # A variable that is not set says nothing: tasks get what is stored.
        source_uri=os.environ.get("NPA_SRC_S3_URI", "") or was.source_uri,
    )
    changed = [
        f"{word} ({_in_words(before)}, now {_in_words(after)})"
        for word, before, after in (
            ("pins", dict(was.pins), dict(now.pins)),
            ("accelerators", dict(was.accelerators), dict(now.accelerators)),
            ("the S3 endpoint", was.endpoint_url, now.endpoint_url),
            ("NPA_SRC_S3_URI", was.source_uri, now.source_uri),
        )
        if before != after
    ]
    if changed:
        raise NpacError(
            f"run {run_id} would be linked otherwise now than when it began: {'; '.join(changed)}",
            remedy=f"Set it as it was; or go on as it was linked then: npac resume {run_id} --as-stored",
        )


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        value = ", ".join(f"{key}={value[key]}" for key in sorted(value))
    return redacted(value) if value else "none"


def _on_s3(stored: runtime.StoredRun) -> bool:
    """Say whether the driver looks at anything in an S3 store, for which the endpoint matters."""
    return any(uri.startswith("s3://") for uri in running.looked_at(stored.program, stored.view.run_id))


def _files_are_same(book: RunLedger, view: RunView) -> bool:
    """Say whether all files that the program was made from are there as they were then.

    Then it is the same program, also for a later version of npac that would make another one of them.
    """
    folder = os.path.isdir(view.target)
    name = "manifest" if folder else "spec"
    if name not in view.blobs or not view.target or _file(view.target) != view.blobs[name]:
        return False
    inputs = _inputs(book, view)
    files: Mapping[str, str] = inputs["files"] if inputs else {}
    return all(running.digest_of(path) == digest for path, digest in files.items())


def _file(target: str) -> str:
    """Give the sha256 of a spec, or of a build's manifest; empty when it cannot be read."""
    from npac.build.manifest import FILE

    folder = os.path.isdir(target)
    path = os.path.join(target, FILE) if folder else target
    try:
        return digest_bytes(read_regular(Path(path), MAX_MANIFEST_BYTES if folder else MAX_SPEC_BYTES))
    except (OSError, ValueError):
        return ""


def _inputs(book: RunLedger, view: RunView) -> dict[str, Any]:
    """Give what the run's program was made from besides the spec; nothing where that is not on record."""
    if running.INPUTS not in view.blobs:
        return {}
    try:
        data = json.loads(book.get_blob(view.blobs[running.INPUTS]))
    except (ValueError, LedgerError):
        return {}
    return data if isinstance(data, dict) else {}


def _compiled_now(
    book: RunLedger, stored: runtime.StoredRun, given: Any, compile: Compile, course: Course, tell: Progress
) -> tuple[Program, Mapping[str, str], Mapping[str, str]] | None:
    """Make the run's program anew; None, which is told, where that cannot be done."""
    view = stored.view
    inputs = _inputs(book, view)
    folder = os.path.isdir(view.target)
    there = bool(view.target) and _file(view.target) != ""
    if not there or not (folder or inputs.get("whole")):
        tell.note(
            f"run {view.run_id} goes on with the program stored with it, which cannot be compared with "
            f"{view.target or 'its spec'}; a changed spec needs a new run, or --amend"
        )
        return None
    try:
        program, _, pins, accelerators = running.load_target(
            view.target, _options(inputs, given, folder=folder), compile
        )
    except NpacError as error:
        if course.as_stored:
            tell.note(f"{view.target} has changed since run {view.run_id} began, and gives no program now")
            return None
        raise NpacError(
            f"{view.target} has changed since run {view.run_id} began, and gives no program now: {error}",
            remedy=f"Put the spec back as it was, or mend it; or go on with the program that is stored: "
            f"npac resume {view.run_id} --as-stored",
        ) from error
    link = stored.link
    return (program, pins, accelerators) if folder else (program, link.pins, link.accelerators)


def _options(inputs: Mapping[str, Any], given: Any, *, folder: bool) -> Any:
    """Give the options that a program was compiled with, those that are ``given`` laid over them."""
    if folder:
        return given
    taken = {name: inputs[name] for name in ("allow_new_vars", "max_steps", "max_nodes") if name in inputs}
    return given._replace(
        vars=_over(inputs.get("vars", ()), given.vars),
        sets=_over(inputs.get("sets", ()), given.sets),
        config=(*inputs.get("config", ()), *given.config),
        catalogs=inputs.get("catalogs", ()),
        use_project=inputs.get("use_project", True),
        **taken,
    )


def _over(below: Any, above: Any) -> list[tuple[str, str]]:
    pairs = above.items() if isinstance(above, Mapping) else above
    return list({**dict(below), **dict(pairs)}.items())


def _told(old: Program, new: Program) -> tuple[list[dict[str, Any]], str]:
    """Give the differences between two programs by meaning, as data and as text."""
    from npac.build.diff import diff_programs
    from npac.build.diff_text import render

    changes = diff_programs(old, new)
    return [asdict(change) for change in changes], render(changes)


def _amendment(
    book: RunLedger,
    stored: runtime.StoredRun,
    target: str,
    given: Any,
    compile: Compile,
    secret: Mapping[str, str],
) -> runtime.Amend | None:
    """Give what the rest of the run is to follow; None when that is what it follows already.

    Raises :class:`NpacError` where it would be linked otherwise than the run.
    """
    running.demand_unexposed(secret, "", given)
    folder = os.path.isdir(target)
    options = _options(_inputs(book, stored.view), given, folder=folder)
    program, blobs, pins, accelerators = running.load_target(target, options, compile, whole=True)
    if folder:
        _demand_link(stored, pins, accelerators)
    else:
        _demand_link(stored, stored.link.pins, stored.link.accelerators)
    if digest_bytes(program_bytes(program)) == stored.view.blobs["program"]:
        return None
    changes, text = _told(stored.program, program)
    blobs[running.INPUTS] = running.inputs_bytes(target, options, secret.values())
    return runtime.Amend(program, blobs, running.shown_path(target, secret.values()), changes, text)


def _demand_possible(
    amend: runtime.Amend, stored: runtime.StoredRun, place: Any, values: Mapping[str, str]
) -> None:
    """Refuse an amended program that could not be run to its end, as a new run of it would be refused."""
    program, link, run_id = amend.program, stored.link, stored.view.run_id
    for what, data in (*amend.blobs.items(), ("program", program_bytes(program))) if values else ():
        demand_unexposed_text(values, f"the {what} that is stored with the run", data)
    link_program(program, link)
    running.demand_engine(program, place)
    running.demand_stores(program, run_id)
    demand_launchable(program, place, running.renderer(program, link), run_id, values)
