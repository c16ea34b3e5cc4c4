"""Several processes at one ledger, and what a kill leaves behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from npac.ledger.fold import fsck
from npac.ledger.ports import LeaseHeld, LeaseLost
from npac.ledger.root import LedgerRoot

Start = Callable[..., "subprocess.Popen[str]"]

HOLD = """
import sys
from npac.ledger.root import LedgerRoot
ledger = LedgerRoot(sys.argv[1]).open("run-1")
fence = ledger.take({"who": "child"})
print(fence, flush=True)
sys.stdin.read()
"""

CONTEND = """
import sys
from npac.ledger.ports import LeaseHeld
from npac.ledger.root import LedgerRoot
ledger = LedgerRoot(sys.argv[1]).open("run-1")
print("ready", flush=True)
sys.stdin.readline()
try:
    fence = ledger.take({})
    print("took", ledger.append("mine", {}, fence).fence, flush=True)
except LeaseHeld as error:
    print("held", error, flush=True)
sys.stdin.read()
"""

APPEND = """
import os, sys
from npac.ledger.root import LedgerRoot
ledger = LedgerRoot(sys.argv[1]).open("run-1")
fence = ledger.take({})
print("ready", flush=True)
n = 0
while True:
    n += 1
    data = {"n": n, "text": "x" * (n % 5000)}
    if n % 7 == 0:
        data["log_blob"] = ledger.put_blob(os.urandom(2000))
    event = ledger.append("tick", data, fence)
    os.write(1, f"{event.number} {event.digest}\\n".encode())
"""


def line(process: subprocess.Popen[str]) -> str:
    """Read one line of a program's output; what it says on stderr explains its absence."""
    assert process.stdout is not None
    text = process.stdout.readline().strip()
    if not text:
        process.kill()
        raise AssertionError(process.communicate()[1])
    return text


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_of_drivers_that_start_at_once_one_works(root: LedgerRoot, python: Start) -> None:
    root.create("run-1").close()
    drivers = [python(CONTEND, str(root.path)) for _ in range(3)]
    for driver in drivers:
        assert line(driver) == "ready"
    for driver in drivers:
        assert driver.stdin is not None
        driver.stdin.write("go\n")
        driver.stdin.flush()
    said = sorted(line(driver) for driver in drivers)
    assert [text.split()[0] for text in said] == ["held", "held", "took"]
    assert "which is alive" in said[0]
    assert [event.type for event in root.open("run-1").events()] == ["driver-started", "mine"]


def test_a_killed_driver_is_replaced_at_once(root: LedgerRoot, python: Start) -> None:
    ledger = root.create("run-1")
    child = python(HOLD, str(root.path))
    old = int(line(child))
    holder = ledger.holder()
    assert holder is not None
    assert (holder["fence"], holder["driver"], holder["liveness"]) == (old, {"who": "child"}, "alive")
    assert holder["process"]["pid"] == child.pid and not holder["released"]
    started = time.monotonic()
    with pytest.raises(LeaseHeld, match=f"process {child.pid} "):
        ledger.take({})
    kill(child)
    assert (ledger.holder() or {})["liveness"] == "dead"
    new = ledger.take({"who": "second"})
    assert time.monotonic() - started < 5
    assert new == old + 1
    assert ledger.events()[-1].data["replaced"] == {"fence": old, "because": "dead"}
    with pytest.raises(LeaseLost, match=f"driver {new} has taken the run"):
        root.open("run-1").append("late", {}, old)


def test_a_stopped_driver_is_alive_and_keeps_the_run(root: LedgerRoot, python: Start) -> None:
    ledger = root.create("run-1")
    child = python(HOLD, str(root.path))
    line(child)
    os.kill(child.pid, signal.SIGSTOP)
    with pytest.raises(LeaseHeld):
        ledger.take({})


def test_kills_at_any_moment_leave_a_log_with_all_that_was_acknowledged(
    root: LedgerRoot, python: Start
) -> None:
    root.create("run-1").close()
    moments = random.Random(7)
    for round in range(1, 25):
        child = python(APPEND, str(root.path))
        assert line(child) == "ready"
        assert child.stdout is not None
        time.sleep(moments.random() * 0.06)
        kill(child)
        acknowledged = [text.split() for text in child.stdout.read().splitlines() if text.count(" ") == 1]
        ledger = root.open("run-1")
        events = ledger.events()
        assert events[-1].fence == round
        for number, digest in acknowledged:
            assert events[int(number) - 1].digest == digest
        last = int(acknowledged[-1][0]) if acknowledged else 0
        assert len(events) >= last
        if round % 8 == 0:
            assert fsck(ledger) == []
        ledger.close()
    assert len(events) > 100, "the kills came before anything was written"


def test_a_kill_while_a_run_is_made_leaves_no_half_of_it(tmp_path: Path, python: Start) -> None:
    program = """
import sys
from npac.ledger.root import LedgerRoot
root = LedgerRoot(sys.argv[1])
print("ready", flush=True)
for n in range(100000):
    root.create(f"run-{n}").close()
"""
    moments = random.Random(11)
    for round in range(6):
        root = LedgerRoot(str(tmp_path / str(round)))
        child = python(program, str(root.path))
        assert line(child) == "ready"
        time.sleep(0.02 + moments.random() * 0.1)
        kill(child)
        for run_id in root.runs():
            ledger = root.open(run_id)
            assert ledger.events() == []
            ledger.close()
        assert root.create("another").take({}) == 1
