"""What status shows: the members of groups, how far a launch has come, and numbers of things."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest

from npac import api
from npac.cli.progress import Lines
from npac.cli.status import _text
from npac.running import open_ledger
from npac.runtime.fold import fold
from npac.runtime.view import AttemptView, LaunchView, WaveView
from tests.api.command import invoke
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]

FAST = ("--poll-seconds", "0.05")


def group(home: Path, more: str = "") -> Path:
    """Write a spec of three members of which one fails until the file ``mended`` is there."""
    return write(
        home,
        f"  all: {{parallel: [one, two, three], next: done{more}}}\n"
        f"  one: {sh(f'echo one >> {home}/trace')}\n"
        f"  two: {sh(f'test -e {home}/mended || exit 3')}\n"
        f"  three: {sh('true')}\n"
        "  done: {terminal: true}\n",
    )


def test_each_member_of_a_group_is_shown(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = invoke(capsys, "run", group(home), "--run-id", "r", *FAST)
    assert "npac retry r (runs only two again)" in failed.out
    shown = invoke(capsys, "status", "r").out.splitlines()
    assert [line.split() for line in shown[3:6]] == [
        ["one", "job", "1", "SUCCEEDED"],
        ["two", "job", "1", "FAILED:", "exit", "code", "3"],
        ["three", "job", "1", "SUCCEEDED"],
    ]
    data = json.loads(invoke(capsys, "status", "r", "--json").out)
    members = data["waves"]["all"]["members"]
    assert [(each["state"], each["status"], each["exit_code"]) for each in members] == [
        ("one", "SUCCEEDED", 0),
        ("two", "FAILED", 3),
        ("three", "SUCCEEDED", 0),
    ]
    (home / "mended").touch()
    assert invoke(capsys, "retry", "r", *FAST).code == 0
    after = api.status("r").waves["all"].members()
    assert [(each.state, each.job, each.attempt) for each in after] == [
        ("one", "1", 1),
        ("two", "2", 2),
        ("three", "1", 1),
    ]
    assert (home / "trace").read_text() == "one\n", "what had succeeded did not run again"


def test_a_group_that_is_retried_as_a_whole_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = invoke(capsys, "run", group(home, ", groupRetry: all"), "--run-id", "r", *FAST)
    assert "npac retry r (runs all 3 members again)" in failed.out, failed
    (home / "mended").touch()
    assert invoke(capsys, "retry", "r", *FAST).code == 0
    assert (home / "trace").read_text() == "one\none\n"


def test_members_of_later_batches_are_not_launched_yet(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(capsys, "run", group(home, ", maxConcurrency: 2"), "--run-id", "r", *FAST)
    shown = invoke(capsys, "status", "r").out
    assert re.search(r"^ +three  not launched$", shown, re.MULTILINE), shown
    assert "1 later batch was not launched" in shown


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({}, "not launched yet"),
        ({"posts": 1, "open": True}, "being launched"),
        ({"posts": 1, "accepted": True}, "accepted, not seen yet"),
        ({"posts": 1, "absent": True}, "not made"),
        ({"posts": 1, "accepted": True, "status": "RUNNING"}, "RUNNING"),
    ],
)
def test_a_launch_without_a_status_says_how_far_it_has_come(facts: dict[str, object], word: str) -> None:
    launch = LaunchView("id", "name", 1, (0,), ("a",), "here")
    for name, value in facts.items():
        setattr(launch, name, value)
    assert launch.word == word


def test_before_there_is_a_job_status_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    # The same log, cut off where a driver died between the record of its intent and the launch.
    book = open_ledger("r", None)
    whole = [event.type for event in book.events()]
    view = fold(book.events()[: whole.index("launch-intent") + 1], book.get_blob)
    shown = _text(view, None, [], None)
    assert "first  running  its job is being launched" in shown and "?" not in shown


def test_members_that_share_a_name_are_not_told_apart_by_it() -> None:
    launch = LaunchView("id", "name", 1, (0, 1), ("a", "a"), "here", status="STARTING")
    launch.task_status = [["a", "RUNNING"], ["a", "PENDING"]]
    attempt = AttemptView(1, (0, 1), "first", "", launches={1: launch})
    wave = WaveView("w", 1, "w", "parallel", {}, ("a[1]", "a[2]"), attempts=[attempt])
    assert [each.status for each in wave.members()] == ["STARTING", "STARTING"]
    launch.tasks, launch.task_status = ("a1", "a2"), [["a1", "RUNNING"], ["a2", "PENDING"]]
    assert [each.status for each in wave.members()] == ["RUNNING", "PENDING"]


def test_one_thing_is_not_many(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    assert "1 wave, 0 gates" in invoke(capsys, "compile", spec, "-o", home / "build").out
    invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    said = invoke(capsys, "why", "r").out
    assert said == "Run r of sample has succeeded. 1 wave has succeeded.\n"


def test_a_run_that_waits_says_so_once(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "in").mkdir()
    spec = write(
        home,
        f"  watch: {{trigger: {{uri: 'file://{home}/in/', pollSeconds: 1, maxPolls: 2}}, "
        f"run: {{argv: ['true']}}, terminal: true}}\n",
    )
    done = invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    assert done.code == 1, done
    assert f"put the objects at file://{home}/in/, then: npac retry r" in done.out
    assert "waiting for watch: 1 object at" in done.err
    book = open_ledger("r", None)
    kinds = [event.type for event in book.events()]
    view = fold(book.events()[: kinds.index("trigger-waiting") + 1], book.get_blob)
    assert (view.state, view.reason) == ("waiting", f"watch awaits objects at file://{home}/in/")
    (home / "in" / "a").write_text("1")
    assert invoke(capsys, "retry", "r", *FAST).code == 0


class Keyboard(io.StringIO):
    """A standard input that says it is a terminal."""

    def isatty(self) -> bool:
        """Say that there is someone to ask."""
        return True


@pytest.mark.parametrize(
    ("typed", "choice", "asked"),
    [
        ("c\n", "cancel", 1),
        ("D\n", "detach", 1),
        ("go on\n", "continue", 1),
        ("yes\n\ng\n", "continue", 3),
        ("yes\nno\nx\nc\n", "detach", 3),
        ("", "detach", 1),
    ],
)
def test_ctrl_c_is_asked_about_until_it_is_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, choice: str, asked: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Keyboard(typed))
    assert Lines().ask_interrupt() == choice
    said = capsys.readouterr().err
    assert said.count("[c/d/g]") == asked
    for words in ("c  cancel: end its jobs", "d  detach: leave its jobs running", "g  go on"):
        assert words in said
    assert ("detaching" in said) == (typed in ("", "yes\nno\nx\nc\n"))


def test_a_driver_that_was_told_to_leave_names_both_ways(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The task itself is what interrupts its driver, once it runs.
    spec = write(home, f"  first: {sh(f'kill -INT {os.getpid()}; exec sleep 600', 'terminal: true')}\n")
    before = signal.getsignal(signal.SIGINT)
    left = invoke(capsys, "run", spec, "--run-id", "r", "--on-interrupt", "detach", *FAST)
    assert signal.getsignal(signal.SIGINT) is before
    assert left.code == 130, left
    assert left.out.splitlines() == [
        "r: running: its driver has left (interrupted), its jobs go on",
        "  next: npac resume r (or, to end its jobs: npac cancel r)",
    ]
    assert invoke(capsys, "cancel", "r", *FAST).code == 4
