"""Reading the SQLite file of a run where nothing may be written: a read-only disk, mount or mode.

SQLite reads a file with a write-ahead log only where it can share an index of that log with
writers.  Where no such index can be made, nobody can be writing, and there are two cases left: there
is no log, and the file is all there is; or a log was left behind, and both are copied to where an
index can be made.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from npac.ledger.faults import from_os


def connect_to_read(path: Path, *, busy_seconds: float) -> sqlite3.Connection:
    """Open the SQLite file at ``path`` such that nothing is written there, and see that it can be read.

    ``busy_seconds`` bounds the wait for a writer.  Raises :class:`sqlite3.Error`, and
    :class:`~npac.ledger.ports.LedgerError` when there is no room for a copy.
    """
    log = path.with_name(path.name + "-wal")
    index = path.with_name(path.name + "-shm")
    if os.path.lexists(index):
        try:
            return connect(path, "mode=ro", busy_seconds)
        except sqlite3.OperationalError:
            # An index that a dead writer left cannot be put in order without writing to it.
            if not _filled(log):
                return connect(path, "mode=ro&immutable=1", busy_seconds)
            return _open_copy(path, log, busy_seconds)
    if _filled(log):
        return _open_copy(path, log, busy_seconds)
    return connect(path, "mode=ro&immutable=1", busy_seconds)


def _filled(log: Path) -> bool:
    try:
        return os.stat(log).st_size > 0
    except FileNotFoundError:
        return False


def _open_copy(path: Path, log: Path, busy_seconds: float) -> sqlite3.Connection:
    """Open a copy of the file and its log; nothing of it is left on the disk afterwards."""
    try:
        with tempfile.TemporaryDirectory(prefix="npac-") as folder:
            copy = Path(folder, path.name)
            shutil.copyfile(path, copy)
            shutil.copyfile(log, Path(folder, log.name))
            source = connect(copy, "mode=rw", busy_seconds)
            try:
                held = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
                source.backup(held)
            finally:
                source.close()
            return held
    except OSError as error:
        raise from_os(error, f"copy {path}, which may only be read, to {tempfile.gettempdir()}") from error


def connect(path: Path, how: str, busy_seconds: float) -> sqlite3.Connection:
    """Open an SQLite file with the URI parameters ``how`` and look at its data; raises ``sqlite3.Error``."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        # Only a look at the data shows whether the log beside the file can be read.
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
