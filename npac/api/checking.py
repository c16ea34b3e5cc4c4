"""Checking specs: what a compilation depends on, findings, and the fixes that come with them.

Every check of an editor or a hook imports this module, so it imports nothing that a check has no use for.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from npac.checking import Checked, check_bytes, project_for, read_bytes, settings_catalog
from npac.diagnostics.codes import BY_NAME, CODES
from npac.diagnostics.diagnostic import Diagnostic
from npac.errors import NpacError
from npac.flow.flow import MAX_STEPS
from npac.flow.overrides import Overrides, split_pair
from npac.pipeline import MAX_NODES, Settings
from npac.text.source import decode

if TYPE_CHECKING:
    from npac.project import Project

PathLike = str | os.PathLike[str]
Pairs = Mapping[str, str] | Sequence[tuple[str, str]]


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

    vars: Pairs = ()
    sets: Pairs = ()
    config: Sequence[PathLike] = ()
    catalogs: Sequence[PathLike] = ()
    allow_new_vars: bool = False
    max_steps: int = MAX_STEPS
    max_nodes: int = MAX_NODES
    pins: Mapping[str, str] | None = None
    accelerators: Mapping[str, str] | None = None
    select: Sequence[str] = ()
    """Codes, beginnings or names of codes, that are reported; empty for all.  Goes before the project's."""
    ignore: Sequence[str] = ()
    """Codes that are not reported, besides those that the project ignores."""
    endpoint_url: str = ""
    """The S3 endpoint of tasks, for documents that are linked; a run takes it from its environment."""
    source_uri: str = ""
    """Where the source of tasks is, for documents that are linked; likewise."""
    use_project: bool = True
    """Look for ``npac.toml`` or ``[tool.npac]`` from the spec's folder upwards."""


DEFAULTS = Options()
"""Nothing overridden, nothing added."""


def check(path: PathLike, options: Options = DEFAULTS, *, data: bytes | None = None) -> Checked:
    """Check one spec and give its findings.

    ``data`` are the spec's bytes when they are not to be read from ``path``.  Raises
    :class:`NpacError` for a file, a catalog, an overlay or a project's configuration that cannot be
    read; never for what is in the spec.
    """
    return through(path, options, data, "check")


def through(path: PathLike, options: Options, data: bytes | None, until: str) -> Checked:
    """Take a spec through the compiler's passes up to ``until``; as :func:`check` otherwise."""
    name = os.fspath(path)
    content = read_bytes(name) if data is None else data
    settings, project, problems = settings_for(name, options)
    given = project
    if options.select or options.ignore:
        import dataclasses
        from pathlib import Path

        from npac.project import Project

        base = project if project is not None else Project(Path.cwd())
        select = selectors(options.select) or base.select
        project = dataclasses.replace(base, select=select, ignore=(*base.ignore, *selectors(options.ignore)))
    checked = check_bytes(name, content, settings, project=project, until=until)
    checked.findings[:0] = problems
    if checked.silenced and until != "check":
        from npac.api.silence import needed

        return needed(checked, given)
    return checked


def settings_for(path: PathLike, options: Options) -> tuple[Settings, "Project | None", list[Diagnostic]]:
    """Give the settings for one spec, its project, and what is wrong with the project's file."""
    project, problems = project_for(os.fspath(path)) if options.use_project else (None, [])
    catalogs = [*(project.catalogs if project is not None else ()), *options.catalogs]
    settings = Settings(
        settings_catalog(catalogs),
        overrides_of(options),
        options.max_steps,
        options.max_nodes,
        options.pins or {},
    )
    return settings, project, problems


def selectors(given: Sequence[str]) -> tuple[str, ...]:
    """Give the codes, or beginnings of codes, that texts mean, which may be names of codes; in any case.

    Raises :class:`NpacError` for a text that means none.
    """
    found = []
    for text in given:
        code = BY_NAME[text.lower()].id if text.lower() in BY_NAME else text.upper()
        if not any(known.startswith(code) for known in CODES):
            from npac.syntax.nearest import nearest

            near = nearest(text, (*CODES, *BY_NAME), 1)
            raise NpacError(
                f"{text!r:.80} is no code, no beginning of one and no name of one",
                remedy=f"Did you mean {near[0]}?" if near else "`npac explain` lists them.",
            )
        found.append(code)
    return tuple(found)


def wants_strict(checked: Iterable[Checked], options: Options = DEFAULTS) -> bool:
    """Say whether the project of any of these specs lets warnings fail a check."""
    if not options.use_project:
        return False
    # A project belongs to a folder: whichever file is asked about, the answer is that of its folder.
    folders = {os.path.dirname(one.source.path) for one in checked}
    projects = [project_for(os.path.join(folder, "-x"))[0] for folder in folders]
    return any(project is not None and project.strict for project in projects)


def parse_pair(text: str, option: str) -> tuple[str, str]:
    """Split ``KEY=VALUE`` of an option.  Raises :class:`NpacError`."""
    pair = split_pair(text)
    if pair is None:
        raise NpacError(f"{option} {text!r} is not KEY=VALUE", remedy=f"Write {option} key=value.")
    return pair


def overrides_of(options: Options) -> Overrides:
    """Read the overlay files of the options, and give all overrides.  Raises :class:`NpacError`."""
    files = []
    for path in options.config:
        source, bad = decode(os.fspath(path), read_bytes(os.fspath(path)))
        if bad is not None:
            raise NpacError(f"{os.fspath(path)} is no UTF-8 text", remedy="Save it as UTF-8.")
        files.append(source)
    return Overrides(tuple(files), _pairs(options.sets), _pairs(options.vars), options.allow_new_vars)


def _pairs(given: Pairs) -> tuple[tuple[str, str], ...]:
    items = given.items() if isinstance(given, Mapping) else given
    return tuple((str(key), str(value)) for key, value in items)
