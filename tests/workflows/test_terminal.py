"""Signals in a real terminal: what Ctrl-C, a closed terminal and a stopped driver do, and the exit codes."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from npac import api
from tests.api.command import ROOT
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]

NPAC = "from npac.cli.main import entry; entry()"
BEGIN = (
    "import fcntl, signal, termios\n"
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
    # whoever runs these tests in the background has it ignored
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
)
CTRL_C = b"\x03"
PATIENCE = 60.0


class Terminal:
    """A command that is the foreground of a terminal of its own, whose keys the test presses."""

    def __init__(self, *argv: str) -> None:
        self.keys, theirs = pty.openpty()
        self.shown = ""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                BEGIN + NPAC,
                *argv,
            ],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=environment,
        )
        os.close(theirs)

    def read(self, seconds: float) -> bool:
        """Take in what is shown; False when the terminal is closed."""
        if not select.select([self.keys], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.keys, 65536)
        except OSError:  # all who had it open have gone
            return False
        self.shown += data.decode("utf-8", "replace")
        return bool(data)

    def until(self, what: str | Callable[[], bool]) -> None:
        """Read on until a text is shown, or something holds."""
        deadline = time.monotonic() + PATIENCE
        while not (what in self.shown if isinstance(what, str) else what()):
            assert time.monotonic() < deadline, f"waited in vain for {what}; shown: {self.shown}"
            assert self.read(0.05) or not isinstance(what, str), f"ended; shown: {self.shown}"

    def press(self, keys: bytes) -> None:
        """Press keys: the terminal turns Ctrl-C into SIGINT by itself."""
        os.write(self.keys, keys)

    def has(self, text: str, times: int) -> bool:
        """Say whether a text was shown so many times in all."""
        return self.shown.count(text) == times

    def code(self) -> int:
        """Wait for the end of the command, and give its exit code."""
        self.until(lambda: self.process.poll() is not None)
        while self.read(0.0) and select.select([self.keys], [], [], 0.0)[0]:
            pass
        return int(self.process.returncode)

    def close(self) -> None:
        """Close the terminal, and see the command end."""
        with suppress(OSError):
            os.close(self.keys)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)


Open = Callable[..., Terminal]


@pytest.fixture
def terminal(home: Path) -> Iterator[Open]:
    """Open terminals; at the end they are closed, and the runs in them cancelled."""
    opened: list[Terminal] = []

    def start(*argv: str) -> Terminal:
        opened.append(Terminal(*argv))
        return opened[-1]

    yield start
    for one in opened:
        one.close()
    for run_id in api.runs():
        if not api.status(run_id).ended:
            api.cancel(run_id)


@pytest.fixture
def busy(home: Path) -> Path:
    """A spec whose step ends when the file ``go`` is there."""
    wait = f"echo begun; while [ ! -e {home}/go ]; do sleep 0.02; done; echo done"
    return write(home, f"  first: {sh(wait, 'next: last')}\n  last: {sh('true', 'terminal: true')}\n")


def run(terminal: Open, spec: Path, *options: str) -> Terminal:
    """Run a spec in a terminal, up to where its first job runs."""
    shown = terminal("run", str(spec), "--run-id", "r", "--poll-seconds", "0.05", *options)
    shown.until(_running)
    return shown


def _running() -> bool:
    try:
        waves = api.status("r").waves
    except api.NpacError:
        return False
    return any(
        launch.status == "RUNNING" for wave in waves.values() for launch in wave.last.launches.values()
    )


def job_goes_on(home: Path) -> None:
    """Demand that the job was left alone: the run ends well, and its step ran once."""
    view = api.status("r")
    assert view.state == "running" and not view.ended
    assert view.waves["first"].last.launches[1].status == "RUNNING"
    (home / "go").touch()
    assert api.resume("r").state == "succeeded"
    assert api.status("r").waves["first"].last.number == 1


def test_ctrl_c_asks_and_a_second_one_detaches(terminal: Open, busy: Path, home: Path) -> None:
    shown = run(terminal, busy)
    shown.press(CTRL_C)
    shown.until("[c/d/g]")
    assert shown.process.poll() is None
    shown.press(CTRL_C)
    assert shown.code() == 130, shown.shown
    assert "npac resume r" in shown.shown
    job_goes_on(home)


@pytest.mark.parametrize(("answer", "code"), [(b"c\n", 4), (b"d\n", 130), (b"what\nno\nnothing\n", 130)])
def test_the_answer_is_obeyed(terminal: Open, busy: Path, home: Path, answer: bytes, code: int) -> None:
    shown = run(terminal, busy)
    shown.press(CTRL_C)
    shown.until("[c/d/g]")
    shown.press(answer)
    assert shown.code() == code, shown.shown
    if code == 4:
        assert api.status("r").state == "cancelled"
        assert api.status("r").waves["first"].last.launches[1].status == "CANCELLED"
    else:
        job_goes_on(home)


def test_going_on_forgets_the_interruption_and_the_next_one_asks_again(
    terminal: Open, busy: Path, home: Path
) -> None:
    shown = run(terminal, busy)
    shown.press(CTRL_C)
    shown.until("[c/d/g]")
    shown.press(b"g\n")
    shown.until("the run goes on")
    shown.press(CTRL_C)
    shown.until(partial(shown.has, "[c/d/g]", 2))
    shown.press(b"g\n")
    (home / "go").touch()
    assert shown.code() == 0, shown.shown
    assert api.status("r").state == "succeeded"


@pytest.mark.parametrize(("choice", "code"), [("cancel", 4), ("detach", 130)])
def test_ctrl_c_that_was_answered_beforehand_asks_nothing(
    terminal: Open, busy: Path, home: Path, choice: str, code: int
) -> None:
    shown = run(terminal, busy, "--on-interrupt", choice)
    shown.press(CTRL_C)
    assert shown.code() == code, shown.shown
    assert "[c/d/g]" not in shown.shown
    if choice == "cancel":
        assert api.status("r").state == "cancelled"
    else:
        job_goes_on(home)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_ends_detaches(terminal: Open, busy: Path, home: Path, number: int) -> None:
    shown = run(terminal, busy)
    os.kill(shown.process.pid, number)
    assert shown.code() == 130, shown.shown
    assert "npac resume r" in shown.shown
    assert api.status("r").detached
    job_goes_on(home)


def test_a_terminal_that_is_closed_detaches(terminal: Open, busy: Path, home: Path) -> None:
    shown = run(terminal, busy)
    os.close(shown.keys)  # the kernel sends SIGHUP, and nothing can be shown any more
    assert shown.process.wait(PATIENCE) == 130
    assert api.status("r").detached
    job_goes_on(home)


def test_a_terminal_that_is_closed_while_it_asks_detaches(terminal: Open, busy: Path, home: Path) -> None:
    shown = run(terminal, busy)
    shown.press(CTRL_C)
    shown.until("[c/d/g]")
    os.close(shown.keys)
    assert shown.process.wait(PATIENCE) == 130
    job_goes_on(home)


def test_what_was_started_not_to_hear_of_its_terminal_goes_on(home: Path, busy: Path) -> None:
    # As nohup does: what is ignored when npac begins stays ignored.
    code = "import signal as s; s.signal(s.SIGHUP, s.SIG_IGN); s.signal(s.SIGINT, s.SIG_IGN)\n"
    with subprocess.Popen(
        [sys.executable, "-c", code + NPAC, "run", str(busy), "--run-id", "r", "--poll-seconds", "0.05"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + PATIENCE
        while not _running():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for number in (signal.SIGHUP, signal.SIGINT):
            os.kill(process.pid, number)
        (home / "go").touch()
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors


def test_a_driver_that_was_stopped_goes_on_where_it_was(terminal: Open, busy: Path, home: Path) -> None:
    shown = run(terminal, busy)
    os.kill(shown.process.pid, signal.SIGSTOP)
    _, status = os.waitpid(shown.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    # Stopped is not dead: nobody else may take the run.
    with pytest.raises(api.NpacError, match=r"alive|another driver"):
        api.resume("r")
    (home / "go").touch()
    os.kill(shown.process.pid, signal.SIGCONT)
    assert shown.code() == 0, shown.shown


def test_ctrl_z_stops_the_driver_and_not_its_job(terminal: Open, busy: Path, home: Path) -> None:
    shown = run(terminal, busy)
    os.kill(shown.process.pid, signal.SIGTSTP)
    # A session without a shell is an orphaned group, which the kernel does not stop: the driver goes on.
    (home / "go").touch()
    assert shown.code() == 0, shown.shown


def test_keys_are_shown_again_after_the_end(terminal: Open, busy: Path, home: Path) -> None:
    shown = run(terminal, busy)
    before = termios.tcgetattr(shown.keys)
    shown.press(CTRL_C)
    shown.until("[c/d/g]")
    shown.press(b"d\n")
    assert shown.code() == 130
    assert termios.tcgetattr(shown.keys)[:4] == before[:4]
    job_goes_on(home)


@pytest.mark.parametrize(("how", "code", "state"), [("cancel", 1, "failed"), ("detach", 3, "blocked")])
def test_max_wait_ends_the_job_or_leaves_it(
    terminal: Open, busy: Path, home: Path, how: str, code: int, state: str
) -> None:
    shown = terminal(
        "run", str(busy), "--run-id", "r", "--max-wait", "1", "--on-timeout", how, "--poll-seconds", "0.05"
    )
    assert shown.code() == code, shown.shown
    view = api.status("r")
    assert (view.state, view.code) == (state, "MAX_WAIT")
    launch = view.waves["first"].last.launches[1]
    if how == "cancel":
        assert launch.status == "CANCELLED" and launch.ended
        assert re.search(r"npac retry r --max-wait 2", shown.shown)
    else:
        assert launch.status in ("STARTING", "RUNNING") and not launch.ended
        (home / "go").touch()
        assert api.resume("r").state == "succeeded"


EXITS = {
    "true": 0,
    "exit 7": 1,
}


@pytest.mark.parametrize("command", list(EXITS))
def test_the_exit_code_is_that_of_the_state(terminal: Open, home: Path, command: str) -> None:
    spec = write(home, f"  first: {sh(command, 'terminal: true')}\n")
    assert terminal("run", str(spec), "--run-id", "r").code() == EXITS[command]


def test_what_is_refused_exits_with_2(terminal: Open, home: Path) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    shown = terminal("run", str(spec), "--run-id", "../x")
    assert shown.code() == 2, shown.shown
    assert not (home / "x").exists()
