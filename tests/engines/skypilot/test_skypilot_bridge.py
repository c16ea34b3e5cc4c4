"""Two processes: either may end at any time, and nothing is started or left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from npac.engines.skypilot import channel as channel_module
from npac.engines.skypilot.channel import BridgeLost, Channel
from npac.engines.skypilot.engine import SkyPilotEngine
from npac.launch.ports import EngineError
from tests.engines.skypilot.conftest import Bench, interpreter
from tests.engines.skypilot.fake_api import Request

TASK = {"name": "work", "run": "true"}
SECRET = "sk-very-secret-0123"


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as handle:
            return handle.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def pid_of(engine: SkyPilotEngine) -> int:
    process = engine._channel._process
    assert process is not None
    return process.pid


def launch(engine: SkyPilotEngine) -> str:
    return engine.launch([TASK], "job", "npa-launch-1", {"TOKEN": SECRET}).request_id


@pytest.mark.parametrize(("path", "phase"), [("/validate", "never-sent"), ("/jobs/launch", "maybe-sent")])
def test_a_bridge_that_dies_in_a_launch(bench: Bench, path: str, phase: str) -> None:
    engine = bench.engine()
    engine.about()
    over = threading.Event()

    def killing(request: Request) -> None:
        os.kill(pid_of(engine), signal.SIGKILL)
        over.wait(60)

    bench.api.behaviours[path] = killing
    try:
        with pytest.raises(BridgeLost, match="ended") as caught:
            launch(engine)
    finally:
        over.set()
    assert caught.value.phase == phase
    assert SECRET not in repr(caught.value)
    del bench.api.behaviours[path]
    assert launch(engine) in bench.api.results
    assert bench.api.count("/jobs/launch") == (1 if phase == "never-sent" else 2)


def test_a_bridge_that_died_between_calls_is_started_anew(bench: Bench) -> None:
    engine = bench.engine()
    first = engine._channel._process
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    until(lambda: first.poll() is not None, "the end of the bridge")
    assert launch(engine) in bench.api.results
    assert pid_of(engine) != first.pid


def test_a_bridge_that_does_not_answer_is_ended(bench: Bench) -> None:
    engine = bench.engine()
    pid = pid_of(engine)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(BridgeLost, match="in time"):
        engine._channel.call("server", {}, 1.0)
    assert gone(pid)


def test_the_bridge_ends_with_the_process_that_it_serves(bench: Bench) -> None:
    script = (
        "import json, os, sys, time; from pathlib import Path; "
        "from npac.engines.skypilot.channel import Channel; "
        "channel = Channel(Path(sys.argv[1]), json.loads(sys.argv[2])); channel.hello(); "
        "print(channel._process.pid, flush=True); time.sleep(600)"
    )
    import json

    root = Path(channel_module.__file__).parents[3]
    driver = subprocess.Popen(
        [sys.executable, "-c", script, str(bench.python), json.dumps(bench.environ)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    try:
        assert driver.stdout is not None
        pid = int(driver.stdout.readline())
        assert not gone(pid)
    finally:
        driver.kill()
        driver.wait()
        driver.stdout.close() if driver.stdout else None
    until(lambda: gone(pid), "the end of the bridge")


def test_a_secret_is_in_no_command_line_and_no_environment(bench: Bench) -> None:
    engine = bench.engine()
    seen: list[bytes] = []

    def looking(request: Request) -> None:
        for name in ("cmdline", "environ"):
            seen.append(Path(f"/proc/{pid_of(engine)}/{name}").read_bytes())

    bench.api.behaviours["/jobs/launch"] = looking
    with pytest.raises(EngineError):
        launch(engine)
    assert len(seen) == 2
    assert all(each and SECRET.encode() not in each for each in seen)


def test_no_server_is_ever_started(tmp_path: Path) -> None:
    bench = Bench(interpreter("NPAC_SKY_PYTHON"), tmp_path)
    bench.api.close()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    del bench.environ["SKYPILOT_API_SERVER_ENDPOINT"]
    try:
        engine = bench.engine(SKYPILOT_API_SERVER_LOCAL_PORT=str(port))
        for call in (
            engine.survey,
            lambda: launch(engine),
            lambda: engine.cancel("1"),
            lambda: engine.job("1"),
        ):
            with pytest.raises(EngineError, match="did not answer"):
                call()
        with pytest.raises(EngineError):
            engine.precheck([TASK], "job", {})
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), 2).close()
        assert not (tmp_path / "home/.sky/api_server/server.log").exists()
    finally:
        bench.close()


# --- what is no bridge, without any SkyPilot -----------------------------------------------------


def program(folder: Path, text: str) -> Path:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo 'ModuleNotFoundError: no sky' >&2; exit 1", "it ended: ModuleNotFoundError: no sky"),
        ("exit 0", "it ended"),
        ("echo hello", "no answer"),
        ("echo '[1]'", "no answer"),
        ("""echo '{"protocol": 1, "skypilot": "9"}'; sleep 60""", "not npac's bridge"),
        ("""echo '{"protocol": 2}'; sleep 60""", "not npac's bridge"),
    ],
)
def test_an_interpreter_without_skypilot(tmp_path: Path, text: str, words: str) -> None:
    channel = Channel(program(tmp_path, text), dict(os.environ))
    with pytest.raises(EngineError, match=words) as caught:
        channel.hello()
    assert caught.value.phase in ("rejected", "never-sent")
    assert caught.value.remedy


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be run") as caught:
        Channel(tmp_path / "none", {}).hello()
    assert caught.value.phase == "rejected"


def test_an_interpreter_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "START_WITHIN", 0.5)
    with pytest.raises(EngineError, match="did not answer in time"):
        Channel(program(tmp_path, "exec sleep 60"), dict(os.environ)).hello()


HELLO = """echo '{"protocol": 2, "skypilot": "9.9"}'; read line; """


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ('{"id": 7, "ok": {}}', "answered another call"),
        ('{"id": 1, "ok": 3}', "gave no answer"),
        ('{"id": 1, "error": {}}', "broke off"),
        ('{"id": 1', "said something that is no answer"),
    ],
)
def test_an_answer_that_is_none_ends_the_bridge(tmp_path: Path, answer: str, words: str) -> None:
    channel = Channel(program(tmp_path, f"{HELLO} echo '{answer}'; exec sleep 60"), dict(os.environ))
    channel.hello()
    assert channel._process is not None
    pid = channel._process.pid
    with pytest.raises(BridgeLost, match=words) as caught:
        channel.call("launch", {}, 20)
    assert caught.value.phase == "never-sent"
    assert gone(pid)


def test_a_launch_that_was_begun_is_not_known_to_be_unsent(tmp_path: Path) -> None:
    text = f"""{HELLO} echo '{{"id": 1, "event": "sending"}}'; exit 1"""
    with pytest.raises(BridgeLost, match="ended") as caught:
        Channel(program(tmp_path, text), dict(os.environ)).call("launch", {}, 20)
    assert caught.value.phase == "maybe-sent"
