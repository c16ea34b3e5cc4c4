"""What an ended job leaves in its folder: scripts, working folders, and its logs."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress

from npac.engines.local.folder import JobFolder
from npac.launch.ports import EngineError


def remove_leftovers(root: str, job: int, *, logs: bool) -> int:
    """Remove what job ``job``, which has ended, has left, its logs only with ``logs``; gives bytes freed.

    Nothing outside the job's folder is touched: links in it are removed, not followed.  Raises
    :class:`EngineError` while the job's supervisor has not ended, and for what cannot be removed.
    """
    folder = JobFolder(root, job)
    if not folder.exists():
        return 0
    try:
        held = folder.lock()
        if held is None:
            raise EngineError(f"job {job} has ended, and its supervisor has not yet")
        try:
            return _remove(folder.path, logs)
        finally:
            os.close(held)
    except OSError as error:
        raise EngineError(f"{error.filename or folder.path}: {error.strerror or error}") from error


def _remove(folder: str, logs: bool) -> int:
    freed = 0
    for here, folders, _ in os.walk(folder):
        # Tools like to make their caches read-only; only the user's own folders can be changed.
        for name in folders:
            path = os.path.join(here, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    for here, folders, files in os.walk(folder, topdown=False):
        for name in files:
            path = os.path.join(here, name)
            # A file of such a name in a working folder is no log.
            depth = os.path.relpath(here, folder).count(os.sep) + (here != folder)
            if name.endswith(".log") and depth < 2 and not logs:
                continue
            freed += _unlink(path)
        for name in folders:
            path = os.path.join(here, name)
            if os.path.islink(path):
                freed += _unlink(path)
            elif not os.listdir(path):
                os.rmdir(path)
    if logs:
        shutil.rmtree(folder)
    return freed


def _unlink(path: str) -> int:
    with suppress(FileNotFoundError):
        state = os.lstat(path)
        os.unlink(path)
        # Of a file with other names nothing is freed.
        return state.st_size if stat.S_ISREG(state.st_mode) and state.st_nlink == 1 else 0
    return 0
