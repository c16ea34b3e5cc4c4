"""What holds for the ledgers of every kind of root: in folders and on s3://."""

from __future__ import annotations

import dataclasses
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from npac.ledger.events import ZEROS
from npac.ledger.fold import fsck, verify_events
from npac.ledger.lease import MAY_ACT, SILENCE
from npac.ledger.ports import (
    LeaseHeld,
    LeaseLost,
    LedgerCorrupt,
    LedgerError,
    NoSuchRun,
    Root,
    RunLedger,
)
from npac.ledger.process import ProcessIdentity, this_process
from npac.ledger.root import LedgerRoot
from npac.ledger.surroundings import Surroundings
from tests.ledger.clock import Clock
from tests.ledger.objects.proxy import proxied

MakeRoot = Callable[..., Root]


@pytest.fixture(scope="module")
def clients(moto_url: str) -> Iterator[Any]:
    """Give clients of an S3 server whose conditional writes are atomic.

    Making a client takes longer than most of these tests, and it knows nothing of ledgers.
    """
    pytest.importorskip("boto3", reason="boto3 is not installed")
    from npac.ledger.objects.client import Clients

    with proxied(moto_url) as proxy, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", proxy.url)
        patch.setenv("AWS_REGION", "us-east-1")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        made = Clients()
        assert made.repeating is not made.once
        yield made


@pytest.fixture(params=["file", "s3"])
def make_root(request: pytest.FixtureRequest, tmp_path: Path) -> MakeRoot:
    """Give what makes roots at one and the same place, each as another process would."""
    if request.param == "file":
        return lambda **given: LedgerRoot(str(tmp_path / "root"), **given)
    from npac.ledger.objects.root import ObjectRoot

    clients = request.getfixturevalue("clients")
    bucket = f"bucket-{uuid.uuid4().hex}"
    clients.repeating.create_bucket(Bucket=bucket)
    return lambda **given: ObjectRoot(f"s3://{bucket}/a/runs", clients=clients, **given)


@pytest.fixture
def root(make_root: MakeRoot) -> Root:  # type: ignore[override, unused-ignore]
    return make_root()


@pytest.fixture
def ledger(root: Root) -> RunLedger:  # type: ignore[override, unused-ignore]
    return root.create("run-1")


def elsewhere() -> ProcessIdentity:
    """Give a process of another machine, of which nothing can be proven here."""
    return dataclasses.replace(this_process(), host="elsewhere", boot_id="another-boot")


def test_a_root_is_empty_until_a_run_is_made(make_root: MakeRoot) -> None:
    root = make_root()
    assert root.runs() == [] and root.strays() == [] and root.holds("run-1") is False
    with pytest.raises(NoSuchRun, match="there is no run run-1") as caught:
        root.open("run-1")
    assert "npac runs" in caught.value.remedy and root.place in str(caught.value)
    root.create("run-1")
    root.create("a.b_c-9")
    assert make_root().runs() == ["a.b_c-9", "run-1"] and root.holds("run-1") is True
    assert root.strays() == [] and root.caution("run-1") == ""


def test_a_run_is_made_once(make_root: MakeRoot) -> None:
    make_root().create("run-1").take({})
    with pytest.raises(LedgerError, match="run run-1 exists already") as caught:
        make_root().create("run-1")
    assert "npac resume run-1" in caught.value.remedy
    assert len(make_root().open("run-1").events()) == 1


@pytest.mark.parametrize(
    "run_id", ["", ".", "..", "a/b", "../x", "-a", "_a", "a b", "a\n", "\u00e4", "a" * 97, ".npac", "a\0"]
)
def test_no_name_leads_out_of_the_root(root: Root, run_id: str) -> None:
    for act in (root.create, root.open, root.holds):
        with pytest.raises(LedgerError, match="cannot be a run id"):
            act(run_id)


def test_of_many_that_make_one_run_one_does(make_root: MakeRoot) -> None:
    outcomes: list[str] = []

    def make() -> None:
        try:
            make_root().create("run-1")
            outcomes.append("made")
        except LedgerError as error:
            outcomes.append("exists" if "exists already" in str(error) else str(error))

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["exists"] * 5 + ["made"]


def test_events_are_numbered_chained_and_read_back_equal(ledger: RunLedger, make_root: MakeRoot) -> None:
    fence = ledger.take({"version": "1"})
    second = ledger.append("wave-started", {"wave": "train", "tags": ("a", "b")}, fence)
    third = ledger.append("wave-finished", {"wave": "tr\u00e4in \ud800", "score": 0.5, "n": 2**60}, fence)
    for events in (ledger.events(), make_root().open("run-1").events()):
        assert [event.number for event in events] == [1, 2, 3]
        assert events[0].type == "driver-started" and events[0].previous == ZEROS
        assert events[0].data["driver"] == {"version": "1"} and events[0].data["replaced"] is None
        assert list(events[1:]) == [second, third]
        assert verify_events(events).number == 3
    assert second.data["tags"] == ["a", "b"] and third.previous == second.digest
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", second.at)


def test_events_after_a_number(ledger: RunLedger) -> None:
    assert ledger.events() == []
    fence = ledger.take({})
    for n in range(4):
        ledger.append("tick", {"n": n}, fence)
    assert [event.data["n"] for event in ledger.events(after=3)] == [2, 3]
    assert ledger.events(after=5) == [] and ledger.events(after=99) == []


def test_long_logs_are_read_whole(ledger: RunLedger, make_root: MakeRoot) -> None:
    fence = ledger.take({})
    for n in range(75):
        ledger.append("tick", {"n": n}, fence)
    ledger.release(fence)
    again = make_root().open("run-1")
    assert [event.data["n"] for event in again.events()[1:]] == list(range(75))
    second = again.take({})
    again.append("tick", {"n": 75}, second)
    assert [event.number for event in make_root().open("run-1").events(after=70)] == list(range(71, 79))
    assert fsck(again) == []


def test_a_reader_follows_a_writer(ledger: RunLedger, make_root: MakeRoot) -> None:
    reader = make_root().open("run-1")
    assert reader.events() == [] and reader.holder() is None
    fence = ledger.take({"who": "w"})
    assert [event.type for event in reader.events()] == ["driver-started"]
    ledger.append("a", {}, fence)
    assert [event.type for event in reader.events(after=1)] == ["a"]
    holder = reader.holder()
    assert holder is not None and holder["fence"] == fence and holder["driver"] == {"who": "w"}
    assert (holder["released"], holder["liveness"]) == (False, "alive")
    ledger.release(fence)
    assert (reader.holder() or {})["released"] is True


def test_nothing_is_written_without_the_lease(ledger: RunLedger) -> None:
    with pytest.raises(LeaseLost, match="fence 0 is not in force"):
        ledger.append("a", {}, 0)
    fence = ledger.take({})
    request = ledger.ask("cancel", {})
    for wrong in (0, fence + 1):
        for act in (
            lambda fence: ledger.append("a", {}, fence),
            ledger.heartbeat,
            ledger.release,
            lambda fence: ledger.answer(request, fence, {}),
        ):
            with pytest.raises(LeaseLost):
                act(wrong)
    assert len(ledger.events()) == 1 and ledger.result(request) is None


def test_a_released_lease_is_over_and_the_next_fence_is_higher(
    ledger: RunLedger, make_root: MakeRoot
) -> None:
    first = ledger.take({})
    ledger.release(first)
    ledger.release(first)
    for act in (lambda: ledger.append("a", {}, first), lambda: ledger.heartbeat(first)):
        with pytest.raises(LeaseLost, match="given back"):
            act()
    other = make_root().open("run-1")
    second = other.take({"who": "next"})
    assert second == first + 1
    for act in (
        lambda: ledger.append("a", {}, first),
        lambda: ledger.heartbeat(first),
        lambda: ledger.release(first),
    ):
        with pytest.raises(LeaseLost, match=f"driver {second} has taken the run"):
            act()
    assert ledger.events()[-1].data["replaced"] == {"fence": first, "because": "released"}


def test_a_holder_that_is_alive_keeps_the_run(ledger: RunLedger, make_root: MakeRoot) -> None:
    ledger.take({})
    with pytest.raises(LeaseHeld, match="which is alive") as caught:
        make_root().open("run-1").take({})
    assert "end that process" in caught.value.remedy


def test_a_silent_driver_of_another_machine_is_replaced_after_a_minute(make_root: MakeRoot) -> None:
    clock = Clock()
    there = make_root(surroundings=Surroundings(process=elsewhere)).create("r")
    old = there.take({"who": "old"})
    here = make_root(surroundings=clock.around()).open("r")
    assert (here.holder() or {})["liveness"] == "unknown"
    assert here.take({"who": "new"}) == old + 1 and SILENCE <= clock.slept <= SILENCE + 5
    assert here.events()[-1].data["replaced"] == {"fence": old, "because": "silent"}
    for act in (lambda: there.append("late", {}, old), lambda: there.heartbeat(old)):
        with pytest.raises(LeaseLost, match="has taken the run"):
            act()


@pytest.mark.parametrize("sign", ["heartbeat", "append", "release and take"])
def test_a_driver_of_another_machine_that_gives_a_sign_of_life_keeps_the_run(
    make_root: MakeRoot, sign: str
) -> None:
    clock = Clock()
    there = make_root(surroundings=Surroundings(process=elsewhere)).create("r")
    fence = there.take({})

    def act() -> None:
        if sign == "heartbeat":
            there.heartbeat(fence)
        elif sign == "append":
            there.append("tick", {}, fence)
        else:
            there.release(fence)
            there.take({})

    clock.at[45.0] = act
    here = make_root(surroundings=clock.around()).open("r")
    with pytest.raises(LeaseHeld, match="elsewhere"):
        here.take({})
    assert 45.0 <= clock.slept <= 50.0


def test_a_driver_that_gives_the_run_back_while_it_is_watched_frees_it_at_once(make_root: MakeRoot) -> None:
    clock = Clock()
    there = make_root(surroundings=Surroundings(process=elsewhere)).create("r")
    fence = there.take({})
    clock.at[10.0] = lambda: there.release(fence)
    here = make_root(surroundings=clock.around()).open("r")
    assert here.take({}) == fence + 1
    assert clock.slept <= 15.0


@pytest.mark.parametrize("last", ["take", "append", "heartbeat"])
def test_a_living_driver_of_this_machine_that_hangs_is_replaced(make_root: MakeRoot, last: str) -> None:
    clock = Clock()
    hung = make_root(surroundings=clock.around()).create("r")
    old = hung.take({})
    clock.time += 50
    if last == "append":
        hung.append("tick", {}, old)
    elif last == "heartbeat":
        hung.heartbeat(old)
    clock.time += SILENCE - 1 - (50 if last == "take" else 0)
    with pytest.raises(LeaseHeld, match=r"process .* which is alive"):
        make_root(surroundings=clock.around()).open("r").take({})
    clock.time += 1
    assert make_root(surroundings=clock.around()).open("r").take({}) == old + 1
    assert clock.slept == 0


def test_heartbeats_and_appends_renew_the_lease_from_when_they_were_sent(make_root: MakeRoot) -> None:
    clock = Clock()
    ledger: Any = make_root(surroundings=clock.around()).create("r")
    fence = ledger.take({})
    for renew in (lambda: ledger.heartbeat(fence), lambda: ledger.append("tick", {}, fence)):
        clock.time += MAY_ACT + 1
        assert not ledger.lease.may_act(clock.now())
        renew()
        assert ledger.lease.last_good == clock.now() and ledger.lease.may_act(clock.now())


def test_of_many_takers_one_gets_the_run(make_root: MakeRoot) -> None:
    make_root().create("r")
    outcomes: list[str] = []

    def take() -> None:
        try:
            outcomes.append(f"took {make_root().open('r').take({})}")
        except LeaseHeld:
            outcomes.append("held")

    threads = [threading.Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["held"] * 5 + ["took 1"]
    assert [event.type for event in make_root().open("r").events()] == ["driver-started"]


def test_data_that_is_no_json_leaves_the_log_as_it_was(ledger: RunLedger) -> None:
    fence = ledger.take({})
    with pytest.raises(ValueError, match="canonical JSON"):
        ledger.append("a", {"size": b"60"}, fence)
    with pytest.raises(ValueError, match="take the run"):
        ledger.append("driver-started", {}, fence)
    assert ledger.append("a", {}, fence).number == 2


def test_threads_append_one_after_the_other(ledger: RunLedger) -> None:
    fence = ledger.take({})
    threads = [
        threading.Thread(target=lambda: [ledger.append("t", {}, fence) for _ in range(10)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.events()) == 41 and fsck(ledger) == []


def test_an_event_of_any_length_is_kept(ledger: RunLedger, make_root: MakeRoot) -> None:
    from npac.runtime.events import unpacked

    fence = ledger.take({})
    data = {"reason": "\u00e4\n" * 100_000, "code": "X"}
    event = ledger.append("run-blocked", data, fence)
    reader = make_root().open("run-1")
    (read,) = reader.events(after=1)
    assert read == event and unpacked(read, reader.get_blob) == data
    assert fsck(reader) == []


def test_requests_are_kept_in_order_until_they_are_answered(ledger: RunLedger, make_root: MakeRoot) -> None:
    other = make_root().open("run-1")
    asked = [other.ask("cancel", {"reason": f"n{n} \ud800"}) for n in range(5)]
    fence = ledger.take({})
    assert [(r.id, r.kind, r.data) for r in ledger.requests()] == [
        (id, "cancel", {"reason": f"n{n} \\ud800"}) for n, id in enumerate(asked)
    ]
    assert other.result(asked[0]) is None
    ledger.answer(asked[0], fence, {"done": True})
    assert [r.id for r in other.requests()] == asked[1:]
    assert other.result(asked[0]) == {"done": True}
    with pytest.raises(LedgerError, match="no open request"):
        ledger.answer(asked[0], fence, {"done": False})
    with pytest.raises(LedgerError, match="no open request"):
        ledger.answer("0" * 32, fence, {})
    assert other.result(asked[0]) == {"done": True}
    for odd in ("nonsense", "../run", "0" * 32, ""):
        with pytest.raises(LedgerError, match=f"no request {re.escape(odd)}"):
            other.result(odd)


def test_blobs_are_stored_by_digest(ledger: RunLedger, make_root: MakeRoot) -> None:
    for data in (b"", b"evidence", bytes(range(256)) * 2000):
        digest = ledger.put_blob(data)
        assert ledger.put_blob(data) == digest
        assert make_root().open("run-1").get_blob(digest) == data
    with pytest.raises(LedgerError, match="is missing"):
        ledger.get_blob("0" * 64)
    for odd in ("../../run.json", "", "A" * 64, "a" * 63, "a" * 64 + "\n"):
        with pytest.raises(LedgerError, match="is not the sha256 of a blob"):
            ledger.get_blob(odd)


def test_fsck_finds_references_to_blobs_that_are_not_there(ledger: RunLedger) -> None:
    assert fsck(ledger) == []
    fence = ledger.take({})
    good = ledger.put_blob(b"good")
    ledger.append("a", {"spec_blob": good, "none_blob": None, "deep": [{"log_blob": "0" * 64}]}, fence)
    ledger.append("b", {"odd_blob": 3}, fence)
    faults = fsck(ledger)
    assert len(faults) == 2
    assert "event 2 needs log_blob" in faults[0] and "is missing" in faults[0]
    assert "event 3 names 3 as odd_blob" in faults[1]


def test_corruption_names_its_event() -> None:
    from npac.ledger.events import corrupt

    error = corrupt(7, "why")
    assert isinstance(error, LedgerCorrupt) and error.event == 7 and "event 7" in str(error)
