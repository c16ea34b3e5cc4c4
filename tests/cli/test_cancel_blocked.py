"""A run that is blocked on an artifact which nobody can look at can still be cancelled."""

from __future__ import annotations

from pathlib import Path

import pytest

from npac.runtime import outputs
from tests.api.command import invoke
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]

FAST = ("--poll-seconds", "0.05")


def test_a_run_blocked_on_an_output_is_cancelled(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "STORE_TRIES", 1)
    place = home / "circle.json"
    first = sh(f"ln -s {place} {place}", f"outputs: [{{uri: 'file://{place}'}}], terminal: true")
    spec = write(home, f"  first: {first}\n")
    assert invoke(capsys, "run", spec, "--run-id", "r", *FAST).code == 3
    assert invoke(capsys, "cancel", "r").code == 4
    assert "r: cancelled" in invoke(capsys, "status", "r").out
    events = invoke(capsys, "events", "r").out
    assert invoke(capsys, "cancel", "r").code == 0
    assert invoke(capsys, "events", "r").out == events
