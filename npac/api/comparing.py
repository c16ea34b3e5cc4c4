"""Comparing programs by meaning, and a build that was kept with what its spec compiles to now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from npac.api.checking import DEFAULTS, Options, PathLike
from npac.api.compiling import Compiled, build, load
from npac.build.diff import Change, diff_programs
from npac.build.diff_text import render as render_changes
from npac.errors import NpacError
from npac.reading import MAX_OBJECT_BYTES, read_regular

_LONGEST = 80
"""Lines of text that are given for one build."""


class Difference(NamedTuple):
    """What runs differently: ``changes`` from the first program to the second, none for the same."""

    changes: tuple[Change, ...]

    def as_data(self) -> list[dict[str, Any]]:
        """Give the changes as plain data for JSON."""
        from dataclasses import asdict

        return [asdict(change) for change in self.changes]

    def as_text(self) -> str:
        """Give the changes as text for people, a block for each node; empty for none."""
        return render_changes(self.changes)


def diff(a: PathLike, b: PathLike, options: Options = DEFAULTS) -> Difference:
    """Compare two specs, builds or raw SkyPilot YAML files by meaning.

    ``options`` are those of both compilations.  Raises like :func:`compile`.
    """
    return Difference(tuple(diff_programs(load(a, options), load(b, options))))


def check_drift(compiled: Compiled, folder: PathLike, *, run_id: str | None = None) -> str:
    """Say in what ``folder`` differs from the build of ``compiled``; empty text when in nothing.

    Told are the changes by meaning where the program is another one, and else the lines of the files.
    Nothing in ``folder`` is changed.  Raises :class:`NpacError` when the spec cannot be linked or the
    folder cannot be read.
    """
    place = Path(folder)
    with TemporaryDirectory(prefix="npac-") as scratch:
        build(compiled, scratch, run_id=run_id)
        now = _files(Path(scratch))
    kept = _files(place)
    if now == kept:
        return ""
    lines = list(_changes(compiled, place, kept, now))
    if len(lines) > _LONGEST:
        lines[_LONGEST:] = [f"… and {len(lines) - _LONGEST} lines more"]
    return "\n".join(lines)


def _files(folder: Path) -> dict[str, bytes]:
    """Give the files below a folder; what is there and is no file cannot be compared."""
    found = {}
    for here, _, names in os.walk(folder):
        for name in names:
            path = Path(here, name)
            try:
                found[path.relative_to(folder).as_posix()] = read_regular(path, MAX_OBJECT_BYTES)
            except OSError as error:
                raise NpacError(
                    f"{path} cannot be read: {error.strerror}", remedy=f"Remove it from {folder}."
                ) from error
    return found


def _changes(
    compiled: Compiled, folder: Path, kept: dict[str, bytes], now: dict[str, bytes]
) -> Iterator[str]:
    from difflib import unified_diff

    from npac.build.errors import BuildError
    from npac.build.manifest import FILE
    from npac.build.reader import read_build

    try:
        _, program = read_build(folder)
    except BuildError as error:
        yield str(error)
        return
    changes = diff_programs(program, compiled.program)
    if changes:
        yield from render_changes(changes).splitlines()
        return
    yield "the program is the same; the files differ:"
    names = [name for name in sorted(kept.keys() | now.keys()) if kept.get(name) != now.get(name)]
    # The manifest and the objects' names are digests of the rest: alone they say little.
    own = [name for name in names if not name.startswith("objects/")]
    for name in [name for name in own if name != FILE] or own or names:
        if name not in now:
            yield f"- {name}"
        elif name not in kept:
            yield f"+ {name}"
        else:
            before, after = (files[name].decode("utf-8", "replace").splitlines() for files in (kept, now))
            yield from unified_diff(before, after, f"{folder}/{name}", "compiled now", n=1, lineterm="")
