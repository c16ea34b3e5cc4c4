"""A driver killed before anything is on record leaves its run's id free, and every command says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npac import api
from npac.ledger.fold import fsck
from npac.running import ledger_root, open_ledger
from tests.api.command import ROOT, invoke
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]

FAST = ("--poll-seconds", "0.05")
NEXT = "npac run SPEC --run-id r"

DEADLY = """
import os, signal, sys
from npac.ledger.sqlite import SqliteLedger
point, spec = sys.argv[1:]
def deadly(method):
    plain = getattr(SqliteLedger, method)
    def die(self, *arguments):
        if point.endswith("after"):
            plain(self, *arguments)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(SqliteLedger, method, die)
deadly(point.split()[0])
from npac import api
api.run(spec, run_id="r")
"""
POINTS = ["take before", "take after", "put_blob after", "append before"]


def killed(home: Path, point: str) -> Path:
    """Start a run whose driver is killed at one point; gives its spec."""
    spec = write(
        home, f"  first: {sh('echo ran >> trace', 'terminal: true')}\n".replace("trace", f"{home}/trace")
    )
    done = subprocess.run(
        [sys.executable, "-c", DEADLY, point, spec],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == -9, done.stderr
    return spec


@pytest.mark.parametrize("point", POINTS)
def test_the_run_can_be_started_under_the_same_id(home: Path, capsys, point: str) -> None:
    spec = killed(home, point)
    assert "given up before launch" in invoke(capsys, "runs").out
    done = invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    assert done.code == 0, done
    assert (home / "trace").read_text() == "ran\n"
    assert fsck(open_ledger("r", None)) == []
    again = invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    assert again.code == 2 and "exists already" in again.err and "npac resume r" in again.err


@pytest.mark.parametrize("point", ["take before", "append before"])
def test_every_command_says_what_it_is_and_what_to_do(home: Path, capsys, point: str) -> None:
    killed(home, point)
    status = invoke(capsys, "status", "r")
    assert status.code == 0
    assert status.out.splitlines() == [
        "r: planned: given up before launch; nothing of it is on record",
        f"  next: give the same npac run command again: {NEXT}",
    ]
    why = invoke(capsys, "why", "r")
    assert why.code == 0 and "r has not begun" in why.out and NEXT in why.out and "jobs go on" not in why.out
    for words in (["resume", "r"], ["cancel", "r"], ["retry", "r"], ["decide", "r", "g", "loop_back"]):
        done = invoke(capsys, *words, *(["--reason", "x"] if words[0] == "decide" else []), *FAST)
        assert done.code == 2 and "nothing was launched" in done.err and NEXT in done.err, done
    logs = invoke(capsys, "logs", "r")
    assert logs.code == 2 and "run r has no jobs" in logs.err
    assert invoke(capsys, "events", "r").code == 0
    assert invoke(capsys, "runs", "fsck", "r").code == 0
    assert api.status("r").run_id == "r"
    assert list(open_ledger("r", None).requests()) == []


def test_what_was_asked_of_a_driver_that_never_began_is_not_done(home: Path, capsys) -> None:
    spec = killed(home, "take after")
    # Asked while that driver was still alive.
    request = open_ledger("r", None).ask("cancel", {"reason": "too early"})
    assert invoke(capsys, "run", spec, "--run-id", "r", *FAST).code == 0
    assert open_ledger("r", None).result(request) == {"accepted": False, "why": "the run had not begun"}


def test_a_run_that_is_being_started_is_not_taken_over(home: Path, capsys) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    starting = ledger_root(None).create("r")
    starting.take({})
    shown = invoke(capsys, "status", "r").out
    assert shown == "r: planned: starting; nothing of it is on record\n"
    done = invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    assert done.code == 2 and "driven by process" in done.err
    resumed = invoke(capsys, "resume", "r", *FAST)
    assert resumed.code == 2 and "just being started" in resumed.err
    assert [event.type for event in starting.events()] == ["driver-started"]


def test_a_run_that_cannot_be_put_on_record_is_not_held(home: Path, capsys, monkeypatch) -> None:
    from npac.ledger.ports import LedgerError
    from npac.ledger.sqlite import SqliteLedger

    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")

    def full(self: SqliteLedger, data: bytes) -> str:
        raise LedgerError("the disk is full", remedy="Free some space there.")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteLedger, "put_blob", full)
        done = invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    assert done.code == 2 and "the disk is full" in done.err
    holder = open_ledger("r", None).holder()
    assert holder is not None and holder["released"]
    assert invoke(capsys, "run", spec, "--run-id", "r", *FAST).code == 0
