"""Locked, full, unreadable and broken ledgers: a sentence, and nothing acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from npac.ledger.fold import fsck
from npac.ledger.ports import LedgerCorrupt, LedgerError
from npac.ledger.root import LedgerRoot
from npac.ledger.sqlite import SqliteLedger


def test_a_ledger_that_stays_locked_is_an_error_after_the_wait(ledger: SqliteLedger) -> None:
    fence = ledger.take({})
    impatient = SqliteLedger(ledger.folder, "run-1", busy_seconds=0.05)
    blocker = sqlite3.connect(ledger.folder / "ledger.sqlite", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="another process keeps it locked") as caught:
        impatient.append("a", {}, fence)
    assert "try again" in caught.value.remedy
    assert len(impatient.events()) == 1, "reading needs no lock"
    blocker.execute("ROLLBACK")
    assert impatient.append("a", {}, fence).number == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 300 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "npac-test", str(disk)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_said_and_the_run_goes_on_after_room_is_made(small_disk: Path) -> None:
    root = LedgerRoot(str(small_disk))
    ledger = root.create("run-1")
    fence = ledger.take({})
    (small_disk / "ballast").write_bytes(b"x" * 50_000)
    written = 1
    with pytest.raises(LedgerError, match=r"full|did not read or write") as caught:
        for _ in range(1000):
            ledger.append("tick", {"text": "x" * 2000}, fence)
            written += 1
    assert str(small_disk) in str(caught.value) and caught.value.remedy
    with pytest.raises(LedgerError, match="could not store a blob of 400000 bytes"):
        ledger.put_blob(b"y" * 400_000)
    assert len(ledger.events()) == written
    with pytest.raises(LedgerError):
        root.create("run-2")
    assert root.runs() == ["run-1"]
    (small_disk / "ballast").unlink()
    assert ledger.append("tick", {}, fence).number == written + 1
    assert fsck(root.open("run-1")) == []


def test_a_file_that_may_not_grow_is_said(
    root: LedgerRoot, python: Callable[..., subprocess.Popen[str]]
) -> None:
    program = """
import resource, sys
from npac.ledger.ports import LedgerError
from npac.ledger.root import LedgerRoot
ledger = LedgerRoot(sys.argv[1]).create("run-1")
fence = ledger.take({})
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
written = 1
try:
    while True:
        ledger.append("tick", {"text": "x" * 2000}, fence)
        written += 1
except LedgerError as error:
    print(written, "|", error, "|", error.remedy)
try:
    ledger.put_blob(b"x" * 300_000)
except LedgerError as error:
    print(error, "|", error.remedy)
"""
    out, err = python(program, str(root.path)).communicate(timeout=60)
    assert err == ""
    first, second = out.splitlines()
    assert "the ledger" in first and first.count("|") == 2
    assert "could not store a blob of 300000 bytes" in second and "Free some space" in second
    ledger = root.open("run-1")
    assert len(ledger.events()) >= int(first.split()[0]) >= 5
    assert fsck(ledger) == []


def test_a_damaged_page_is_corruption(root: LedgerRoot) -> None:
    ledger = root.create("run-1")
    fence = ledger.take({})
    for _ in range(50):
        ledger.append("tick", {"text": "x" * 2000}, fence)
    ledger.close()
    file = root.path / "run-1" / "ledger.sqlite"
    data = bytearray(file.read_bytes())
    for page in range(8, len(data) // 4096):
        data[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    file.write_bytes(bytes(data))
    damaged = root.open("run-1")
    with pytest.raises(LedgerCorrupt):
        damaged.events()
    assert fsck(damaged)


def test_another_format_is_refused_in_words(root: LedgerRoot) -> None:
    root.create("run-1").close()
    with sqlite3.connect(root.path / "run-1" / "ledger.sqlite") as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(LedgerError, match="has format 2, and this npac reads format 1"):
        root.open("run-1")


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming another user needs root")
def test_what_another_user_may_not_read_is_an_error_and_not_absence(root: LedgerRoot) -> None:
    root.create("run-1").close()
    acts: list[Callable[[], object]] = [root.runs, lambda: root.open("run-1"), lambda: root.create("run-2")]
    said = []
    os.seteuid(65534)
    try:
        for act in acts:
            with pytest.raises(LedgerError) as caught:
                act()
            said.append((str(caught.value), caught.value.remedy))
    finally:
        os.seteuid(0)
    assert all("Permission denied" in text and "access" in remedy for text, remedy in said)


def test_a_closed_ledger_says_so(ledger: SqliteLedger) -> None:
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.events()
