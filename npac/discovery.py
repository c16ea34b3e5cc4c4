"""Finding the specs below a folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

from npac.checking import is_spec
from npac.project import discover

_ENDINGS = (".yaml", ".yml")
_SKIPPED = frozenset((".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", "build", "dist"))


def find_specs(folder: str) -> list[str]:
    """Give the npac specs below ``folder``, sorted; other YAML, and what git ignores, is passed over."""
    project, _ = discover(folder)
    paths = _git_files(folder)
    if paths is None:
        paths = list(_walk(folder))
    found = []
    for path in sorted(paths):
        if not path.endswith(_ENDINGS) or project.excludes(path):
            continue
        try:
            with open(path, "rb") as stream:
                head = stream.read(65536)
        except OSError:
            continue
        if is_spec(head):
            found.append(path)
    return found


def _git_files(folder: str) -> list[str] | None:
    """Give tracked and untracked-not-ignored files, or None where git cannot say."""
    try:
        done = subprocess.run(
            ["git", "-C", folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.yaml", "*.yml"],
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    names = [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
    prefix = "" if folder in (".", "") else folder
    return [os.path.join(prefix, name) for name in names]


def _walk(folder: str) -> Iterator[str]:
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            path = os.path.join(here, name)
            yield os.path.normpath(path) if folder in (".", "") else path
