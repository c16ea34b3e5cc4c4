"""Ledgers on a disk that may only be read: everything can be looked at, and nothing is written."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from npac.ledger.fold import fsck
from npac.ledger.ports import LedgerError
from npac.ledger.root import LedgerRoot
from npac.ledger.sqlite import SqliteLedger


@pytest.fixture
def sealed(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Make the ledger root a disk of its own that can be made read-only."""
    disk = tmp_path / "root"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "npac-test", str(disk)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a file system needs root")

    def seal() -> None:
        # With the ledger open elsewhere for writing this is refused, and the test is wrong.
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

    yield seal
    subprocess.run(["umount", "-l", str(disk)], check=True)


def driven(root: LedgerRoot) -> SqliteLedger:
    ledger = root.create("run-1")
    fence = ledger.take({"who": "me"})
    ledger.append("a", {"x_blob": ledger.put_blob(b"x")}, fence)
    ledger.ask("cancel", {})
    return ledger


def demand_readable(root: LedgerRoot) -> None:
    """See that all can be read, and that writing is refused in words."""
    before = sorted(os.listdir(root.path / "run-1"))
    seen = root.open("run-1")
    assert root.runs() == ["run-1"]
    assert [event.type for event in seen.events()] == ["driver-started", "a"]
    assert seen.get_blob(seen.events()[1].data["x_blob"]) == b"x"
    holder = seen.holder()
    assert holder is not None and holder["fence"] == 1
    assert [request.kind for request in seen.requests()] == ["cancel"]
    assert fsck(seen) == []
    for act in (lambda: seen.take({}), lambda: seen.ask("cancel", {}), lambda: seen.heartbeat(1)):
        with pytest.raises(LedgerError, match=r"may only be read|Read-only|alive") as caught:
            act()
        assert caught.value.remedy
    seen.close()
    assert sorted(os.listdir(root.path / "run-1")) == before


def test_a_ledger_closed_before_is_read(root: LedgerRoot, sealed: Callable[[], None]) -> None:
    driven(root).close()
    assert not (root.path / "run-1" / "ledger.sqlite-wal").exists()
    sealed()
    demand_readable(root)


def crash(root: LedgerRoot, python: Callable[..., subprocess.Popen[str]]) -> None:
    """Leave a ledger with its log behind, as a driver does that is killed."""
    program = """
import os, signal, sys
from npac.ledger.root import LedgerRoot
from tests.ledger.test_read_only import driven
held = driven(LedgerRoot(sys.argv[1]))
os.kill(os.getpid(), signal.SIGKILL)
"""
    process = python(program, str(root.path))
    assert process.wait(60) == -9
    assert (root.path / "run-1" / "ledger.sqlite-wal").stat().st_size > 0


def test_a_ledger_whose_driver_was_killed_is_read(
    root: LedgerRoot, sealed: Callable[[], None], python: Callable[..., subprocess.Popen[str]]
) -> None:
    crash(root, python)
    sealed()
    demand_readable(root)


def test_a_copy_with_its_log_and_no_index_is_read(
    root: LedgerRoot, sealed: Callable[[], None], python: Callable[..., subprocess.Popen[str]]
) -> None:
    crash(root, python)
    (root.path / "run-1" / "ledger.sqlite-shm").unlink()
    sealed()
    demand_readable(root)


def test_a_file_without_rights_to_write_is_read(
    root: LedgerRoot, python: Callable[..., subprocess.Popen[str]]
) -> None:
    driven(root).close()
    folder = root.path / "run-1"
    os.chmod(folder / "ledger.sqlite", 0o400)
    os.chmod(folder, 0o500)
    os.chmod(root.path, 0o500)
    program = """
import ctypes, os, sys
if os.geteuid() == 0 and len(sys.argv) == 2:  # rights count for root, too, once it has given this one up
    assert ctypes.CDLL(None, use_errno=True).prctl(24, 1, 0, 0, 0) == 0
    os.execv(sys.executable, [sys.executable, "-c", sys.orig_argv[2], sys.argv[1], "again"])
from npac.ledger.root import LedgerRoot
from tests.ledger.test_read_only import demand_readable
demand_readable(LedgerRoot(sys.argv[1]))
print("read")
"""
    try:
        out, err = python(program, str(root.path)).communicate(timeout=60)
    finally:
        os.chmod(root.path, 0o700)
        os.chmod(folder, 0o700)
    assert (out, err) == ("read\n", "")


def test_a_full_disk_can_be_read(tmp_path: Path, root: LedgerRoot, sealed: Callable[[], None]) -> None:
    driven(root).close()
    with open(root.path / "ballast", "wb") as ballast, pytest.raises(OSError):
        while True:
            os.write(ballast.fileno(), b"x" * 4096)
    assert [event.type for event in root.open("run-1").events()] == ["driver-started", "a"]
    assert fsck(root.open("run-1")) == []
    with pytest.raises(LedgerError, match=r"full|did not read or write") as caught:
        root.open("run-1").ask("cancel", {})
    assert "Free some space" in caught.value.remedy or "disk" in caught.value.remedy
