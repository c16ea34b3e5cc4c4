"""What is broken, full or read-only is said with its remedy; what can be looked at is shown."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from npac import api
from npac.running import ledger_root, open_ledger
from tests.api.command import ROOT, Outcome, invoke, spawn
from tests.cli.runs_of import gated, home, sh, write

__all__ = ["home"]

FAST = ("--poll-seconds", "0.05")


def blob(run_id: str, name: str) -> Path:
    view = api.status(run_id)
    digest = view.outputs if name == "outputs" else view.blobs[name]
    return Path(ledger_root(None).place) / run_id / "blobs" / digest[:2] / digest


@pytest.mark.parametrize("name", ["program", "link", "outputs"])
@pytest.mark.parametrize("change", ["removed", "altered", "cut", "a folder"])
def test_a_run_that_has_lost_an_object_says_so(home: Path, capsys, name: str, change: str) -> None:
    assert invoke(capsys, "run", gated(home), "--run-id", "r", *FAST).code == 3
    head = api.status("r").head
    file = blob("r", name)
    data = file.read_bytes()
    file.unlink()
    if change == "altered":
        file.write_bytes(data.replace(b"e", b"f"))
    elif change == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif change == "a folder":
        file.mkdir()
    for command in ("status", "why"):
        shown = invoke(capsys, command, "r")
        assert shown.code == 0 and "cannot be read" in shown.out and str(file) in shown.out, shown
    assert invoke(capsys, "runs", "fsck", "r").code == 1
    status = invoke(capsys, "status", "r").out
    assert status.splitlines()[-1].startswith("  next: "), status
    assert "npac decide" not in status.splitlines()[-1]
    if name != "outputs":
        for command in ("resume", "retry"):
            done = invoke(capsys, command, "r", *FAST)
            assert done.code == 2 and str(file) in done.err and "help:" in done.err, done
            assert "Traceback" not in done.err
        assert api.status("r").head == head
    else:
        other = write(
            home, f"  first: {sh('true', f'''outputs: [{{uri: 'file://{home}/x'}}], terminal: true''')}\n"
        )
        refused = invoke(capsys, "run", other, "--run-id", "s", *FAST)
        assert refused.code == 2 and "outputs run r may be writing" in refused.err
        assert "--allow-shared-outputs" in refused.err


@pytest.mark.parametrize("table", ["leases", "head", "events", "requests"])
def test_a_ledger_without_a_table_is_damaged_for_every_command(home: Path, capsys, table: str) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    assert invoke(capsys, "run", spec, "--run-id", "r", *FAST).code == 0
    connection = sqlite3.connect(Path(ledger_root(None).place) / "r" / "ledger.sqlite")
    connection.execute(f"DROP TABLE {table}")
    connection.close()
    for words in (
        "status r",
        "resume r",
        "events r",
        "why r",
        "logs r",
        "cancel r",
        "retry r",
        "runs fsck r",
    ):
        done = invoke(capsys, *words.split())
        assert done.code == 2, (words, done)
        assert f"its table {table} is missing" in done.err and "Restore" in done.err
    assert f"its table {table} is missing" in invoke(capsys, "runs").out
    # Of a run that declares outputs it cannot be told whether they are another's.
    assert invoke(capsys, "run", spec, "--run-id", "s", *FAST).code == 0


def test_what_cannot_be_opened_as_a_run_is_listed(home: Path, capsys) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    assert invoke(capsys, "run", spec, "--run-id", "real", *FAST).code == 0
    root = Path(ledger_root(None).place)
    (root / "moved").symlink_to(root / "real")
    (root / "gone").symlink_to(home / "unmounted")
    lines = invoke(capsys, "runs").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["gone", "moved", "real"]
    assert "unreadable: it is a link to" in lines[1] and "never reached by a link" in lines[2]
    refused = invoke(capsys, "run", spec, "--run-id", "moved", *FAST)
    assert refused.code == 2 and "Move it away" in refused.err and "resume" not in refused.err


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small file system."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "npac-test", str(disk)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_disk_that_fills_up_during_a_run_names_the_command_that_goes_on(
    home: Path, capsys, small_disk: Path
) -> None:
    first = sh(f"head -c 2000000 /dev/zero > {small_disk}/ballast; true", "next: second")
    second = sh(f"echo ran >> {home}/trace", "terminal: true")
    spec = write(home, f"  first: {first}\n  second: {second}\n")
    place = ("--ledger", str(small_disk))
    # A process of its own: on a full disk its lease cannot be given back, and ends with the process.
    done = spawn("run", spec, "--run-id", "r", *place, *FAST, env={"NPAC_HOME": str(home / "home")})
    assert done.code == 3, done
    told = done.out + done.err
    assert "npac resume r" in told and "Traceback" not in told
    assert str(small_disk) in told
    assert invoke(capsys, "status", "r", *place).code == 0
    (small_disk / "ballast").unlink()
    again = invoke(capsys, "resume", "r", *place, *FAST)
    assert again.code == 0, again
    assert (home / "trace").read_text() == "ran\n"


def without_override(*argv: str) -> Outcome:
    """Run npac as a process for which the rights of files count, also where the tests run as root."""
    program = """
import ctypes, os, sys
if os.geteuid() == 0 and not os.environ.get("AGAIN"):
    assert ctypes.CDLL(None, use_errno=True).prctl(24, 1, 0, 0, 0) == 0
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "AGAIN": "1"})
from npac.cli.main import entry
entry()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *argv],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_a_home_that_may_only_be_read_can_be_looked_at(home: Path, capsys) -> None:
    out = f"{home}/made/first.txt"
    writes = f"outputs: [{{uri: 'file://{out}'}}], next: both"
    spec = write(
        home,
        f"  first: {sh(f'echo said-by-first; echo 1 > {out}', writes)}\n"
        "  both: {parallel: [one, two], next: done}\n"
        f"  one: {sh('echo said-by-one')}\n"
        f"  two: {sh('echo said-by-two')}\n"
        "  done: {terminal: true}\n",
    )
    assert invoke(capsys, "run", spec, "--run-id", "r", *FAST).code == 0
    commands = ["status r", "why r", "events r", "runs", "runs fsck r", "status r --json"]
    before = {words: invoke(capsys, *words.split()).out for words in commands}
    logs = {words: invoke(capsys, *words.split()).out for words in ("logs r", "logs r one", "logs r first")}
    places = [home / "home", *(home / "home").rglob("*")]
    rights = {place: place.lstat().st_mode & 0o777 for place in places if not place.is_symlink()}
    try:
        for place in reversed(list(rights)):
            os.chmod(place, rights[place] & 0o555)
        for words, shown in {**before, **logs}.items():
            done = without_override(*words.split())
            assert (done.code, done.out) == (0, shown), (words, done)
        late = without_override("cancel", "r")
        assert (late.code, "nothing to cancel" in late.out) == (0, True), late
        for words in ("resume r", "retry r"):
            done = without_override(*words.split())
            assert "Traceback" not in done.err, done
            assert done.code == 2 and "help:" in done.err, (words, done)
        again = without_override("run", str(spec), "--run-id", "s")
        assert again.code == 2 and "Traceback" not in again.err
    finally:
        for place, mode in rights.items():
            os.chmod(place, mode)
    assert "said-by-one" in logs["logs r one"] and "said-by-two" not in logs["logs r one"]
    assert list(open_ledger("r", None).requests()) == []
