"""The public Python API: check, compile, plan, run, status.

Everything that the command line does goes through these functions.  What a user can mend is raised
as :class:`NpacError` with a remedy; faults of a spec are values (:class:`Diagnostic`), except where
a function needs a sound spec and raises :class:`SpecError`, which holds them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from npac.checking import Checked, check_bytes, project_for, raw_name, read_bytes, settings_catalog
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.errors import NpacError
from npac.flow.flow import MAX_STEPS
from npac.flow.overrides import Overrides, split_pair
from npac.operations import (
    cancel,
    decide,
    events,
    fsck,
    holder,
    logs,
    restore,
    retry,
    runs,
    runs_place,
    verify,
    why,
)
from npac.pipeline import MAX_NODES, Settings
from npac.text.source import decode

if TYPE_CHECKING:
    from npac.build.manifest import Manifest
    from npac.ir.linking import LinkRecord
    from npac.ir.program import Node, Program
    from npac.project import Project
    from npac.runtime.options import RunOptions, RunResult
    from npac.runtime.progress import Progress
    from npac.runtime.view import RunView
    from npac.spectest.model import Case
    from npac.spectest.run import FileResult
    from npac.spectest.walking import Refused, Sound

__all__ = [
    "Checked",
    "Compiled",
    "Diagnostic",
    "NpacError",
    "Options",
    "Planned",
    "Severity",
    "SpecError",
    "build",
    "cancel",
    "check",
    "compile",
    "decide",
    "events",
    "fsck",
    "holder",
    "load",
    "logs",
    "plan",
    "planned",
    "preview",
    "restore",
    "resume",
    "retry",
    "run",
    "runs",
    "runs_place",
    "status",
    "test",
    "verify",
    "why",
]

PathLike = str | os.PathLike[str]


class SpecError(NpacError):
    """A spec has errors; ``checked`` holds the findings."""

    def __init__(self, message: str, checked: Checked) -> None:
        super().__init__(message, remedy="")
        self.checked = checked


class Options(NamedTuple):
    """What a compilation depends on besides the spec: overrides, catalogs, bounds, link options.

    ``vars`` and ``sets`` map config keys to values; ``config`` names overlay files.  ``pins`` maps
    an image as written to a digest reference, ``accelerators`` one accelerator to another; both
    take effect when a program is linked.
    """

    vars: Mapping[str, str] | Sequence[tuple[str, str]] = ()
    sets: Mapping[str, str] | Sequence[tuple[str, str]] = ()
    config: Sequence[PathLike] = ()
    catalogs: Sequence[PathLike] = ()
    allow_new_vars: bool = False
    max_steps: int = MAX_STEPS
    max_nodes: int = MAX_NODES
    pins: Mapping[str, str] | None = None
    accelerators: Mapping[str, str] | None = None
    select: Sequence[str] = ()
    """Codes, or beginnings of codes, that are reported; empty for all.  Goes before the project's."""
    ignore: Sequence[str] = ()
    """Codes that are not reported, besides those that the project ignores."""
    use_project: bool = True
    """Look for ``npac.toml`` or ``[tool.npac]`` from the spec's folder upwards."""


DEFAULTS = Options()
"""Nothing overridden, nothing added."""


class Compiled(NamedTuple):
    """A compiled spec.

    ``digest`` is the program's sha256 in hex, ``catalog_digest`` that of its catalogs.
    """

    program: Program
    digest: str
    checked: Checked
    overrides: Mapping[str, Any]
    catalog_digest: str
    options: Options

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """Findings below error level."""
        return self.checked.findings


class Planned(NamedTuple):
    """A spec's program, and the path that was chosen through it.

    ``assume`` is the assumption as it was understood.  ``path`` are the nodes walked, from the entry
    to the end; None when no decision was assumed, which means the whole program.
    """

    program: Program
    checked: Checked
    run_id: str
    assume: str = ""
    path: tuple[Node, ...] | None = None

    def as_data(self) -> dict[str, Any]:
        """Give the plan as data: ``steps`` and ``waves`` of the path, else ``nodes`` and ``edges``."""
        from npac.ir.canonical import digest
        from npac.ir.plan import graph_data, plan_data

        late = {"run.id": self.run_id}
        answer = {
            "workflow": self.program.workflow,
            "run_id": self.run_id,
            "assume": self.assume,
            "digest": digest(self.program),
        }
        if self.path is None:
            return {**answer, **graph_data(self.program, late)}
        return {**answer, **plan_data(self.program, self.path, late)}


def check(path: PathLike, options: Options = DEFAULTS, *, data: bytes | None = None) -> Checked:
    """Check one spec and give its findings.

    ``data`` are the spec's bytes when they are not to be read from ``path``.  Raises
    :class:`NpacError` for a file, a catalog or an overlay that cannot be read; never for what is in
    the spec.
    """
    return _through(path, options, data, "check")


def compile(path: PathLike, options: Options = DEFAULTS, *, data: bytes | None = None) -> Compiled:
    """Compile one spec (or raw SkyPilot YAML) to a program.

    Raises :class:`SpecError` when the spec has errors and :class:`NpacError` for the outside world.
    """
    from npac.ir.canonical import digest

    checked = _through(path, options, data, "settle")
    program = _program(path, checked)
    overrides = _overrides(options).as_data()
    return Compiled(
        program, digest(program), checked, overrides, _catalog_digest(options, checked, path), options
    )


def build(compiled: Compiled, output: PathLike, *, run_id: str | None = None) -> Manifest:
    """Write a build of a compiled spec to the folder ``output`` and give its manifest.

    With ``run_id`` the build holds the linked, final documents.  Raises :class:`NpacError` when it
    cannot be linked or written; what was there before is then still whole.
    """
    from pathlib import Path

    from npac.backends.errors import BackendError
    from npac.build.errors import BuildError
    from npac.build.writer import write_build
    from npac.ir.errors import LinkError

    options = compiled.options
    link = link_record(options, run_id) if run_id is not None else None
    _demand_link_options(compiled)
    try:
        return write_build(
            Path(output),
            compiled.program,
            spec_bytes=compiled.checked.data,
            catalog_digest=compiled.catalog_digest,
            overrides={name: value for name, value in compiled.overrides.items() if value},
            options={"allow_new_vars": True} if options.allow_new_vars else {},
            link=link,
            pins=options.pins,
            accelerators=options.accelerators,
        )
    except BuildError as error:
        raise NpacError(error.message, remedy=error.remedy) from error
    except (LinkError, BackendError) as error:
        raise _unlinkable(compiled, error) from error


def preview(compiled: Compiled, *, run_id: str | None = None) -> list[tuple[str, str]]:
    """Give a title and the YAML text of each distinct document of a compiled spec.

    Values that are still open are shown as ``<name>``; with ``run_id`` the documents are linked.
    """
    from npac.backends.errors import BackendError
    from npac.build.preview import preview as make
    from npac.ir.errors import LinkError

    options = compiled.options
    _demand_link_options(compiled)
    try:
        return make(compiled.program, link_record(options, run_id) if run_id is not None else None, options)
    except (LinkError, BackendError) as error:
        raise _unlinkable(compiled, error) from error


def _demand_link_options(compiled: Compiled) -> None:
    """Refuse pins and remaps that no run could be linked with, also where no run id is known yet."""
    from npac.ir.errors import LinkError
    from npac.ir.linking import link_program

    options = compiled.options
    if options.pins or options.accelerators:
        try:
            link_program(compiled.program, link_record(options, "run"))
        except LinkError as error:
            raise _unlinkable(compiled, error) from error


def _unlinkable(compiled: Compiled, error: Exception) -> NpacError:
    path = compiled.checked.source.path
    return NpacError(f"{path} gives no documents: {error}", remedy="Mend the value that it names.")


def link_record(options: Options, run_id: str) -> LinkRecord:
    """Give the link record of a preview for ``run_id``: what the options say, and no uid."""
    from npac.ir.linking import LinkRecord

    return LinkRecord(
        _valid_run_id(run_id), pins=dict(options.pins or {}), accelerators=dict(options.accelerators or {})
    )


def plan(
    path: PathLike,
    options: Options = DEFAULTS,
    *,
    run_id: str = "RUN-ID",
    assume: str | None = None,
    decide: Mapping[str, Sequence[str]] | None = None,
    data: bytes | None = None,
) -> dict[str, Any]:
    """Plan a spec: the steps and waves of one path, or the whole program.

    ``assume`` is ``promote_checkpoint``, ``loop_back`` or ``default``; ``decide`` maps a gate (its
    state, or its id) to the decisions that it gives, visit by visit, the last one repeated.  Without
    either the whole program is given as ``nodes`` and ``edges``.  Raises like :func:`compile`, but
    operator inputs may be empty.
    """
    return planned(path, options, run_id=run_id, assume=assume, decide=decide, data=data).as_data()


def planned(
    path: PathLike,
    options: Options = DEFAULTS,
    *,
    run_id: str = "RUN-ID",
    assume: str | None = None,
    decide: Mapping[str, Sequence[str]] | None = None,
    data: bytes | None = None,
) -> Planned:
    """Plan like :func:`plan`, and give the program and the chosen nodes themselves."""
    from npac.ir.walk import walk

    checked = _through(path, options, data, "lower")
    program = _program(path, checked)
    _valid_run_id(run_id)
    if assume is None and not decide:
        return Planned(program, checked, run_id)
    assumption = _assumption(program, assume)
    nodes = walk(program, _decider(program, assumption, decide or {}))
    return Planned(program, checked, run_id, assumption, tuple(nodes))


def test(path: PathLike, *, select: Sequence[str] = ()) -> FileResult:
    """Run the cases of one test file (``x.test.yaml``) and give how each ended.

    ``select`` keeps the cases whose ``path::name`` holds each of its texts.  Raises
    :class:`NpacError` when the file cannot be read.
    """
    from npac.spectest.run import run_file

    return run_file(os.fspath(path), _compile_case, select)


def _compile_case(spec: str, case: Case) -> Sound | Refused:
    from npac.spectest.walking import Sound, refused

    options = Options(
        vars=case.vars,
        sets=case.sets,
        config=case.config,
        catalogs=case.catalogs,
        allow_new_vars=case.allow_new_vars,
        pins=dict(case.pins),
        accelerators=dict(case.accelerators),
    )
    try:
        compiled = compile(spec, options)
    except SpecError as error:
        return refused(error.checked)
    return Sound(compiled.program, compiled.checked, link_record(options, case.run_id))


def run(
    target: PathLike,
    options: Options = DEFAULTS,
    *,
    run_id: str | None = None,
    run_options: RunOptions | None = None,
    engine: str = "local",
    engine_options: Mapping[str, Any] | None = None,
    ledger: str | None = None,
    secrets: Sequence[str] = (),
    progress: Progress | None = None,
    handle_signals: bool = False,
) -> RunResult:
    """Run a spec, a build folder or raw SkyPilot YAML to its end, and give how it ended.

    ``secrets`` are names of environment variables whose values the tasks get.  ``ledger`` is a
    folder or URL for run ledgers.  Raises :class:`NpacError` (or :class:`SpecError`) when the run is
    refused before anything is launched.
    """
    from npac import running

    return running.run(
        target,
        options,
        compile=_compile_target,
        run_id=run_id,
        run_options=run_options,
        engine=engine,
        engine_options=engine_options or {},
        ledger=ledger,
        secrets=secrets,
        progress=progress,
        handle_signals=handle_signals,
    )


def load(target: PathLike, options: Options = DEFAULTS) -> Program:
    """Give the program of a spec, a build folder or raw SkyPilot YAML.  Raises like :func:`compile`."""
    from npac import running

    return running.load_target(target, options, _compile_target)[0]


def _compile_target(target: PathLike, options: Options) -> tuple[Program, bytes]:
    compiled = compile(target, options)
    return compiled.program, compiled.checked.data


def resume(
    run_id: str,
    *,
    run_options: RunOptions | None = None,
    engine_options: Mapping[str, Any] | None = None,
    ledger: str | None = None,
    secrets: Sequence[str] = (),
    progress: Progress | None = None,
    handle_signals: bool = False,
) -> RunResult:
    """Go on with a run from where its log says it is.  Raises :class:`NpacError` when it is refused."""
    from npac import running

    return running.resume(
        run_id,
        run_options=run_options,
        engine_options=engine_options or {},
        ledger=ledger,
        secrets=secrets,
        progress=progress,
        handle_signals=handle_signals,
    )


def status(run_id: str, *, ledger: str | None = None) -> RunView:
    """Give what a run's log says.  Raises :class:`NpacError` when it cannot be read."""
    from npac import running

    return running.status(run_id, ledger=ledger)


def settings_for(path: PathLike, options: Options) -> tuple[Settings, Project | None, list[Diagnostic]]:
    """Give the settings for one spec, its project, and what is wrong with the project's file."""
    project, problems = project_for(os.fspath(path)) if options.use_project else (None, [])
    catalogs = [*(project.catalogs if project is not None else ()), *options.catalogs]
    settings = Settings(
        settings_catalog(catalogs),
        _overrides(options),
        options.max_steps,
        options.max_nodes,
        options.pins or {},
    )
    return settings, project, problems


def _through(path: PathLike, options: Options, data: bytes | None, until: str) -> Checked:
    name = os.fspath(path)
    content = read_bytes(name) if data is None else data
    settings, project, problems = settings_for(name, options)
    if options.select or options.ignore:
        import dataclasses
        from pathlib import Path

        from npac.project import Project

        base = project if project is not None else Project(Path.cwd())
        select = tuple(options.select) or base.select
        project = dataclasses.replace(base, select=select, ignore=(*base.ignore, *options.ignore))
    checked = check_bytes(name, content, settings, project=project, until=until)
    checked.findings[:0] = problems
    return checked


def _program(path: PathLike, checked: Checked) -> Program:
    if checked.raw and checked.sound:
        from npac.backends.skypilot.raw import program_from_yaml

        return program_from_yaml(checked.source.text, raw_name(os.fspath(path)))
    unit = checked.unit
    if not checked.sound or unit is None or unit.program is None:
        raise SpecError(f"{os.fspath(path)} has errors", checked)
    return unit.program


def _catalog_digest(options: Options, checked: Checked, path: PathLike) -> str:
    if checked.unit is not None:
        found = checked.unit.settings.catalog.digest
    else:
        found = settings_for(path, options)[0].catalog.digest
    return found.removeprefix("sha256:")


def _pairs(given: Mapping[str, str] | Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    items = given.items() if isinstance(given, Mapping) else given
    return tuple((str(key), str(value)) for key, value in items)


def _overrides(options: Options) -> Overrides:
    files = []
    for path in options.config:
        source, bad = decode(os.fspath(path), read_bytes(os.fspath(path)))
        if bad is not None:
            raise NpacError(f"{os.fspath(path)} is no UTF-8 text", remedy="Save it as UTF-8.")
        files.append(source)
    return Overrides(tuple(files), _pairs(options.sets), _pairs(options.vars), options.allow_new_vars)


def parse_pair(text: str, option: str) -> tuple[str, str]:
    """Split ``KEY=VALUE`` of an option.  Raises :class:`NpacError`."""
    pair = split_pair(text)
    if pair is None:
        raise NpacError(f"{option} {text!r} is not KEY=VALUE", remedy=f"Write {option} key=value.")
    return pair


def _valid_run_id(run_id: str) -> str:
    from npac.ir.verifier import valid_name

    if not valid_name(run_id):
        raise NpacError(
            f"{run_id!r} cannot be a run id",
            remedy="Use 1 to 96 letters, digits, '.', '_' and '-', the first a letter or digit.",
        )
    return run_id


_ALIASES = {
    "promote": "promote_checkpoint",
    "promote_checkpoint": "promote_checkpoint",
    "loop_back": "loop_back",
    "loop_back_to_inner_loop": "loop_back",
}


def _assumption(program: Program, assume: str | None) -> str:
    if assume is None or assume == "default":
        return program.default_assumption
    if assume not in _ALIASES:
        raise NpacError(
            f"{assume!r} is no decision", remedy="Assume promote_checkpoint, loop_back or default."
        )
    return _ALIASES[assume]


def _decider(program: Program, assumption: str, decide: Mapping[str, Sequence[str]]) -> Any:
    from npac.ir.program import Gate
    from npac.ir.walk import assume as assume_all

    gates = program.gates()
    known = (
        {gate.state for gate in gates} | {gate.id for gate in gates} | {f"{g.state}@{g.role}" for g in gates}
    )
    for name, decisions in decide.items():
        if name not in known:
            states = ", ".join(sorted({gate.state for gate in gates})) or "none"
            raise NpacError(f"the program has no gate {name!r}", remedy=f"Its gates: {states}.")
        for decision in decisions:
            if decision not in _ALIASES:
                raise NpacError(
                    f"{decision!r} is no decision", remedy="Write promote_checkpoint or loop_back."
                )
    visits: dict[str, int] = {}
    rest = assume_all(assumption)

    def answer(gate: Gate) -> str:
        for name in (gate.id, f"{gate.state}@{gate.role}", gate.state):
            decisions = decide.get(name)
            if decisions:
                at = visits.get(name, 0)
                visits[name] = at + 1
                return _ALIASES[decisions[min(at, len(decisions) - 1)]]
        return rest(gate)

    return answer
