"""Comparing the files of a build with its manifest."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from npac._version import __version__
from npac.build.errors import BuildError
from npac.build.folder import PENDING
from npac.build.manifest import FILE, Manifest
from npac.build.reader import read_build, read_manifest
from npac.build.store import OBJECTS, object_path
from npac.ir.canonical import digest_bytes
from npac.reading import MAX_OBJECT_BYTES, read_regular

CHANGED = "changed"
LACKING = "lacking"
EXTRA = "extra"
UNREADABLE = "unreadable"
_AGAIN = "Compile again: the damaged files cannot be made from the rest of the build."
_REMOVE = "Remove what is no part of the build, or move it away."


@dataclass(frozen=True, slots=True)
class Problem:
    """One file of a build that is not as its manifest says; ``path`` is seen from the build's folder."""

    kind: str
    """``changed``, ``lacking``, ``extra`` or ``unreadable``."""
    path: str
    message: str
    remedy: str = ""
    """What to do, in one sentence; empty where the message says it."""


def verify_build(directory: Path) -> list[Problem]:
    """Hash every file of the build in ``directory`` again and give what is wrong, by path.

    A folder that holds no build gives one problem at ``manifest.json``.
    """
    try:
        manifest = read_manifest(directory)
    except BuildError as error:
        kind = UNREADABLE if (directory / FILE).exists() else LACKING
        return [Problem(kind, FILE, str(error))]
    expected = _expected(manifest)
    problems = [
        problem for path in sorted(expected) if (problem := _compare(directory, path, expected[path]))
    ]
    # Views are made from objects, and objects from nothing but the spec.
    whole = not any(problem.path.startswith(f"{OBJECTS}/") for problem in problems)
    again = whole and manifest.compiler == __version__
    problems = [replace(problem, remedy=_restore(directory) if again else _AGAIN) for problem in problems]
    for path in _files(directory):
        if path == PENDING:
            message = f"{path}: a later compile into this folder was cut off; compile again"
            problems.append(Problem(EXTRA, path, message))
        elif path != FILE and path not in expected:
            problems.append(Problem(EXTRA, path, f"{path} is no part of the build", _REMOVE))
    if not problems:
        try:
            read_build(directory)
        except BuildError as error:
            problems.append(Problem(UNREADABLE, object_path(manifest.program), str(error)))
    return sorted(problems, key=lambda problem: (problem.path, problem.kind))


def _restore(directory: Path) -> str:
    return f"npac verify --restore {shlex.quote(str(directory))} makes the readable files again."


def _expected(manifest: Manifest) -> dict[str, str]:
    """Path -> digest of every file that the manifest names."""
    digests = {entry.digest for entry in manifest.objects}
    digests.update((manifest.program, manifest.spec, *(wave.object for wave in manifest.waves)))
    if manifest.link:
        digests.add(manifest.link)
    expected = {object_path(digest): digest for digest in digests}
    expected.update((view.path, view.digest) for view in manifest.views)
    return expected


def _compare(directory: Path, path: str, digest: str) -> Problem | None:
    try:
        found = digest_bytes(read_regular(directory / path, MAX_OBJECT_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return Problem(LACKING, path, f"{path} is not there")
    except OSError as error:
        return Problem(UNREADABLE, path, f"{path} could not be read: {error.strerror}")
    if found != digest:
        return Problem(CHANGED, path, f"{path} was changed: it hashes to {found}, not to {digest}")
    return None


def _files(directory: Path) -> list[str]:
    found = []
    for folder, folders, names in os.walk(directory):
        relative = Path(folder).relative_to(directory)
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        found += [(relative / name).as_posix() for name in (*names, *links)]
    return sorted(found)
