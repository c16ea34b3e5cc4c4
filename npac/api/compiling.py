"""Compiling specs: programs, previews of their documents, builds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npac.api.checking import (
    DEFAULTS,
    Options,
    PathLike,
    SpecError,
    overrides_of,
    settings_for,
    through,
)
from npac.checking import Checked, raw_name
from npac.diagnostics.diagnostic import Diagnostic
from npac.errors import NpacError

if TYPE_CHECKING:
    from npac.build.manifest import Manifest
    from npac.ir.linking import LinkRecord
    from npac.ir.program import Program


Tell = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and how much there is to do."""


class Compiled:
    """A compiled spec; ``catalog_digest`` is the sha256 (hex) of its catalogs."""

    __slots__ = ("_digest", "catalog_digest", "checked", "options", "overrides", "program")

    def __init__(
        self,
        program: Program,
        checked: Checked,
        overrides: Mapping[str, Any],
        catalog_digest: str,
        options: Options,
    ) -> None:
        self.program = program
        self.checked = checked
        self.overrides = overrides
        self.catalog_digest = catalog_digest
        self.options = options
        self._digest = ""

    @property
    def digest(self) -> str:
        """The program's sha256, in hex; of a large program it takes a while when it is first asked for."""
        if not self._digest:
            from npac.ir.canonical import digest

            self._digest = digest(self.program)
        return self._digest

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """Findings below error level."""
        return self.checked.findings


def compile(path: PathLike, options: Options = DEFAULTS, *, data: bytes | None = None) -> Compiled:
    """Compile one spec (or raw SkyPilot YAML) to a program.

    Raises :class:`SpecError` when the spec has errors and :class:`NpacError` for the outside world.
    """
    checked = through(path, options, data, "settle")
    program = program_of(path, checked)
    overrides = overrides_of(options).as_data()
    return Compiled(program, checked, overrides, _catalog_digest(options, checked, path), options)


def load(target: PathLike, options: Options = DEFAULTS) -> Program:
    """Give the program of a spec, a build folder or raw SkyPilot YAML.  Raises like :func:`compile`."""
    from npac import running

    return running.load_target(target, options, compile_target, whole=True)[0]


def build(
    compiled: Compiled, output: PathLike, *, run_id: str | None = None, tell: Tell | None = None
) -> Manifest:
    """Write a build of a compiled spec to the folder ``output`` and give its manifest.

    The folder is new, empty, or holds a build.  With ``run_id`` the build holds the linked, final
    documents; ``tell`` is told how far the work is.  Raises :class:`NpacError` when it
    cannot be linked or written; what was there before is then still whole.
    """
    from pathlib import Path

    from npac.backends.errors import BackendError
    from npac.build.bodies import silent
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
            tell=tell or silent,
        )
    except BuildError as error:
        raise NpacError(error.message, remedy=error.remedy) from error
    except (LinkError, BackendError) as error:
        raise _unlinkable(compiled, error) from error


def preview(
    compiled: Compiled, *, run_id: str | None = None, tell: Tell | None = None
) -> Sequence[tuple[str, str]]:
    """Give a title and the YAML text of each distinct document of a compiled spec.

    Values that are still open are shown as ``<name>``; with ``run_id`` the documents are linked.
    What cannot be shown is refused before the first text is given, and of many texts each is made
    again when it is asked for; ``tell`` is told how far the work is.
    """
    from npac.backends.errors import BackendError
    from npac.build.bodies import silent
    from npac.build.preview import preview as make
    from npac.ir.errors import LinkError

    options = compiled.options
    _demand_link_options(compiled)
    try:
        link = link_record(options, run_id) if run_id is not None else None
        return make(compiled.program, link, options, tell or silent)
    except (LinkError, BackendError) as error:
        raise _unlinkable(compiled, error) from error


def link_record(options: Options, run_id: str) -> LinkRecord:
    """Give the link record of a preview for ``run_id``: what the options say, and no uid."""
    from npac.ir.linking import LinkRecord

    return LinkRecord(
        valid_run_id(run_id),
        endpoint_url=options.endpoint_url,
        source_uri=options.source_uri,
        pins=dict(options.pins or {}),
        accelerators=dict(options.accelerators or {}),
    )


def valid_run_id(run_id: str) -> str:
    """Give a run id back that can be one.  Raises :class:`NpacError` for any other text."""
    from npac.ir.verifier import valid_name

    if not valid_name(run_id):
        raise NpacError(
            f"{run_id!r} cannot be a run id",
            remedy="Use 1 to 96 letters, digits, '.', '_' and '-', the first a letter or digit.",
        )
    return run_id


def program_of(path: PathLike, checked: Checked) -> Program:
    """Give the program that a check has come to.  Raises :class:`SpecError` when there is none."""
    if checked.raw and checked.sound:
        from npac.backends.skypilot.raw import program_from_yaml

        return program_from_yaml(checked.source.text, raw_name(os.fspath(path)))
    unit = checked.unit
    if not checked.sound or unit is None or unit.program is None:
        raise SpecError(f"{os.fspath(path)} has errors", checked)
    return unit.program


def compile_target(target: PathLike, options: Options) -> tuple[Program, bytes]:
    """Give the program and the bytes of what is to be run.  Raises like :func:`compile`."""
    compiled = compile(target, options)
    if compiled.checked.raw and (options.vars or options.sets or options.config):
        raise NpacError(
            f"{os.fspath(target)} is raw SkyPilot YAML, which has no config to override",
            remedy="Leave --var, --set and --config out, and edit the file.",
        )
    return compiled.program, compiled.checked.data


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


def _catalog_digest(options: Options, checked: Checked, path: PathLike) -> str:
    if checked.unit is not None:
        found = checked.unit.settings.catalog.digest
    else:
        found = settings_for(path, options)[0].catalog.digest
    return found.removeprefix("sha256:")
