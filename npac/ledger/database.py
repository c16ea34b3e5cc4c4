"""The SQLite file of one run: how it is made, opened, and written in whole transactions."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from npac.ledger.faults import from_os, from_sqlite
from npac.ledger.ports import LedgerCorrupt, LedgerError
from npac.ledger.reading import connect, connect_to_read

_APPLICATION = 0x6E706163
"""Marks a SQLite file as ours ("npac")."""

_FORMAT = 1

_EFFECTIVE = os.access in os.supports_effective_ids

_SCHEMA = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    type   TEXT    NOT NULL,
    fence  INTEGER NOT NULL,
    digest TEXT    NOT NULL,
    body   BLOB    NOT NULL
);
CREATE TABLE head (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    number INTEGER NOT NULL,
    fence  INTEGER NOT NULL,
    digest TEXT    NOT NULL
);
CREATE TABLE leases (
    fence    INTEGER PRIMARY KEY,
    started  INTEGER NOT NULL,
    counter  INTEGER NOT NULL,
    beat_ns  INTEGER NOT NULL,
    released INTEGER NOT NULL
);
CREATE TABLE requests (
    place   INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT UNIQUE NOT NULL,
    kind    TEXT NOT NULL,
    data    BLOB NOT NULL,
    asked   TEXT NOT NULL,
    fence   INTEGER,
    result  BLOB
);
"""

_COLUMNS = {
    "events": {"number", "type", "fence", "digest", "body"},
    "head": {"one", "number", "fence", "digest"},
    "leases": {"fence", "started", "counter", "beat_ns", "released"},
    "requests": {"place", "id", "kind", "data", "asked", "fence", "result"},
}
"""What a file of this format holds; one that lacks any of it was changed by something else."""

_UNWRITABLE = frozenset(
    (
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
    )
)
"""Why a file may be closed to writers and still be readable."""


def make_database(path: Path, first_digest: str) -> None:
    """Make an empty ledger file that only its owner can read; raises :class:`LedgerError`."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        # The mask of this process may have taken away more than the mode asks for.
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
    except OSError as error:
        raise from_os(error, f"make the ledger {path}") from error
    try:
        connection = connect(path, "mode=rw", 10.0)
        try:
            _prepare(connection, path)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
            connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
            connection.execute("INSERT INTO head VALUES (1, 0, 0, ?)", (first_digest,))
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise from_sqlite(error, path) from error


class Database:
    """An open ledger file.  May be used by several threads; must not be carried over a fork.

    A file that this process cannot write can be read all the same.
    """

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        """Open the ledger file at ``path``, which must exist and be ours.

        ``busy_seconds`` bounds the wait for another process's transaction.  Raises
        :class:`LedgerError` or :class:`LedgerCorrupt`.
        """
        self.path = path
        self._lock = threading.RLock()
        self._process = os.getpid()
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                raise LedgerError(
                    f"the ledger {path} is not a regular file",
                    remedy="Put the file itself in its place; a ledger is never reached by a link.",
                )
        except OSError as error:
            raise from_os(error, f"open the ledger {path}") from error
        try:
            self._connection, self._unwritable = _open(path, busy_seconds=busy_seconds)
            try:
                self._check_format()
                self._check_tables()
                if self._unwritable is None:
                    # Not before it is known to be ours: nothing else's file may be changed.
                    _prepare(self._connection, path)
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.Error as error:
            raise from_sqlite(error, path) from error

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one transaction that nobody else writes in, durable when it ends.

        Raises :class:`LedgerError`.  What such an error says about a commit is only that it was
        not acknowledged: whoever goes on reads the log again first.
        """
        if self._unwritable is not None:
            raise self._unwritable
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Run the block on one unchanging view of the ledger; raises :class:`LedgerError`."""
        with self._transaction("BEGIN") as connection:
            yield connection

    def close(self) -> None:
        """Close the file; a ledger that is merely dropped loses nothing."""
        with self._lock:
            self._connection.close()

    def __del__(self) -> None:
        # A connection refers to itself, so its files would stay open until a collector comes by.
        connection = getattr(self, "_connection", None)
        if connection is not None and self._process == os.getpid():
            connection.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._connection.execute(begin)
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise from_sqlite(error, self.path) from error

    def _check_format(self) -> None:
        application = self._connection.execute("PRAGMA application_id").fetchone()[0]
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if application != _APPLICATION:
            raise LedgerCorrupt(
                f"{self.path} is not a ledger of npac",
                remedy="Restore the run's folder from a copy, or name the ledger root that you meant.",
            )
        if version != _FORMAT:
            raise LedgerError(
                f"the ledger {self.path} has format {version}, and this npac reads format {_FORMAT}",
                remedy="Use the version of npac that started the run.",
            )

    def _check_tables(self) -> None:
        found: dict[str, set[str]] = {}
        for table, column in self._connection.execute(
            "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'"
        ):
            found.setdefault(table, set()).add(column)
        for table, columns in _COLUMNS.items():
            lacking = sorted(columns - found.get(table, set()))
            if lacking:
                what = (
                    f"the column {lacking[0]} of its table {table}"
                    if table in found
                    else f"its table {table}"
                )
                raise LedgerCorrupt(
                    f"the ledger {self.path} is damaged: {what} is missing",
                    remedy="Restore the run's folder from a copy; nothing was changed.",
                )


def _open(path: Path, *, busy_seconds: float) -> tuple[sqlite3.Connection, LedgerError | None]:
    """Open a ledger file, to write if that can be; gives the connection and why it can only be read."""
    # SQLite keeps its log and the log's index beside the file, so the folder must be writable too.
    for place in (path, path.parent):
        if not os.access(place, os.W_OK, effective_ids=_EFFECTIVE):
            refused = from_os(
                OSError(errno.EACCES, f"{place} may only be read"), f"write to the ledger {path}"
            )
            return connect_to_read(path, busy_seconds=busy_seconds), refused
    try:
        return connect(path, "mode=rw", busy_seconds), None
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _UNWRITABLE:
            raise
        try:
            return connect_to_read(path, busy_seconds=busy_seconds), from_sqlite(error, path)
        except (sqlite3.Error, LedgerError):
            raise error from None


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make what is committed be on the disk; a new file gets its write-ahead log."""
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise LedgerError(
            f"the file system of {path} cannot hold SQLite's write-ahead log",
            remedy="Put the ledger root on a local disk.",
        )
    connection.execute("PRAGMA synchronous = FULL")
    # Where fsync does not reach the disk's own cache (macOS), ask for what does.
    connection.execute("PRAGMA fullfsync = ON")
