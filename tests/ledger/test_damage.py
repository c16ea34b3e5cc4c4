"""Files that are no ledger, or not a whole one: said when they are opened, and left as they are."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from npac.ledger.database import _COLUMNS
from npac.ledger.fold import fsck
from npac.ledger.ports import LedgerCorrupt
from npac.ledger.root import LedgerRoot


def driven(root: LedgerRoot) -> Path:
    """Make a run of some events and give its ledger file."""
    ledger = root.create("run-1")
    fence = ledger.take({})
    for number in range(5):
        ledger.append("tick", {"number": number}, fence)
    ledger.ask("cancel", {})
    ledger.release(fence)
    ledger.close()
    return root.path / "run-1" / "ledger.sqlite"


def change(file: Path, *statements: str) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_the_tables_looked_for_are_those_that_are_made(root: LedgerRoot) -> None:
    connection = sqlite3.connect(driven(root))
    made = {
        table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        if not table.startswith("sqlite_")
    }
    connection.close()
    assert made == _COLUMNS


@pytest.mark.parametrize("table", sorted(_COLUMNS))
def test_a_table_that_is_gone_is_damage(root: LedgerRoot, table: str) -> None:
    change(driven(root), f"DROP TABLE {table}")
    with pytest.raises(LedgerCorrupt, match=f"damaged: its table {table} is missing") as caught:
        root.open("run-1")
    assert "Restore" in caught.value.remedy


def test_a_column_that_is_gone_is_damage(root: LedgerRoot) -> None:
    change(driven(root), "ALTER TABLE leases RENAME COLUMN counter TO count")
    with pytest.raises(LedgerCorrupt, match="the column counter of its table leases is missing"):
        root.open("run-1")


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("DELETE FROM leases", "the lease of driver 1 is missing"),
        ("INSERT INTO leases VALUES (7, 1, 0, 0, 0)", "a lease of a driver 7 that never was"),
        ("UPDATE requests SET data = x'00'", "request [0-9a-f]{32} of run run-1 is damaged"),
    ],
)
def test_fsck_looks_at_leases_and_requests_too(root: LedgerRoot, statement: str, fault: str) -> None:
    file = driven(root)
    assert fsck(root.open("run-1")) == []
    change(file, statement)
    (found,) = fsck(root.open("run-1"))
    with pytest.raises(AssertionError, match=fault):
        raise AssertionError(found)


def test_a_file_cut_off_is_damage(root: LedgerRoot) -> None:
    file = driven(root)
    whole = file.read_bytes()
    for size in (1, 50, 100, 4096, len(whole) // 2):
        file.write_bytes(whole[:size])
        with pytest.raises(LedgerCorrupt) as caught:
            root.open("run-1").events()
        assert str(file) in str(caught.value) and caught.value.remedy
        assert file.read_bytes() == whole[:size]


def test_another_programs_database_is_named_and_not_touched(root: LedgerRoot) -> None:
    file = driven(root)
    file.unlink()
    change(file, "CREATE TABLE songs (title TEXT)", "INSERT INTO songs VALUES ('x')")
    before = file.read_bytes()
    with pytest.raises(LedgerCorrupt, match="is not a ledger of npac"):
        root.open("run-1")
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir() if "sqlite" in path.name] == ["ledger.sqlite"]


def test_an_empty_file_stays_empty(root: LedgerRoot) -> None:
    file = driven(root)
    file.write_bytes(b"")
    with pytest.raises(LedgerCorrupt):
        root.open("run-1")
    assert file.read_bytes() == b""
