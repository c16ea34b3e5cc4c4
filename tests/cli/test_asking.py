"""Requests are carried out by whoever drives the run, and the command ends by what came of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from npac import api
from npac.cli import asking
from npac.running import open_ledger
from tests.api.command import ROOT, invoke
from tests.cli.runs_of import failing, home, sh, write

__all__ = ["home"]

FAST = ("--poll-seconds", "0.05")
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def npac(home: Path) -> Iterator[Start]:
    """Start commands as processes of their own; they are killed at the end of the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*argv: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", "from npac.cli.main import entry; entry()", *argv],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, "waited for a minute in vain"
        time.sleep(0.02)


def endless(home: Path) -> Path:
    return write(home, f"  first: {sh('exec sleep 600', 'terminal: true')}\n")


def running(run_id: str) -> bool:
    try:
        view = api.status(run_id)
    except api.NpacError:
        return False
    return any(launch.job for wave in view.waves.values() for launch in wave.last.launches.values())


def test_cancelled_among_many_resumes(home: Path, capsys, npac: Start) -> None:
    spec = endless(home)
    left = invoke(capsys, "run", spec, "--run-id", "r", "--max-wait", "0.3", "--on-timeout", "detach", *FAST)
    assert left.code == 3
    resumes = [npac("resume", "r", *FAST) for _ in range(4)]
    cancels = [npac("cancel", "r", "--reason", "enough", *FAST) for _ in range(2)]
    for cancel in cancels:
        out, err = cancel.communicate(timeout=90)
        late = "has ended (cancelled): there is nothing to cancel" in out
        assert (cancel.returncode, "Traceback" in err) == (0 if late else 4, False), (out, err)
        assert late or out.startswith("r: cancelled")
    for resume in resumes:
        resume.communicate(timeout=90)
        # Refused while another drives; else the end that the run came to.
        assert resume.returncode in (2, 4)
    assert list(open_ledger("r", None).requests()) == []


def test_a_live_driver_cancels_and_is_waited_for(home: Path, capsys, npac: Start) -> None:
    driver = npac("run", str(endless(home)), "--run-id", "r", *FAST)
    until(lambda: running("r"))
    done = invoke(capsys, "cancel", "r", "--reason", "enough", *FAST)
    assert (done.code, done.out) == (4, "r: cancelled: enough\n  next: npac retry r\n"), done
    assert "is recorded" in done.err and "being cancelled" in done.err
    assert driver.wait(30) == 4


def test_a_driver_says_no_to_what_makes_no_sense(home: Path, capsys, npac: Start) -> None:
    npac("run", str(endless(home)), "--run-id", "r", *FAST)
    until(lambda: running("r"))
    done = invoke(capsys, "retry", "r", *FAST)
    assert done.code == 2 and "no failed wave to try again" in done.err
    assert invoke(capsys, "cancel", "r", *FAST).code == 4


def test_a_driver_that_hangs_is_not_waited_for_without_end(
    home: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = invoke(
        capsys, "run", endless(home), "--run-id", "r", "--max-wait", "0.3", "--on-timeout", "detach", *FAST
    )
    assert left.code == 3
    hanging = open_ledger("r", None)
    fence = hanging.take({})
    monkeypatch.setattr(asking, "PATIENCE", 0.5)
    done = invoke(capsys, "cancel", "r", *FAST)
    assert done.code == 0 and "has not answered yet" in done.out and "npac status r" in done.out
    assert [request.kind for request in open_ledger("r", None).requests()] == ["cancel"]
    hanging.release(fence)
    assert invoke(capsys, "cancel", "r", *FAST).code == 4


def test_a_request_to_cancel_what_has_ended_is_not_left_for_later(home: Path, capsys) -> None:
    assert invoke(capsys, "run", failing(home), "--run-id", "r", *FAST).code == 1
    late = invoke(capsys, "cancel", "r", *FAST)
    assert (late.code, late.out) == (0, "run r has ended (failed): there is nothing to cancel\n")
    assert list(open_ledger("r", None).requests()) == []
    again = invoke(capsys, "retry", "r", *FAST)
    assert again.code == 1, "tried again, and not cancelled by what was asked before"
    assert api.status("r").state == "failed" and len(api.status("r").waves["both"].attempts) == 2
