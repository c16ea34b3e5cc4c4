"""The engine's state folder: made once, owner-only, with an identity that never changes."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress

from npac.engines.local.folder import INCOMING, READ, sweep
from npac.engines.local.queue import FILE, Queue

INSTANCE = "engine-instance"
_MAKE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def open_state(root: str, slots: int | None) -> str:
    """Make the state folder ready and give the engine's instance id.

    ``slots`` is set when given; a new folder without it gets the number of processors.  Raises
    ``OSError`` when the folder cannot be used, ``ValueError`` when it must not be, with a sentence.
    """
    _make(root)
    _own(root)
    guard = os.open(os.path.join(root, "lock"), _MAKE, 0o600)
    try:
        fcntl.flock(guard, fcntl.LOCK_EX)
        for inner in ("jobs", INCOMING):
            _make(os.path.join(root, inner))
            try:
                _own(os.path.join(root, inner))
            except ValueError as error:
                raise ValueError(str(error).replace("it", f"its folder {inner}", 1)) from None
        # SQLite gives its files the mode of this one.
        os.close(os.open(os.path.join(root, FILE), _MAKE, 0o600))
        with Queue(root) as queue:
            queue.prepare(slots or os.cpu_count() or 1)
            if slots is not None and slots != queue.slots():
                queue.set_slots(slots)
        instance = read_instance(root) or _make_instance(root)
    finally:
        os.close(guard)
    sweep(root)
    return instance


def read_instance(root: str) -> str:
    """Give the identity of the engine in a folder; empty when there is none."""
    try:
        with open(os.open(os.path.join(root, INSTANCE), READ), encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def _make(folder: str) -> None:
    """Make a folder, and those above it that are not there yet, for the owner alone."""
    lacking = []
    while not os.path.lexists(folder):
        lacking.append(folder)
        folder = os.path.dirname(folder)
    for each in reversed(lacking):
        with suppress(FileExistsError):
            os.mkdir(each, 0o700)


def _own(root: str) -> None:
    found = os.lstat(root)
    if stat.S_ISLNK(found.st_mode):
        raise ValueError("it is a symbolic link")
    if not stat.S_ISDIR(found.st_mode):
        raise ValueError("it is not a folder")
    if found.st_uid != os.geteuid():
        raise ValueError(f"it belongs to another user (uid {found.st_uid})")
    if stat.S_IMODE(found.st_mode) != 0o700:
        os.chmod(root, 0o700)


def _make_instance(root: str) -> str:
    """Make the identity; only called under the folder's lock."""
    path = os.path.join(root, INSTANCE)
    text = os.urandom(16).hex()
    handle = os.open(path + ".new", _MAKE | os.O_TRUNC, 0o600)
    try:
        os.write(handle, text.encode("ascii") + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)
    os.rename(path + ".new", path)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return text
