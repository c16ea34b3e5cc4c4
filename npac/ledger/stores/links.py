"""Links in artifacts: whether what they lead to was made after a wave began, or was there already.

A link is quickly made to a file of long ago.  It is judged by what it leads to, and by the file
system's own stamps: the time of a file's last change (which, unlike that of its last writing, no
program can choose) against that of an unnamed file made when the wave began.  Both stamps come from
the file system and none from the clock of a driver, so nothing hangs on how clocks are set.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator


def mark(folder: str) -> str:
    """Give the file system's stamp of this moment in ``folder``, in digits; raises :class:`OSError`."""
    try:
        # Without a name it is seen by nobody, and a death here leaves nothing behind.
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            raise
        descriptor, name = tempfile.mkstemp(prefix=".npac-", dir=folder)
        os.unlink(name)
    try:
        return str(os.fstat(descriptor).st_ctime_ns)
    finally:
        os.close(descriptor)


def folders_above(path: str) -> frozenset[tuple[int, int]]:
    """Give device and inode of every folder that holds ``path``, as it is written and as links lead.

    A link to one of them leads out of ``path`` and back to it; what is found there is not its own.
    """
    found: set[tuple[int, int]] = set()
    path = path.rstrip("/")
    for folder in (os.path.dirname(path), os.path.dirname(os.path.realpath(path))):
        for place in (folder, os.path.realpath(folder)):
            while True:
                with contextlib.suppress(OSError):
                    state = os.stat(place)
                    found.add((state.st_dev, state.st_ino))
                above = os.path.dirname(place)
                if above == place:
                    break
                place = above
    return frozenset(found)


def stale(path: str, since: str, *, whole: bool) -> bool:
    """Say whether an artifact is there by links alone to what has not changed since the mark ``since``.

    ``path`` is that of a file or, with ``whole``, of a directory; that one is stale when links are in
    it and no file with content has changed since.  Without a mark nothing behind a link counts as
    changed.  Raises :class:`OSError`.
    """
    moment = int(since) if since else None
    if not whole:
        return os.path.islink(path) and not _changed(os.stat(path), moment)
    linked = os.path.islink(path.rstrip("/"))
    for state, by_link in _files(os.fsencode(path.rstrip("/") or "/")):
        if state.st_size > 0 and _changed(state, moment):
            return False
        linked = linked or by_link
    return linked


def _changed(state: os.stat_result, moment: int | None) -> bool:
    return moment is not None and state.st_ctime_ns >= moment


def _files(folder: bytes) -> Iterator[tuple[os.stat_result, bool]]:
    """Yield the state of each regular file below a folder, and whether a link below it led there."""
    todo = [(folder, False, folders_above(os.fsdecode(folder)))]
    while todo:
        place, linked, above = todo.pop()
        try:
            own = os.stat(place)
            if (own.st_dev, own.st_ino) in above:
                continue
            entries = list(os.scandir(place))
        except FileNotFoundError:
            continue
        above = above | {(own.st_dev, own.st_ino)}
        for entry in entries:
            by_link = linked or entry.is_symlink()
            try:
                state = entry.stat()
            except OSError as error:
                # Removed since, or a link that leads nowhere.
                if error.errno in (errno.ENOENT, errno.ELOOP):
                    continue
                raise
            if stat.S_ISREG(state.st_mode):
                yield state, by_link
            elif stat.S_ISDIR(state.st_mode) and (state.st_dev, state.st_ino) not in above:
                todo.append((entry.path, by_link, above))
