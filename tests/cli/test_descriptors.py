"""A process that uses the API for long, or has many files open, can go on doing so."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from npac.runtime.signals import NoInterrupts, caught
from tests.api.command import invoke
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]


def _open_ledgers() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return [path for path in found if "ledger.sqlite" in path]


def test_no_command_leaves_the_ledger_open(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    before = _open_ledgers()
    assert invoke(capsys, "run", spec, "--run-id", "r", "--poll-seconds", "0.05").code == 0
    assert _open_ledgers() == before
    for command in ("status", "why", "events", "logs", "resume", "cancel"):
        invoke(capsys, command, "r")
        assert _open_ledgers() == before, command
    invoke(capsys, "runs")
    assert _open_ledgers() == before


def test_waiting_takes_a_descriptor_of_any_number() -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(most[0], min(most[1], 4096)), most[1]))
    held = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
    try:
        assert held[-1] >= 1024
        with caught() as interrupts:
            assert not isinstance(interrupts, NoInterrupts)
            interrupts.wait(0.01)
    finally:
        for number in held:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
