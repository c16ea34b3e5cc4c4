"""Objects that were changed, removed or put there by others: damage is named, and nothing starts anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from npac.ledger.fold import fsck
from npac.ledger.objects.ledger import ObjectLedger
from npac.ledger.objects.records import LIMIT
from npac.ledger.objects.root import ObjectRoot
from npac.ledger.ports import LedgerCorrupt, LedgerError, NoSuchRun

MakeRoot = Callable[..., ObjectRoot]
RUN = "runs/run-1/"


def key(number: int) -> str:
    return f"{RUN}log/{number:012d}.json"


@pytest.fixture
def driven(s3_ledger: ObjectLedger) -> ObjectLedger:
    """Give a ledger with five events, which its driver has given back."""
    fence = s3_ledger.take({})
    for n in range(1, 5):
        s3_ledger.append("tick", {"wave": f"wave-{n}"}, fence)
    s3_ledger.heartbeat(fence)
    s3_ledger.release(fence)
    return s3_ledger


def body(bucket: Any, name: str) -> bytes:
    data: bytes = bucket.Object(name).get()["Body"].read()
    return data


def test_what_is_in_the_bucket_is_as_it_is_described(driven: ObjectLedger, bucket: Any) -> None:
    fence = driven.take({})
    driven.append("long", {"text": "x" * LIMIT}, fence)
    driven.append("nearly", {"text": "x" * (LIMIT - 300)}, fence)
    driven.ask("cancel", {})
    names = {each.key.removeprefix(RUN).partition("/")[0] for each in bucket.objects.filter(Prefix=RUN)}
    assert names == {"run.json", "log", "heartbeat", "released", "blobs", "requests"}
    assert all(each.size <= LIMIT for each in bucket.objects.filter(Prefix=f"{RUN}log/"))
    record = json.loads(body(bucket, key(3)))
    assert sorted(record) == ["digest", "event", "nonce", "sent_ms"]
    assert record["event"]["number"] == 3 and record["event"]["data"] == {"wave": "wave-2"}


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (3, lambda text: text.replace(b"wave-2", b"wave-9")),
        (4, lambda text: text.replace(b'"digest":"', b'"digest":"0', 1)),
        (2, lambda text: text.replace(b"tick", b"tock")),
        (5, lambda text: text.replace(b'"fence":1', b'"fence":7')),
        (5, lambda text: text[: len(text) // 2]),
        (1, lambda text: b""),
        (2, lambda text: b"[" * 100_000),
        (2, lambda text: b"[1]"),
        (2, lambda text: text + b" "),
        (2, lambda text: b"\xff\xfe"),
        (3, None),
        (1, None),
        (5, None),
    ],
)
def test_a_damaged_event_is_named(
    driven: ObjectLedger, make_root: MakeRoot, bucket: Any, number: int, change: Any
) -> None:
    if change is None:
        bucket.Object(key(number)).delete()
    else:
        text = body(bucket, key(number))
        assert change(text) != text
        bucket.put_object(Key=key(number), Body=change(text))
    again = make_root().open("run-1")
    for read in (again.events, again.holder, lambda: again.take({})):
        with pytest.raises(LedgerCorrupt, match=f"^event {number} of the log is damaged") as caught:
            read()
        assert caught.value.event == number and "copy" in caught.value.remedy
    assert fsck(again)[0].startswith(f"event {number} of the log is damaged")
    # Who has verified it before finds it, too, when all is replayed.
    assert fsck(driven)[0].startswith(f"event {number} of the log is damaged")


def test_a_log_that_lost_its_end_is_not_gone_on_with(
    driven: ObjectLedger, make_root: MakeRoot, bucket: Any
) -> None:
    for number in (3, 4, 5):
        bucket.Object(key(number)).delete()
    again = make_root().open("run-1")
    with pytest.raises(
        LedgerCorrupt, match=r"event 3 .* is missing, and a driver has seen the log go up to 5"
    ):
        again.take({})
    bucket.Object(f"{RUN}released/1").delete()
    with pytest.raises(LedgerCorrupt, match="event 3 "):
        make_root().open("run-1").take({})


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_gap_is_seen_by_what_comes_after_it(
    driven: ObjectLedger, make_root: MakeRoot, bucket: Any, number: int
) -> None:
    for name in (key(number), f"{RUN}released/1", f"{RUN}heartbeat/1"):
        bucket.Object(name).delete()
    with pytest.raises(LedgerCorrupt, match=f"^event {number} .* is missing, and the log goes on after it"):
        make_root().open("run-1").take({})


def test_a_log_that_is_gone_is_not_a_new_run(driven: ObjectLedger, make_root: MakeRoot, bucket: Any) -> None:
    for number in range(1, 6):
        bucket.Object(key(number)).delete()
    for read in (lambda run: run.events(), lambda run: run.take({})):
        with pytest.raises(LedgerCorrupt, match=r"event 1 .* is missing"):
            read(make_root().open("run-1"))


def test_an_event_of_another_place_is_damage(driven: ObjectLedger, make_root: MakeRoot, bucket: Any) -> None:
    bucket.put_object(Key=key(6), Body=body(bucket, key(5)))
    with pytest.raises(LedgerCorrupt, match=r"^event 6 .* event 5 is in its place"):
        make_root().open("run-1").events()


def test_what_lies_far_beyond_the_end_is_found_by_fsck(
    driven: ObjectLedger, make_root: MakeRoot, bucket: Any
) -> None:
    bucket.put_object(Key=key(60), Body=b"{}")
    bucket.put_object(Key=f"{RUN}log/notes.txt", Body=b"x")
    assert fsck(make_root().open("run-1")) == [
        "event 6 of the log is damaged: it is missing, and the log goes on with event 60"
    ]
    bucket.Object(key(60)).delete()
    faults = fsck(make_root().open("run-1"))
    assert len(faults) == 1 and faults[0].endswith("log/notes.txt is no event")


def test_a_run_that_lost_its_marker_is_neither_new_nor_there(
    driven: ObjectLedger, make_root: MakeRoot, bucket: Any
) -> None:
    bucket.Object(f"{RUN}run.json").delete()
    root = make_root()
    for act in (root.open, root.create, root.holds):
        with pytest.raises(LedgerCorrupt, match=r"has lost .*run\.json"):
            act("run-1")
    assert root.runs() == [] and root.strays() == [("run-1", "it has lost its run.json")]


@pytest.mark.parametrize("text", [b"", b"{}", b'{"format":"npac.ledger/v1"}', b"[]"])
def test_a_damaged_marker_is_named(
    driven: ObjectLedger, make_root: MakeRoot, bucket: Any, text: bytes
) -> None:
    bucket.put_object(Key=f"{RUN}run.json", Body=text)
    with pytest.raises(LedgerCorrupt, match=r"run\.json is damaged"):
        make_root().open("run-1")


def test_a_copy_under_another_name_is_not_another_run(
    driven: ObjectLedger, make_root: MakeRoot, bucket: Any
) -> None:
    bucket.put_object(Key="runs/run-2/run.json", Body=body(bucket, f"{RUN}run.json"))
    with pytest.raises(LedgerCorrupt, match="it is not of run run-2"):
        make_root().open("run-2")


def test_another_format_is_refused_in_words(driven: ObjectLedger, make_root: MakeRoot, bucket: Any) -> None:
    bucket.put_object(Key=f"{RUN}run.json", Body=b'{"format":"npac.ledger/v9"}')
    with pytest.raises(LedgerError, match="has format 'npac") as caught:
        make_root().open("run-1")
    assert not isinstance(caught.value, LedgerCorrupt) and "version of npac" in caught.value.remedy


def test_what_is_no_run_is_passed_over(make_root: MakeRoot, bucket: Any) -> None:
    make_root().create("a")
    for name in ("datasets/x.json", "bad name/run.json", "file", "a/b/run.json", ".hidden/run.json"):
        bucket.put_object(Key=f"runs/{name}", Body=b"{}")
    bucket.put_object(Key="elsewhere/run.json", Body=b"{}")
    root = make_root()
    assert root.runs() == ["a"] and root.strays() == []
    with pytest.raises(NoSuchRun):
        root.open("datasets")


def test_listings_are_read_to_their_end(make_root: MakeRoot, bucket: Any, page: int) -> None:
    names = [f"r{n:03d}" for n in range(page + 5)]
    for name in names:
        bucket.put_object(Key=f"runs/{name}/run.json", Body=b"{}")
    assert make_root().runs() == names
    ledger = make_root().create("run-1")
    asked = b'{"asked":"2024-01-01T00:00:00.000Z","data":{},"kind":"cancel","place":%d}'
    for n in range(page + 5):
        bucket.put_object(Key=f"{RUN}requests/{n:032x}", Body=asked % (page + 5 - n))
    assert [int(each.id, 16) for each in ledger.requests()] == list(reversed(range(page + 5)))


def test_damaged_requests_and_blobs_are_named(driven: ObjectLedger, make_root: MakeRoot, bucket: Any) -> None:
    ledger = make_root().open("run-1")
    fence = ledger.take({})
    digest = ledger.put_blob(b"evidence")
    ledger.append("a", {"x_blob": digest}, fence)
    request = ledger.ask("cancel", {})
    bucket.put_object(Key=f"{RUN}requests/{request}", Body=b"\xff")
    bucket.put_object(Key=f"{RUN}blobs/{digest[:2]}/{digest}", Body=b"forged")
    other = make_root().open("run-1")
    with pytest.raises(LedgerCorrupt, match=request):
        other.requests()
    with pytest.raises(LedgerCorrupt, match="does not hash to its name"):
        other.get_blob(digest)
    faults = fsck(other)
    assert (
        len(faults) == 2
        and request in faults[0]
        and f"needs x_blob: the blob s3://{bucket.name}" in faults[1]
    )
    other.put_blob(b"evidence")
    assert other.get_blob(digest) == b"evidence"


def long_log(make_root: MakeRoot, bucket: Any) -> ObjectLedger:
    ledger = make_root().create("run-1")
    fence = ledger.take({})
    for n in range(40):
        ledger.append("tick", {"n": n}, fence)
    ledger.release(fence)
    assert body(bucket, f"{RUN}snapshot").count(b"\n") == 41
    return ledger


def test_a_snapshot_is_used_and_is_only_a_cache(make_root: MakeRoot, bucket: Any, proxy: Any) -> None:
    ledger = long_log(make_root, bucket)
    whole = list(ledger.events())
    proxy.seen.clear()
    assert make_root().open("run-1").events() == whole
    assert proxy.count("GET", "log/0") < 8, "the snapshot was not used"
    good = body(bucket, f"{RUN}snapshot")
    for bad in (
        b"",
        b"{}",
        good.replace(b'"n":7}', b'"n":8}'),
        good[: len(good) // 2],
        good.rpartition(b"\n")[0],
        good + b"\n" + good.rpartition(b"\n")[2],
        b"\xff" * 100,
    ):
        bucket.put_object(Key=f"{RUN}snapshot", Body=bad)
        assert make_root().open("run-1").events() == whole
    bucket.Object(f"{RUN}snapshot").delete()
    assert make_root().open("run-1").events() == whole


def test_a_snapshot_of_another_log_is_not_believed(make_root: MakeRoot, bucket: Any) -> None:
    long_log(make_root, bucket)
    snapshot = body(bucket, f"{RUN}snapshot")
    for each in bucket.objects.filter(Prefix=RUN):
        each.delete()
    again = make_root().create("run-1")
    again.take({})
    for n in range(60):
        again.append("tock", {"n": n}, 1)
    bucket.put_object(Key=f"{RUN}snapshot", Body=snapshot)
    assert {each.type for each in make_root().open("run-1").events()[1:]} == {"tock"}


def test_a_snapshot_knows_of_events_that_are_gone(make_root: MakeRoot, bucket: Any) -> None:
    long_log(make_root, bucket)
    for number in range(20, 42):
        bucket.Object(key(number)).delete()
    for name in ("heartbeat/1", "released/1"):
        bucket.Object(RUN + name).delete()
    with pytest.raises(LedgerCorrupt, match=r"event 41 .* a snapshot of the log holds it"):
        make_root().open("run-1").take({})


def test_fsck_reads_the_log_itself_and_not_the_snapshot(make_root: MakeRoot, bucket: Any) -> None:
    long_log(make_root, bucket)
    text = body(bucket, key(9))
    bucket.put_object(Key=key(9), Body=text.replace(b'"n":7', b'"n":8'))
    ledger = make_root().open("run-1")
    assert ledger.events()[8].data == {"n": 7}, "the snapshot is what was verified when it was written"
    assert fsck(ledger)[0].startswith("event 9 of the log is damaged")


def test_a_run_made_anew_under_an_old_id_is_another_run(make_root: MakeRoot, bucket: Any) -> None:
    root = make_root()
    ledger = root.create("run-1")
    ledger.append("a", {}, ledger.take({}))
    assert len(root.open("run-1").events()) == 2
    for each in bucket.objects.filter(Prefix=RUN):
        each.delete()
    root.create("run-1")
    assert root.open("run-1").events() == []


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("s3://b-1/runs/", "s3://b-1/runs"),
        ("s3://b-1", "s3://b-1"),
        ("s3://b-1/", "s3://b-1"),
        ("s3://b-1/a b/\u00e4", "s3://b-1/a b/\u00e4"),
    ],
)
def test_a_root_is_a_bucket_and_a_prefix(url: str, place: str) -> None:
    assert ObjectRoot(url).place == place


@pytest.mark.parametrize(
    "url",
    [
        "s3://",
        "s3:///x",
        "s3://b b/x",
        "s3://b/a//b",
        "s3://b/a/../b",
        "s3://b/.",
        "s3://b/a\nb",
        "s3://b/\udc80",
        "s3://b/" + "x" * 701,
        "gs://b/x",
    ],
)
def test_other_roots_are_refused(url: str) -> None:
    with pytest.raises(LedgerError, match="no ledger root") as caught:
        ObjectRoot(url)
    assert caught.value.remedy


def test_a_bucket_may_be_the_root(bucket: Any, clients: Any) -> None:
    root = ObjectRoot(f"s3://{bucket.name}", clients=clients)
    ledger = root.create("run-1")
    ledger.append("a", {}, ledger.take({}))
    assert root.runs() == ["run-1"]
    assert len(ObjectRoot(f"s3://{bucket.name}", clients=clients).open("run-1").events()) == 2
