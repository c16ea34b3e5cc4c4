"""Writes whose answer lies or is lost, and reads that fail: nothing is lost, doubled or thought absent."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from npac.ledger.fold import fsck
from npac.ledger.lease import Patience
from npac.ledger.objects.ledger import ObjectLedger
from npac.ledger.objects.root import ObjectRoot
from npac.ledger.ports import LeaseHeld, LeaseLost, LedgerCorrupt, LedgerError, NoSuchRun
from npac.ledger.surroundings import Surroundings
from tests.ledger.objects.proxy import Proxy

MakeRoot = Callable[..., ObjectRoot]
EVENT_2 = r"log/000000000002\.json"
ALWAYS = 1_000_000

# A writer that gives up after a second, so that a store can be down for longer than that.
BRIEF = Surroundings(patience=Patience(settle=1.0))

SURVIVED: dict[str, dict[str, Any]] = {
    "failed before it was stored": {"status": 500},
    "stored, then 503": {"status": 503, "stored": True},
    "busy": {"status": 503, "code": "SlowDown"},
    "cut before it was stored": {"status": 0},
    "stored, and the reply lost": {"status": 0, "stored": True},
    "stored, and its own write refused": {"status": 412, "stored": True, "code": "PreconditionFailed"},
    "refused, and nothing is there": {"status": 412, "code": "PreconditionFailed"},
    "conflict": {"status": 409, "code": "ConditionalRequestConflict"},
    "stored, then conflict": {"status": 409, "stored": True, "code": "ConditionalRequestConflict"},
    "timed out at the store": {"status": 400, "code": "RequestTimeout"},
    "stored late": {"status": 0, "later": 0.3},
    "stored very late": {"status": 503, "later": 0.9},
    "answered too late": {"delay": 3.0},
}


@pytest.mark.parametrize("fault", SURVIVED)
def test_an_append_is_stored_once_whatever_the_answer(
    s3_ledger: ObjectLedger, proxy: Proxy, make_root: MakeRoot, fault: str
) -> None:
    fence = s3_ledger.take({})
    proxy.fail("PUT", EVENT_2, **SURVIVED[fault])
    event = s3_ledger.append("a", {"n": 1}, fence)
    s3_ledger.append("b", {}, fence)
    proxy.settle()
    events = make_root().open("run-1").events()
    assert [each.type for each in events] == ["driver-started", "a", "b"] and events[1] == event
    assert not any(each.times for each in proxy.faults), "the fault did not happen"


LOST = ("stored, and the reply lost", "stored, and its own write refused", "stored late", "conflict")


@pytest.mark.parametrize("fault", LOST)
def test_a_run_is_taken_once_whatever_the_answer(
    s3_ledger: ObjectLedger, proxy: Proxy, make_root: MakeRoot, fault: str
) -> None:
    proxy.fail("PUT", r"log/000000000001\.json", **SURVIVED[fault])
    fence = s3_ledger.take({})
    assert fence == 1 and s3_ledger.append("a", {}, fence).number == 2
    proxy.settle()
    assert len(make_root().open("run-1").events()) == 2


@pytest.mark.parametrize("fault", ["failed before it was stored", *LOST[:2], "cut before it was stored"])
def test_all_else_is_written_whatever_the_answer(proxy: Proxy, make_root: MakeRoot, fault: str) -> None:
    for key in ("run.json", "blobs/", "requests/[0-9a-f]+$", "answer$", "released/1"):
        proxy.fail("PUT", key, **SURVIVED[fault])
    if SURVIVED[fault]["status"] == 412:
        # No such answer is given to a write that has no condition.
        proxy.faults = [each for each in proxy.faults if each.path not in ("blobs/", "requests/[0-9a-f]+$")]
    ledger = make_root().create("run-1")
    fence = ledger.take({})
    digest = ledger.put_blob(b"evidence")
    request = ledger.ask("cancel", {})
    ledger.answer(request, fence, {"accepted": True})
    ledger.release(fence)
    again = make_root().open("run-1")
    assert again.get_blob(digest) == b"evidence" and again.result(request) == {"accepted": True}
    assert (again.holder() or {})["released"] is True
    assert fsck(again) == [] and not any(each.times for each in proxy.faults)


@pytest.mark.parametrize(
    ("status", "code"), [(403, "AccessDenied"), (401, "Unauthorized"), (400, "BadDigest")]
)
def test_a_refused_write_is_an_error_and_no_lost_lease(
    s3_ledger: ObjectLedger, proxy: Proxy, status: int, code: str
) -> None:
    fence = s3_ledger.take({})
    proxy.fail("PUT", EVENT_2, status=status, code=code)
    with pytest.raises(LedgerError) as caught:
        s3_ledger.append("a", {}, fence)
    assert not isinstance(caught.value, (LeaseLost, LedgerCorrupt)) and caught.value.remedy
    assert proxy.count("PUT", EVENT_2) == 1
    assert s3_ledger.append("b", {}, fence).number == 2


def test_conditional_writes_are_not_repeated_by_the_client(s3_ledger: ObjectLedger, proxy: Proxy) -> None:
    fence = s3_ledger.take({})
    proxy.fail("PUT", EVENT_2, status=503, times=2)
    s3_ledger.append("a", {}, fence)
    asked = [each for each in proxy.seen if re.search(EVENT_2, each[1])]
    # Each write is followed by a look at what is there, which is what decides.
    assert [method for method, _ in asked][-5:] == ["PUT", "GET", "PUT", "GET", "PUT"]


@pytest.mark.parametrize("lands", [True, False])
def test_a_write_of_unknown_outcome_is_settled_by_the_next(
    make_root: MakeRoot, proxy: Proxy, lands: bool
) -> None:
    ledger = make_root(surroundings=BRIEF).create("run-1")
    fence = ledger.take({})
    ledger.append("intent", {"n": 1}, fence)
    down = proxy.fail("PUT", "log/000000000003", status=500, times=ALWAYS)
    with pytest.raises(LedgerError, match=r"is not known whether .* was written") as caught:
        ledger.append("intent", {"n": 2}, fence)
    assert not isinstance(caught.value, LeaseLost)
    down.times = 0
    if lands:
        # The request was under way all the time.
        proxy.fail("PUT", "log/000000000003", status=0, stored=True)
        with pytest.raises(LedgerError):
            proxy.fail("GET", "log/000000000003", status=403, code="AccessDenied")
            ledger.append("intent", {"n": 2.5}, fence)
    assert ledger.append("result", {"n": 3}, fence).number == (4 if lands else 3)
    events = make_root().open("run-1").events()
    assert [each.data["n"] for each in events[1:]] == ([1, 2.5, 3] if lands else [1, 3])
    assert fsck(ledger) == []


@pytest.mark.parametrize("status", [500, 403])
def test_after_a_lost_reply_what_cannot_be_read_blocks(
    s3_ledger: ObjectLedger, proxy: Proxy, make_root: MakeRoot, status: int
) -> None:
    fence = s3_ledger.take({})
    proxy.fail("PUT", EVENT_2, status=0, stored=True)
    unreadable = proxy.fail("GET", EVENT_2, status=status, code="AccessDenied", times=ALWAYS)
    with pytest.raises(LedgerError) as caught:
        s3_ledger.append("a", {}, fence)
    assert not isinstance(caught.value, LeaseLost)
    unreadable.times = 0
    assert s3_ledger.append("b", {}, fence).number == 3
    assert [each.type for each in make_root().open("run-1").events()] == ["driver-started", "a", "b"]


@pytest.mark.parametrize("answer", ["as it is", "lost", "failed"])
def test_another_drivers_event_means_that_the_lease_is_lost(
    make_root: MakeRoot, proxy: Proxy, answer: str
) -> None:
    old = make_root().create("run-1")
    fence = old.take({})
    silent = Surroundings(clock=lambda: Surroundings().clock() + 100)
    new = make_root(surroundings=silent).open("run-1")
    assert new.take({}) == 2
    if answer != "as it is":
        proxy.fail("PUT", EVENT_2, status=0 if answer == "lost" else 503, stored=True)
    with pytest.raises(LeaseLost, match="driver 2 has taken the run"):
        old.append("late", {}, fence)
    with pytest.raises(LeaseLost):
        old.heartbeat(fence)
    request = new.ask("cancel", {})
    with pytest.raises(LeaseLost):
        old.answer(request, fence, {})
    assert new.append("mine", {}, 2).number == 3


READS: list[Callable[[ObjectLedger], object]] = [
    lambda ledger: ledger.events(),
    lambda ledger: ledger.holder(),
    lambda ledger: ledger.take({}),
    lambda ledger: ledger.requests(),
    lambda ledger: fsck(ledger),
]
REFUSALS = [
    (403, "AccessDenied", "access was refused"),
    (404, "NoSuchBucket", "no such bucket"),
    (404, "Oops", "no such bucket at this endpoint"),
    (500, "InternalError", "failed with status 500"),
    (0, "", "did not answer"),
]


@pytest.mark.parametrize(
    ("read", "status", "code", "reason"),
    [
        *((read, *REFUSALS[0]) for read in READS),
        *((READS[0], *refusal) for refusal in REFUSALS[1:]),
        *((READS[2], *refusal) for refusal in REFUSALS[1:3]),
    ],
)
def test_what_cannot_be_read_is_not_absent(
    s3_ledger: ObjectLedger,
    make_root: MakeRoot,
    proxy: Proxy,
    read: Callable[[ObjectLedger], object],
    status: int,
    code: str,
    reason: str,
) -> None:
    fence = s3_ledger.take({})
    s3_ledger.release(fence)
    reader = make_root().open("run-1")
    # The log's second number is that at which its end is seen.
    proxy.fail("GET", "log/000000000002|list-type", status=status, code=code, times=ALWAYS)
    with pytest.raises(LedgerError, match=reason) as caught:
        read(reader)
    assert not isinstance(caught.value, (LedgerCorrupt, LeaseLost, LeaseHeld)) and caught.value.remedy
    proxy.faults.clear()
    assert len(make_root().open("run-1").events()) == 1


@pytest.mark.parametrize(("status", "code", "reason"), REFUSALS)
def test_a_run_that_cannot_be_looked_for_is_neither_there_nor_not(
    make_root: MakeRoot, proxy: Proxy, status: int, code: str, reason: str
) -> None:
    root = make_root()
    root.create("run-1")
    proxy.fail("GET", "run.json|list-type", status=status, code=code, times=ALWAYS)
    for act in (
        lambda: root.open("run-1"),
        lambda: root.holds("run-1"),
        lambda: root.create("run-2"),
        root.runs,
        root.strays,
    ):
        with pytest.raises(LedgerError, match=reason) as caught:
            act()
        assert not isinstance(caught.value, (NoSuchRun, LedgerCorrupt))
    proxy.faults.clear()
    assert root.runs() == ["run-1"]


def test_what_may_not_be_read_says_what_right_is_lacking(make_root: MakeRoot, proxy: Proxy) -> None:
    proxy.fail("GET", "run.json", status=403, code="AccessDenied")
    with pytest.raises(LedgerError) as caught:
        make_root().open("run-1")
    assert "403 even for what is not there" in caught.value.remedy


def test_a_body_that_breaks_off_is_read_again_and_never_taken_for_whole(
    s3_ledger: ObjectLedger, make_root: MakeRoot, proxy: Proxy
) -> None:
    s3_ledger.append("a", {"text": "x" * 5000}, s3_ledger.take({}))
    proxy.fail("GET", EVENT_2, cut=2000)
    assert len(make_root().open("run-1").events()) == 2
    proxy.fail("GET", EVENT_2, cut=2000, times=ALWAYS)
    with pytest.raises(LedgerError, match="to its end") as caught:
        make_root().open("run-1").events()
    assert not isinstance(caught.value, LedgerCorrupt)


def test_a_heartbeat_that_fails_is_an_error_and_not_a_lost_lease(
    s3_ledger: ObjectLedger, proxy: Proxy
) -> None:
    fence = s3_ledger.take({})
    assert s3_ledger.lease is not None
    good = s3_ledger.lease.last_good
    for status in (500, 0, 403):
        proxy.fail("PUT", "heartbeat/1", status=status, code="AccessDenied")
        with pytest.raises(LedgerError) as caught:
            s3_ledger.heartbeat(fence)
        assert not isinstance(caught.value, LeaseLost)
        assert s3_ledger.lease.last_good == good
    # Not one that was stored, either, while it is not known that nobody took the run before.
    unreadable = proxy.fail("GET", EVENT_2, status=500, times=ALWAYS)
    with pytest.raises(LedgerError):
        s3_ledger.heartbeat(fence)
    unreadable.times = 0
    assert s3_ledger.lease.last_good == good
    s3_ledger.heartbeat(fence)
    assert s3_ledger.lease.last_good > good


def test_the_end_of_the_log_is_never_looked_for_in_a_listing(make_root: MakeRoot, proxy: Proxy) -> None:
    ledger = make_root().create("run-1")
    fence = ledger.take({})
    for n in range(5):
        ledger.append("a", {"n": n}, fence)
    ledger.heartbeat(fence)
    ledger.release(fence)
    again = make_root().open("run-1")
    again.append("b", {}, again.take({}))
    assert len(again.events()) == 8 and again.holder() is not None
    assert proxy.count("GET", "list-type") == 0
