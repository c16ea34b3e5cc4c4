"""``npac runs fsck`` on ledgers in folders."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.api.command import invoke
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]

FAST = ("--poll-seconds", "0.05")


def made(home: Path, capsys: pytest.CaptureFixture[str], *run_ids: str, ledger: str = "") -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    for run_id in run_ids:
        more = ("--ledger", ledger) if ledger else ()
        assert invoke(capsys, "run", spec, "--run-id", run_id, *FAST, *more).code == 0


def spoil(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "ledger.sqlite")
    with connection:
        connection.execute(statement)
    connection.close()


def test_whole_ledgers_are_said_to_be_whole(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(capsys, "runs", "fsck").out.startswith("no runs in ")
    made(home, capsys, "a", "b")
    one, all_of_them = invoke(capsys, "runs", "fsck", "a"), invoke(capsys, "runs", "fsck")
    assert one.code == all_of_them.code == 0 and all_of_them.out.startswith(one.out)
    assert one.out.startswith("a: the log is whole (") and "\nb: the log is whole" in all_of_them.out


def test_the_first_bad_event_is_named_with_what_to_do(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(home, capsys, "a", "b")
    spoil(home / "home" / "runs" / "b", "UPDATE events SET digest = '0' WHERE number >= 4")
    said = invoke(capsys, "runs", "fsck")
    assert said.code == 1
    lines = said.out.splitlines()
    assert lines[0].startswith("a: the log is whole") and lines[1] == "b: damaged from event 4 on"
    assert "event 4 of the log is damaged" in lines[2] and lines[3].startswith("    help: Restore")
    told = json.loads(invoke(capsys, "runs", "fsck", "b", "--format", "json").out)
    (run,) = told["runs"]
    assert (run["run_id"], run["whole"], run["events"], run["first_bad_event"]) == ("b", False, 3, 4)
    assert run["faults"][0]["event"] == 4 and run["faults"][0]["remedy"] and told["unknown"] == []


def test_a_lost_object_is_damage_and_no_bad_event(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(home, capsys, "a")
    blob = next(each for each in (home / "home/runs/a/blobs").rglob("*") if each.is_file())
    blob.unlink()
    said = invoke(capsys, "runs", "fsck", "a")
    assert said.code == 1 and said.out.startswith("a: damaged\n") and "is missing" in said.out
    assert (
        json.loads(invoke(capsys, "runs", "fsck", "--format", "json").out)["runs"][0]["first_bad_event"]
        is None
    )


def test_what_cannot_be_opened_is_damage_among_all(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(home, capsys, "a", "b", "c")
    root = home / "home" / "runs"
    spoil(root / "b", "DROP TABLE leases")
    (root / "c" / "ledger.sqlite").unlink()
    (root / "linked").symlink_to(root / "a")
    said = invoke(capsys, "runs", "fsck")
    assert said.code == 1, said
    assert "b: damaged\n" in said.out and "its table leases is missing" in said.out
    assert "c cannot be opened: it has lost its ledger.sqlite" in said.out
    assert "linked cannot be opened: it is a link" in said.out and "a: the log is whole" in said.out


def test_events_that_make_no_run_are_found(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from npac.ledger.root import LedgerRoot

    book = LedgerRoot(str(home / "home" / "runs")).create("odd")
    fence = book.take({})
    book.append("run-created", {"nothing": "of what it must hold"}, fence)
    book.release(fence)
    said = invoke(capsys, "runs", "fsck", "odd")
    assert said.code == 1 and "do not make a run" in said.out and "version of npac" in said.out


def test_it_takes_the_ledger_root_where_the_advice_puts_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(home, capsys, "a", ledger="elsewhere")
    before = invoke(capsys, "runs", "--ledger", "elsewhere", "fsck", "a")
    after = invoke(capsys, "runs", "fsck", "a", "--ledger", "elsewhere")
    assert before == after and after.code == 0
    assert invoke(capsys, "runs", "fsck", "a").code == 2
