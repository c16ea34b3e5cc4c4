"""Appending, reading, requests and blobs of one run's ledger."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from npac.ledger.events import ZEROS
from npac.ledger.fold import blob_references, fsck, verify_events
from npac.ledger.ports import LeaseLost, LedgerCorrupt, LedgerError
from npac.ledger.root import LedgerRoot
from npac.ledger.sqlite import SqliteLedger


def tamper(ledger: SqliteLedger, statement: str, *values: Any) -> None:
    """Change the file as somebody with an SQLite shell would."""
    with sqlite3.connect(ledger.folder / "ledger.sqlite") as connection:
        connection.execute(statement, values)
    connection.close()


def test_events_are_numbered_chained_and_read_back_equal(ledger: SqliteLedger) -> None:
    fence = ledger.take({"version": "1"})
    second = ledger.append("wave-started", {"wave": "train", "tags": ("a", "b")}, fence)
    third = ledger.append("wave-finished", {"wave": "train", "score": 0.5}, fence)
    events = ledger.events()
    assert [event.number for event in events] == [1, 2, 3]
    assert events[0].type == "driver-started" and events[0].previous == ZEROS
    assert events[0].data["driver"] == {"version": "1"} and events[0].data["replaced"] is None
    assert list(events[1:]) == [second, third]
    assert second.data["tags"] == ["a", "b"] and third.previous == second.digest
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event.at) for event in events)
    assert verify_events(events).number == 3


def test_events_after_a_number(ledger: SqliteLedger) -> None:
    fence = ledger.take({})
    for n in range(4):
        ledger.append("tick", {"n": n}, fence)
    assert [event.data["n"] for event in ledger.events(after=3)] == [2, 3]
    assert ledger.events(after=5) == [] and ledger.events(after=99) == []


def test_a_second_ledger_object_sees_what_the_first_wrote(ledger: SqliteLedger, root: LedgerRoot) -> None:
    reader = root.open("run-1")
    assert reader.events() == [] and reader.holder() is None
    fence = ledger.take({})
    ledger.append("a", {}, fence)
    assert [event.type for event in reader.events()] == ["driver-started", "a"]


def test_nothing_is_appended_without_the_lease(ledger: SqliteLedger) -> None:
    with pytest.raises(LeaseLost, match="fence 0 is not in force"):
        ledger.append("a", {}, 0)
    fence = ledger.take({})
    for wrong in (0, fence + 1):
        for act in (
            lambda fence: ledger.append("a", {}, fence),
            ledger.heartbeat,
            ledger.release,
            lambda fence: ledger.answer("x", fence, {}),
        ):
            with pytest.raises(LeaseLost):
                act(wrong)
    assert len(ledger.events()) == 1


def test_a_released_lease_is_over_and_the_next_fence_is_higher(
    ledger: SqliteLedger, root: LedgerRoot
) -> None:
    first = ledger.take({})
    ledger.release(first)
    ledger.release(first)
    with pytest.raises(LeaseLost, match="given back"):
        ledger.append("a", {}, first)
    with pytest.raises(LeaseLost, match="given back"):
        ledger.heartbeat(first)
    second = root.open("run-1").take({"who": "next"})
    assert second == first + 1
    with pytest.raises(LeaseLost, match=f"driver {second} has taken the run"):
        ledger.append("a", {}, first)
    with pytest.raises(LeaseLost):
        ledger.release(first)
    assert ledger.events()[-1].data["replaced"] == {"fence": first, "because": "released"}


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("UPDATE events SET body = replace(body, 'wave-2', 'wave-9') WHERE number = 3", 3),
        ("UPDATE events SET body = CAST(replace(body, 'wave-2', 'wave-9') AS BLOB) WHERE number = 3", 3),
        ("UPDATE events SET digest = '0' WHERE number = 4", 4),
        ("UPDATE events SET type = 'other' WHERE number = 2", 2),
        ("UPDATE events SET fence = 7 WHERE number = 5", 5),
        ("DELETE FROM events WHERE number = 1", 1),
        ("DELETE FROM events WHERE number = 3", 3),
        ("DELETE FROM events WHERE number = 5", 5),
        ("DELETE FROM events", 1),
        ("INSERT INTO events SELECT 6, type, fence, digest, body FROM events WHERE number = 5", 6),
        ("UPDATE events SET number = 9 WHERE number = 2", 2),
        ("UPDATE head SET number = 4", 5),
    ],
)
def test_tampering_names_the_event(ledger: SqliteLedger, statement: str, number: int) -> None:
    fence = ledger.take({})
    for n in range(1, 5):
        ledger.append("tick", {"wave": f"wave-{n}"}, fence)
    tamper(ledger, statement)
    with pytest.raises(LedgerCorrupt, match=f"^event {number} of the log is damaged"):
        ledger.events()
    assert fsck(ledger)[0].startswith(f"event {number} of the log is damaged")


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM head", "UPDATE head SET fence = 'x'", "DELETE FROM leases", "DROP TABLE leases"],
)
def test_a_ledger_that_lost_its_bookkeeping_is_damaged_not_empty(
    ledger: SqliteLedger, statement: str
) -> None:
    ledger.take({})
    tamper(ledger, statement)
    with pytest.raises(LedgerCorrupt):
        ledger.holder()
    with pytest.raises(LedgerCorrupt):
        ledger.take({})


def test_requests_are_kept_in_order_until_they_are_answered(ledger: SqliteLedger, root: LedgerRoot) -> None:
    other = root.open("run-1")
    first = other.ask("cancel", {"reason": "enough"})
    second = other.ask("retry", {"wave": "train"})
    fence = ledger.take({})
    assert [(r.id, r.kind, r.data) for r in ledger.requests()] == [
        (first, "cancel", {"reason": "enough"}),
        (second, "retry", {"wave": "train"}),
    ]
    assert other.result(first) is None
    ledger.answer(first, fence, {"done": True})
    assert [r.id for r in other.requests()] == [second]
    assert other.result(first) == {"done": True}
    with pytest.raises(LedgerError, match="no open request"):
        ledger.answer(first, fence, {"done": False})
    assert other.result(first) == {"done": True}
    with pytest.raises(LedgerError, match="no request nonsense"):
        other.result("nonsense")


def test_a_damaged_request_is_not_passed_over(ledger: SqliteLedger) -> None:
    request = ledger.ask("cancel", {})
    tamper(ledger, "UPDATE requests SET data = x'ff'")
    with pytest.raises(LedgerCorrupt, match=request):
        ledger.requests()


def test_blobs_are_stored_by_digest_for_the_owner_only(ledger: SqliteLedger) -> None:
    digest = ledger.put_blob(b"evidence")
    assert ledger.put_blob(b"evidence") == digest
    assert ledger.get_blob(digest) == b"evidence"
    path = ledger.folder / "blobs" / digest[:2] / digest
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == [digest]


def test_a_damaged_blob_is_found_and_written_anew(ledger: SqliteLedger) -> None:
    digest = ledger.put_blob(b"evidence")
    path = ledger.folder / "blobs" / digest[:2] / digest
    path.write_bytes(b"forged")
    with pytest.raises(LedgerCorrupt, match="does not hash to its name"):
        ledger.get_blob(digest)
    ledger.put_blob(b"evidence")
    assert ledger.get_blob(digest) == b"evidence"


@pytest.mark.parametrize("digest", ["../../ledger.sqlite", "", "A" * 64, "a" * 63, "a" * 64 + "\n"])
def test_only_digests_name_blobs(ledger: SqliteLedger, digest: str) -> None:
    with pytest.raises(LedgerError, match="is not the sha256 of a blob"):
        ledger.get_blob(digest)


def test_a_blob_is_never_reached_by_a_link(ledger: SqliteLedger, tmp_path: Path) -> None:
    digest = ledger.put_blob(b"evidence")
    path = ledger.folder / "blobs" / digest[:2] / digest
    (tmp_path / "elsewhere").write_bytes(b"evidence")
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LedgerError, match="could not read the blob"):
        ledger.get_blob(digest)


def test_fsck_follows_every_reference_to_a_blob(ledger: SqliteLedger) -> None:
    fence = ledger.take({})
    good, lost, bad = (ledger.put_blob(data) for data in (b"good", b"lost", b"bad"))
    ledger.append("a", {"spec_blob": good, "none_blob": None, "deep": [{"log_blob": lost}]}, fence)
    ledger.append("b", {"x": {"manifest_blob": bad}, "odd_blob": 3, "map_blob": {"in_blob": good}}, fence)
    assert [(e.number, k) for e, k, _ in blob_references(ledger.events())] == [
        (2, "log_blob"),
        (2, "spec_blob"),
        (3, "in_blob"),
        (3, "odd_blob"),
        (3, "manifest_blob"),
    ]
    (ledger.folder / "blobs" / lost[:2] / lost).unlink()
    (ledger.folder / "blobs" / bad[:2] / bad).write_bytes(b"x")
    faults = fsck(ledger)
    assert len(faults) == 3
    assert "event 2 needs log_blob" in faults[0] and "is missing" in faults[0]
    assert "event 3 names 3 as odd_blob" in faults[1]
    assert "event 3 needs manifest_blob" in faults[2] and "does not hash" in faults[2]


def test_fsck_of_a_sound_ledger_finds_nothing(ledger: SqliteLedger) -> None:
    assert fsck(ledger) == []
    fence = ledger.take({})
    ledger.append("a", {"spec_blob": ledger.put_blob(b"x")}, fence)
    assert fsck(ledger) == []
