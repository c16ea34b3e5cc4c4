"""Putting files on the disk for good: each appears whole under its name, and stays after a crash.

Waiting for the disk is most of the time that a build takes.  What may wait together does: many files
are written first, then synced side by side, and each folder once, when all its files are there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from npac.build.errors import BuildError

TEMPORARY = ".npac-tmp-"
WAITING = 128
"""Files that are written before they are synced; each is open that long."""
SYNCING = 4
"""Syncs that go on at the same time."""

_Item = TypeVar("_Item")


class Batch:
    """Writes many files; what it wrote is durable when :meth:`settle` has returned.

    A reader, or a crash at any moment, sees under a name the old bytes or the new ones.  Leaving the
    ``with`` block by an error removes what has no name yet.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Any, str, str]] = []
        """Open files, where each stands now, and where it belongs."""
        self._folders: dict[str, None] = {}
        """Folders whose names have changed."""
        self._there: set[str] = set()
        """Folders that are known to exist."""

    def __enter__(self) -> Batch:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """Remove what was not settled."""
        for file, temporary, _ in self._waiting:
            with suppress(OSError):  # what could not be written cannot be flushed either
                file.close()
            with suppress(FileNotFoundError):
                os.unlink(temporary)
        self._waiting.clear()

    def write(self, path: str, data: bytes | Iterable[bytes]) -> None:
        """Write ``data`` to ``path``; data that comes in pieces is written piece by piece.

        Raises :class:`BuildError` when the place cannot be written or the disk is full.
        """
        folder = os.path.dirname(path)
        temporary = os.path.join(folder, f"{TEMPORARY}{os.urandom(8).hex()}")
        try:
            self._make(folder)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            file = os.fdopen(descriptor, "wb")
            self._waiting.append((file, temporary, path))
            for part in (data,) if isinstance(data, bytes) else data:
                file.write(part)
            file.flush()
        except OSError as error:
            raise cannot_write(path, error) from error
        self._folders[folder] = None
        if len(self._waiting) >= WAITING:
            self._name()

    def settle(self) -> None:
        """Wait until all files and their names are on the disk.  Raises :class:`BuildError`."""
        self._name()
        _side_by_side(_sync_named, tuple(self._folders))
        self._folders.clear()

    def _make(self, folder: str) -> None:
        """Make a folder and what lacks above it."""
        lacking = []
        while folder not in self._there:
            self._there.add(folder)
            if os.path.isdir(folder or os.curdir):
                break
            lacking.append(folder)
            folder = os.path.dirname(folder)
        for each in reversed(lacking):
            if not os.path.isdir(each):
                os.mkdir(each)
            self._folders[os.path.dirname(each)] = None

    def _name(self) -> None:
        """Sync the files that wait and give them their names."""
        _side_by_side(_sync_and_name, tuple(self._waiting))
        self._waiting.clear()


def write_atomic(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write one file durably, so that a reader, or a crash, sees the old bytes or the new ones.

    Raises :class:`BuildError` when the place cannot be written or the disk is full; nothing of the
    attempt stays.
    """
    with Batch() as batch:
        batch.write(os.fspath(path), data)
        batch.settle()


def sync_folder(folder: str | Path) -> None:
    """Make the names in ``folder`` durable."""
    descriptor = os.open(folder or os.curdir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot sync a folder; their renames are as durable as they get.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def sync_folders(folders: Sequence[str]) -> None:
    """Make the names in all ``folders`` durable.  Raises :class:`BuildError`."""
    _side_by_side(_sync_named, folders)


def _sync_named(folder: str) -> None:
    try:
        sync_folder(folder)
    except OSError as error:
        raise cannot_write(folder, error) from error


def _sync_and_name(item: tuple[Any, str, str]) -> None:
    file, temporary, path = item
    try:
        try:
            os.fsync(file.fileno())
        finally:
            file.close()
        os.replace(temporary, path)
    except OSError as error:
        raise cannot_write(path, error) from error


def _side_by_side(action: Callable[[_Item], None], items: Sequence[_Item]) -> None:
    """Carry an action out on every item, some at a time; the first error ends it and is raised."""
    if len(items) < 2:
        for item in items:
            action(item)
        return
    from threading import Thread

    errors: list[BaseException] = []

    def work(mine: Sequence[_Item]) -> None:
        try:
            for item in mine:
                if errors:
                    return
                action(item)
        except BaseException as error:
            errors.append(error)

    count = min(SYNCING, len(items))
    threads = [Thread(target=work, args=(items[at::count],), daemon=True) for at in range(1, count)]
    for thread in threads:
        thread.start()
    work(items[::count])
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def cannot_write(path: str, error: OSError) -> BuildError:
    """Give the error for a place that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return BuildError(
            f"{path} could not be written: the disk is full.", "Free some space and compile again."
        )
    reason = error.strerror or str(error)
    return BuildError(
        f"{path} could not be written: {reason}.", "Choose another folder with -o, or mend its permissions."
    )
