"""The trigger: nothing starts before the recordings are there, and then the calibration is really fitted."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from npac.api import NpacError, status
from tests.workflows.conftest import Finished, Runner

SPEC = "testing/inbox-trigger.yaml"
STRAIGHT = "raw,newton\n" + "".join(f"{raw},{0.5 + 0.1 * raw}\n" for raw in range(0, 80, 10))
CROOKED = "raw,newton\n0,0\n10,5\n20,1\n30,9\n"


def land(inbox: Path, name: str, text: str) -> None:
    """Put a recording into the inbox in one move, as its header asks for."""
    inbox.mkdir(parents=True, exist_ok=True)
    whole = inbox.parent / name
    whole.write_text(text, encoding="utf-8")
    whole.rename(inbox / name)


def run(runner: Runner, inbox: Path, **values: str) -> Finished:
    return runner.run(SPEC, {"inbox": str(inbox), **values})


def test_a_recording_that_lands_while_the_run_waits_starts_it(runner: Runner, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    seen: list[str] = []

    def deliver() -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                state = status("run-1").state
            except NpacError:  # not begun
                state = ""
            if state == "waiting":
                seen.append(state)
                land(inbox, "bench.csv", STRAIGHT)
                return
            time.sleep(0.02)

    courier = threading.Thread(target=deliver)
    courier.start()
    done = run(runner, inbox)
    courier.join()
    assert seen == ["waiting"], "the run did not wait for the inbox"
    assert done.result.state == "succeeded", done.result
    assert done.states() == ["calibrate", "install-calibration"]
    fitted = done.read("installed.json")
    assert fitted["recordings"] == ["bench.csv"]
    assert fitted["gain"] == pytest.approx(0.1)
    assert fitted["offset"] == pytest.approx(0.5)
    (trigger,) = done.view.triggers.values()
    assert (trigger.fired, trigger.objects) == (True, 1)


def test_a_fit_that_does_not_hold_is_not_installed(runner: Runner, tmp_path: Path) -> None:
    land(tmp_path / "inbox", "bad.csv", CROOKED)
    done = run(runner, tmp_path / "inbox")
    assert done.result.state == "succeeded", done.result
    assert done.states() == ["calibrate", "ask-for-recordings"]
    assert done.read("more-recordings-needed.json")["rmse_newton"] > 0.2
    assert not (done.folder / "installed.json").exists()


def test_it_waits_for_as_many_recordings_as_config_says_and_then_gives_up(
    runner: Runner, tmp_path: Path
) -> None:
    land(tmp_path / "inbox", "only.csv", STRAIGHT)
    done = run(runner, tmp_path / "inbox", min_recordings="2", max_polls="2")
    assert done.result.exit_code != 0, done.result
    assert done.view.waves == {}, "a step ran although its trigger had not fired"
    assert not done.folder.exists()
