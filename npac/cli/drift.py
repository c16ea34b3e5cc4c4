"""Comparing a build that was kept with what its spec compiles to now: ``npac compile --check``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory

from npac.api import Compiled, build

_LONGEST = 80
"""Lines of text that are shown for one spec."""


def drift(compiled: Compiled, folder: Path, *, run_id: str | None = None) -> str:
    """Say in what ``folder`` differs from the build of ``compiled``; empty text when in nothing.

    Told are the changes by meaning where the program is another one, and else the lines of the files.
    Nothing in ``folder`` is changed.  Raises :class:`NpacError` when the spec cannot be linked.
    """
    with TemporaryDirectory(prefix="npac-") as scratch:
        build(compiled, scratch, run_id=run_id)
        now, kept = _files(Path(scratch)), _files(folder)
    if now == kept:
        return ""
    lines = list(_changes(compiled, folder, kept, now))
    if len(lines) > _LONGEST:
        lines[_LONGEST:] = [f"… and {len(lines) - _LONGEST} lines more"]
    return "\n".join(lines)


def _files(folder: Path) -> dict[str, bytes]:
    found = {}
    for here, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(here, name)
            found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def _changes(
    compiled: Compiled, folder: Path, kept: dict[str, bytes], now: dict[str, bytes]
) -> Iterator[str]:
    from npac.build.diff import diff_programs, render
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
        yield from render(changes).splitlines()
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
