"""Runs: a target compiled and linked, an engine and a ledger chosen, and the driver let go.

This is where the runtime, which knows no back end, and the SkyPilot back end meet.
"""

from __future__ import annotations

import datetime
import functools
import json
import os
import re
import secrets as random_secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from npac.backends.errors import BackendError
from npac.backends.skypilot import documents
from npac.diagnostics.credentials import redacted
from npac.errors import NpacError
from npac.ir.canonical import digest_bytes, program_bytes
from npac.ir.errors import LinkError
from npac.ir.linking import LinkRecord, link_program
from npac.ir.program import Gate, Program, Wave
from npac.ir.values import link as fill
from npac.ir.verifier import valid_name
from npac.launch.ports import Engine, EngineError
from npac.ledger.ports import LedgerError, NoSuchRun, Root, RunLedger, StoreError
from npac.ledger.root import default_root
from npac.ledger.roots import root_for
from npac.ledger.stores import demand_usable, store_for
from npac.reading import MAX_SPEC_BYTES, read_regular
from npac.runtime import api as runtime
from npac.runtime.exposure import demand_unexposed_id, demand_unexposed_options, demand_unexposed_text
from npac.runtime.options import RunOptions, RunResult
from npac.runtime.precheck import demand_launchable
from npac.runtime.progress import Progress, Silent
from npac.runtime.signals import NoInterrupts, caught
from npac.runtime.view import RunView

MAX_RUN_ID = 96
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

PathLike = str | os.PathLike[str]
Compile = Callable[[PathLike, Any], tuple[Program, bytes]]
"""Compiles a spec with the caller's options: gives its program and its bytes."""


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what the layers below raise into the API's own exception."""
    try:
        yield
    except runtime.Refused as error:
        raise NpacError(str(error), remedy=_sentence(error.remedy)) from error
    except LedgerError as error:
        raise NpacError(f"the run's ledger: {error}", remedy=_sentence(error.remedy)) from error
    except EngineError as error:
        raise NpacError(f"the engine: {error}", remedy=_sentence(error.remedy)) from error
    except (LinkError, BackendError) as error:
        raise NpacError(f"the program gives no documents: {error}") from error


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] if text and not text.startswith("npac") else text


def ledger_root(url: str | None, *, single_writer: bool = False) -> Root:
    """Give the root of run ledgers: the one named, else ``runs`` in npac's state folder.

    ``single_writer`` allows new runs on a store that cannot keep two drivers apart.
    """
    with plain_errors():
        return root_for(url or str(default_root() / "runs"), single_writer=single_writer)


def open_ledger(run_id: str, url: str | None) -> RunLedger:
    """Open the ledger of a run.  Raises :class:`NpacError` when there is none."""
    root = ledger_root(url)
    with plain_errors():
        try:
            return root.open(run_id)
        except NoSuchRun as error:
            raise NpacError(
                f"{error}, so nothing of it was begun",
                remedy="If its npac run was ended in its first moments, give that same command again; "
                "else `npac runs` lists the runs there: check the run id and the ledger root.",
            ) from error


def local_root() -> Path:
    """Give the folder that the local engine keeps its state in unless told otherwise."""
    with plain_errors():
        return default_root() / "engines" / "local"


def make_engine(name: str, options: Mapping[str, Any], *, start: bool = False) -> Engine:
    """Make an engine; the local one keeps its state in npac's own folder unless told otherwise.

    ``start`` says that jobs are to be launched, so that what an engine needs for it may be started.
    """
    from npac import engines

    given = dict(options)
    if name == "skypilot":
        given.setdefault("bin", _project_skypilot())
        given["start"] = start
    with plain_errors():
        if name == "local":
            given.setdefault("root", local_root())
            given["root"] = Path(given["root"])
        return engines.create(name, given)


def _project_skypilot() -> Path | None:
    """Give the SkyPilot command that the project of the working directory names."""
    from npac.checking import demand_sound
    from npac.project import discover

    project, problems = discover(os.curdir)
    demand_sound(problems)
    return project.skypilot_bin


def new_run_id(workflow: str) -> str:
    """Make a run id from the workflow's name, the time (UTC) and four random hex digits."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d-%H%M%S")
    tail = f"-{stamp}-{random_secrets.token_hex(2)}"
    return workflow[: MAX_RUN_ID - len(tail)] + tail


def run(
    target: PathLike,
    options: Any,
    *,
    compile: Compile,
    run_id: str | None,
    run_options: RunOptions | None,
    engine: str,
    engine_options: Mapping[str, Any],
    ledger: str | None,
    single_writer: bool,
    secrets: Sequence[str],
    progress: Progress | None,
    handle_signals: bool,
) -> RunResult:
    """Run a spec, a build or raw SkyPilot YAML; see :func:`npac.api.run`."""
    values = secret_values(secrets)
    demand_unexposed(values, run_id or "", options)
    if Path(target).is_dir() and (options.vars or options.sets or options.config):
        raise NpacError(
            f"{os.fspath(target)} is a build, whose config values were settled when it was compiled",
            remedy="Leave --var, --set and --config out, or run the spec with them.",
        )
    program, blobs, pins, accelerators = load_target(target, options, compile, whole=True)
    blobs[INPUTS] = inputs_bytes(target, options, values.values())
    with plain_errors():
        for what, data in (*blobs.items(), ("program", program_bytes(program))) if values else ():
            demand_unexposed_text(values, f"the {what} that is stored with the run", data)
    name = new_run_id(program.workflow or "run") if run_id is None else run_id
    if not valid_name(name):
        raise NpacError(
            f"{name!r} cannot be a run id",
            remedy="Use 1 to 96 letters, digits, '.', '_' and '-', the first a letter or digit.",
        )
    other = _linked_for(target, blobs)
    if progress is not None and other not in ("", name):
        progress.note(f"the build holds the documents of run {other}: its program is linked anew for {name}")
    link = LinkRecord(
        name,
        run_uid=random_secrets.token_hex(16),
        endpoint_url=endpoint(),
        source_uri=os.environ.get("NPA_SRC_S3_URI", ""),
        pins=pins,
        accelerators=accelerators,
    )
    with plain_errors():
        link_program(program, link)
    place = make_engine(engine, engine_options, start=True)
    demand_engine(program, place)
    demand_stores(program, name)
    with plain_errors():
        demand_launchable(program, place, renderer(program, link), name, values)
    root = ledger_root(ledger, single_writer=single_writer)
    tell = progress or Silent()
    with plain_errors():
        taken_up = root.open(name) if root.holds(name) else None
        if taken_up is not None:
            # A driver that ended before anything was on record leaves its run's id free.
            runtime.demand_unbegun(taken_up)
        others = functools.cache(lambda: other_ledgers(root, name))
        with interrupted(handle_signals) as interrupts:
            world = runtime.World(
                place,
                store_for,
                renderer(program, link),
                secrets=values,
                progress=tell,
                interrupts=interrupts,
            )
            # Asked before the ledger is made: a run that is refused leaves its id free.
            runtime.admit(world, program, link, run_options, others)
            book = taken_up or root.create(name)
            caution(root, name, tell)
            return runtime.start_run(
                book,
                world,
                program,
                link,
                run_options,
                blobs=blobs,
                others=others,
                driver=this_driver(),
                target=shown_path(target, values.values()),
            )


INPUTS = "inputs"
"""Name of the blob that says what a run's program was made from, besides the spec."""


def inputs_bytes(target: PathLike, options: Any, secret: Iterable[str] = ()) -> bytes:
    """Give what a program was made from, so that it can be made again: options, and digests of files.

    A path that must not be put on record (see :func:`shown_path`) is left out, and nothing can be made
    again then.
    """
    files = [*options.config, *options.catalogs, *_project_catalogs(target)]
    named = [(shown_path(path, secret), path) for path in files]
    data = {
        "schema": "npac.inputs/v1",
        "vars": _pairs(options.vars),
        "sets": _pairs(options.sets),
        "config": [shown_path(path, secret) for path in options.config],
        "catalogs": [shown_path(path, secret) for path in options.catalogs],
        "allow_new_vars": bool(options.allow_new_vars),
        "max_steps": options.max_steps,
        "max_nodes": options.max_nodes,
        "use_project": bool(options.use_project),
        "files": {name: digest_of(path) for name, path in named if name},
        "whole": all(name for name, _ in named),
    }
    return json.dumps(data, sort_keys=True).encode()


def digest_of(path: PathLike) -> str:
    """Give the sha256 of a file that a compilation reads; empty when it cannot be read."""
    try:
        return digest_bytes(read_regular(Path(path), MAX_SPEC_BYTES))
    except OSError:
        return ""


def _pairs(given: Any) -> list[list[str]]:
    return [[str(key), str(value)] for key, value in (given.items() if isinstance(given, Mapping) else given)]


def _project_catalogs(target: PathLike) -> tuple[PathLike, ...]:
    """Give the catalogs that the project of a spec names; a build has its tools in it."""
    from npac.checking import project_for

    if Path(target).is_dir():
        return ()
    project, _ = project_for(os.fspath(target))
    return tuple(project.catalogs) if project is not None else ()


def shown_path(target: PathLike, secret: Iterable[str]) -> str:
    """Give the whole path of what is run, as it is put on record.

    Empty for one that is no text, looks like a credential, or holds one of the ``secret`` values.
    """
    path = os.path.abspath(target)
    try:
        path.encode()
    except UnicodeEncodeError:
        return ""
    return "" if redacted(path) != path or any(value in path for value in secret) else path


def caution(root: Root, run_id: str, tell: Progress) -> None:
    """Tell whoever drives a run what they have to see to by themselves."""
    said = root.caution(run_id)
    if said:
        tell.note(f"warning: {said}")


def other_ledgers(root: Root, run_id: str) -> list[RunLedger]:
    """Open the ledgers of all other runs.  Raises :class:`runtime.Refused` that names one that cannot be."""
    found: list[RunLedger] = []
    for other in root.runs():
        if other != run_id:
            try:
                found.append(root.open(other))
            except LedgerError as error:
                raise runtime.unknown_outputs(other, error) from error
    return found


def status(run_id: str, *, ledger: str | None) -> RunView:
    """Give what a run's log says; see :func:`npac.api.status`."""
    with plain_errors():
        return runtime.run_view(open_ledger(run_id, ledger))


def damage(run_id: str, *, ledger: str | None) -> list[tuple[str, str]]:
    """Give what an unfinished run needs to go on and has lost; see :func:`npac.operations.damage`."""
    with plain_errors():
        book = open_ledger(run_id, ledger)
        return runtime.damage(book, runtime.run_view(book))


def load_target(
    target: PathLike, options: Any, compile: Compile, *, whole: bool = False
) -> tuple[Program, dict[str, bytes], dict[str, str], dict[str, str]]:
    """Give the program of a spec or a build, what is stored with its run, pins and accelerator remaps.

    With ``whole``, a build must be in every file what was compiled.  Raises :class:`NpacError`.
    """
    path = Path(target)
    pins = dict(options.pins or {})
    accelerators = dict(options.accelerators or {})
    if path.is_dir():
        from npac.build.errors import BuildError
        from npac.build.manifest import FILE
        from npac.build.reader import read_build, read_link, read_spec

        try:
            if whole:
                _demand_whole(path)
            manifest, program = read_build(path)
            spec = read_spec(path, manifest)
            link = read_link(path, manifest)
            blobs = {"spec": spec, "manifest": (path / FILE).read_bytes()}
        except BuildError as error:
            raise NpacError(error.message, remedy=error.remedy) from error
        except OSError as error:
            raise NpacError(f"{path} cannot be read: {error.strerror}", remedy="Compile again.") from error
        if link is not None:
            pins = {**link.pins, **pins}
            accelerators = {**link.accelerators, **accelerators}
        pins = {**manifest.options.get("pins", {}), **pins}
        accelerators = {**manifest.options.get("accelerators", {}), **accelerators}
        return program, blobs, pins, accelerators
    program, spec = compile(target, options)
    return program, {"spec": spec}, pins, accelerators


def _linked_for(target: PathLike, blobs: Mapping[str, bytes]) -> str:
    """Give the run id that a build was linked for; empty for a build without one, and for a spec."""
    if "manifest" not in blobs:
        return ""
    from npac.build.errors import BuildError
    from npac.build.manifest import manifest_from_bytes
    from npac.build.reader import read_link

    with suppress(BuildError):  # it was whole a moment ago; what becomes of it now is no matter to the run
        link = read_link(Path(target), manifest_from_bytes(blobs["manifest"]))
        return link.run_id if link is not None else ""
    return ""


def _demand_whole(path: Path) -> None:
    """Refuse a build of which a file was changed, is lacking or is extra, as ``npac verify`` does."""
    from npac.build.manifest import FILE
    from npac.build.verify import verify_build

    if not (path / FILE).exists():
        return
    problems = verify_build(path)
    if problems:
        more = f" (and {len(problems) - 3} more)" if len(problems) > 3 else ""
        raise NpacError(
            f"{path} is not what was compiled: "
            f"{'; '.join(each.message.rstrip('.') for each in problems[:3])}{more}",
            remedy=f"Compile again, or run the spec itself; npac verify {path} shows every such file.",
        )


def demand_stores(program: Program, run_id: str) -> None:
    """Refuse URIs that the run would read or prove and that no store here can ever look at."""
    for uri in sorted(looked_at(program, run_id)):
        try:
            demand_usable(uri)
        except StoreError as error:
            raise NpacError(f"{uri} cannot be looked at: {error}", remedy=error.remedy) from error


def looked_at(program: Program, run_id: str) -> set[str]:
    """Give all URIs that the driver of a run looks at: outputs, decisions, and what triggers wait for."""
    late = {"run.id": run_id}
    uris = {uri for uri, _ in runtime.written_by(program, run_id)}
    for node in program.nodes:
        if isinstance(node, Gate):
            uris.add(fill(node.uri, late))
        elif isinstance(node, Wave):
            uris.update(fill(trigger.uri, late) for trigger in node.triggers)
    return uris


def secret_values(names: Sequence[str], *, missing_ok: bool = False) -> dict[str, str]:
    """Give the values of secrets from the environment.  Raises :class:`NpacError` listing all that lack."""
    _demand_names(names)
    missing = [name for name in names if not os.environ.get(name)]
    if missing and not missing_ok:
        raise NpacError(
            f"no value is set for the secrets {', '.join(missing)}",
            remedy="Export them in the environment; --secret-env takes names, never values.",
        )
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def demand_unexposed(values: Mapping[str, str], run_id: str, options: Any) -> None:
    """Refuse secrets' values in what is given besides the target, before anything of it is shown."""
    given = {"--var": options.vars, "--set": options.sets, "--pin": options.pins or {}}
    given["--accelerator"] = options.accelerators or {}
    pairs = {name: each.items() if isinstance(each, Mapping) else each for name, each in given.items()}
    with plain_errors():
        demand_unexposed_id(values, run_id)
        demand_unexposed_options(values, pairs.items())
        for path in options.config if values else ():
            with suppress(OSError):  # A file that cannot be read is refused where it is used.
                data = read_regular(Path(path), MAX_SPEC_BYTES)
                demand_unexposed_text(values, f"the config file {os.fspath(path)}", data)


def _demand_names(names: Sequence[str]) -> None:
    """Refuse what is no name of an environment variable, and may be a secret's value: it is not shown."""
    for text in names:
        if _VARIABLE.fullmatch(text):
            continue
        name, _, value = text.partition("=")
        # text that only ends in equals signs is more likely a value (base64 ends so) than a name
        shown = _VARIABLE.fullmatch(name) and value.strip("=") and redacted(name) == name
        said = f"the secret {name} was given with a value" if shown else "a secret was given by no name"
        raise NpacError(
            f"{said}, and only names of environment variables are taken",
            remedy=f"Export the value, and name the variable: --secret-env {name if shown else 'NAME'}.",
        )


def renderer(program: Program, link: LinkRecord) -> runtime.Render:
    """Give what makes the documents of launches of a program."""

    def render(
        wave: Wave, members: tuple[int, ...], values: runtime.LaunchValues
    ) -> Sequence[Mapping[str, Any]]:
        posted = replace(wave, batches=(members,))
        trees = documents.unlinked(program, posted, 0)
        launch = documents.LaunchValues(
            attempt=values.attempt, fence=values.number, launch_id=values.launch_id, number=values.number
        )
        return documents.link_documents(trees, link, launch)

    return render


def demand_engine(program: Program, engine: Engine) -> None:
    """Refuse, before anything is written, what the engine cannot run."""
    with plain_errors():
        capabilities = engine.capabilities()
    if capabilities.limits.get("pretend"):
        return
    needs = []
    if not capabilities.images:
        needs += [f"{step.state} asks for the image {step.image}" for step in program.steps if step.image]
    if not capabilities.accelerators:
        needs += [
            f"{step.state} asks for {step.profile['accelerators']}"
            for step in program.steps
            if step.profile.get("accelerators")
        ]
    if needs:
        more = f" (and {len(needs) - 3} more)" if len(needs) > 3 else ""
        raise NpacError(
            f"the engine {capabilities.name} runs plain processes on this machine: "
            f"{'; '.join(needs[:3])}{more}",
            remedy="Use an engine that has them, or --pretend to run the commands without.",
        )


def endpoint() -> str:
    """Give the S3 endpoint that this environment names; empty for none."""
    return os.environ.get("AWS_ENDPOINT_URL_S3", "") or os.environ.get("AWS_ENDPOINT_URL", "")


def this_driver() -> dict[str, Any]:
    """Give what a driver says of itself."""
    from npac._version import __version__

    return {"npac": __version__}


@contextmanager
def interrupted(handle: bool) -> Iterator[Any]:
    """Give what tells a driver of signals, which it is told of only with ``handle``."""
    if not handle:
        yield NoInterrupts()
        return
    with caught() as interrupts:
        yield interrupts
