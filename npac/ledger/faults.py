"""Faults of SQLite and of the file system, as ledger errors in plain sentences."""

from __future__ import annotations

import errno
import os
import sqlite3

from npac.ledger.ports import LedgerCorrupt, LedgerError

_PRIMARY = 0xFF
"""SQLite's extended result codes keep the primary code in the low byte."""

_LEAST_ROOM = 64 * 1024
"""Bytes that SQLite needs beside a ledger before it can write anything."""

_SPACE = "Free some space there; what was acknowledged is kept."
_DISK = "Check the disk and its mount; what was acknowledged is kept."
_RIGHTS = "Give your user read and write access to that path, or use another ledger root."
_COPY = "Restore the run's folder from a copy."

_SQLITE: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_BUSY: (
        "another process keeps it locked",
        "Wait until the other process is done, or end it, and try again.",
    ),
    sqlite3.SQLITE_LOCKED: ("it is locked", "Wait until the other reader is done and try again."),
    sqlite3.SQLITE_FULL: ("the disk is full", _SPACE),
    sqlite3.SQLITE_IOERR: ("the disk did not read or write", _DISK),
    sqlite3.SQLITE_READONLY: ("it may only be read", _RIGHTS),
    sqlite3.SQLITE_CANTOPEN: ("the file could not be opened", _RIGHTS),
    sqlite3.SQLITE_PERM: ("access was refused", _RIGHTS),
    sqlite3.SQLITE_AUTH: ("access was refused", _RIGHTS),
}


def from_sqlite(error: sqlite3.Error, path: str | os.PathLike[str]) -> LedgerError:
    """Say what a SQLite error means for the ledger file at ``path``."""
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return LedgerCorrupt(f"the ledger {os.fspath(path)} is damaged: {error}", remedy=_COPY)
    # A missing table or column means that the file is not what this version wrote.
    if code == sqlite3.SQLITE_ERROR:
        return LedgerCorrupt(f"the ledger {os.fspath(path)} lacks what it must hold: {error}", remedy=_COPY)
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and _without_room(path):
        code = sqlite3.SQLITE_FULL  # Of the files beside its own SQLite says only that it could not.
    reason, remedy = _SQLITE.get(code, ("SQLite refused", _DISK))
    return LedgerError(f"the ledger {os.fspath(path)} is not usable: {reason} ({error})", remedy=remedy)


def _without_room(path: str | os.PathLike[str]) -> bool:
    try:
        disk = os.statvfs(os.path.dirname(os.fspath(path)))
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LEAST_ROOM or (disk.f_files > 0 and disk.f_favail == 0)


def from_os(error: OSError, doing: str) -> LedgerError:
    """Say what a file system error means; ``doing`` completes "could not …" and names the path."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        remedy = _SPACE
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        remedy = _RIGHTS
    else:
        remedy = _DISK
    return LedgerError(f"could not {doing}: {error.strerror or error}", remedy=remedy)
