"""The fold, and the words made from it."""

from __future__ import annotations

import pytest

from npac.ledger.ports import Event, LedgerCorrupt
from npac.runtime import api, fold
from npac.runtime import events as ev
from npac.runtime.admission import overlap
from npac.runtime.advice import next_step
from npac.runtime.api import RunOptions
from npac.runtime.view import RunView
from tests.runtime.programs import chain, gate_loop, step


def test_a_view_is_a_function_of_the_events(bench):
    assert bench.start(gate_loop(bench, 3, 2)).state == "succeeded"
    ledger = bench.ledgers().open("run")
    events = ledger.events()
    assert fold.fold(events, ledger.get_blob) == fold.fold(events, ledger.get_blob)
    grown = RunView()
    for event in events:
        fold.advance(grown, event, ledger.get_blob)
    assert grown == api.run_view(ledger)
    assert grown.head == len(events)


def test_every_state_on_the_way_is_seen(bench):
    bench.start(chain(step("a", f"echo 1 > {bench.work}/a", [bench.uri("a")])))
    ledger = bench.ledgers().open("run")
    events = ledger.events()
    states = [fold.fold(events[:n], ledger.get_blob).state for n in range(len(events) + 1)]
    assert states[:2] == ["planned", "planned"]
    assert set(states[2:-1]) == {"running"}
    assert states[-1] == "succeeded"


def test_an_unknown_event_is_passed_over():
    event = Event(7, "from-the-future", 1, {"x": 1}, "2030-01-01T00:00:00Z", "0" * 64, "1" * 64)
    view = fold.fold([event], lambda digest: b"")
    assert (view.head, view.state) == (7, "planned")


def test_long_data_goes_into_a_blob_and_back():
    blobs: dict[str, bytes] = {}

    def put(data: bytes) -> str:
        blobs["d"] = data
        return "d"

    short = {"a": ["x"]}
    long = {"a": ["x" * ev.INLINE_LIMIT]}
    assert ev.packed(short, put) is short
    packed = ev.packed(long, put)
    assert packed == {"data_blob": "d"}
    event = Event(1, "t", 1, packed, "", "", "")
    assert ev.unpacked(event, blobs.__getitem__) == long
    with pytest.raises(LedgerCorrupt, match="event 1"):
        ev.unpacked(event, lambda digest: b"[]")


def test_every_event_type_is_described():
    types = [value for name, value in vars(ev).items() if name.isupper() and isinstance(value, str)]
    described = ev.__doc__ or ""
    assert [t for t in types if t != ev.SCHEMA and f"``{t}``" not in described] == []


def test_a_blob_key_ends_as_the_ledger_expects(bench):
    from npac.ledger.fold import fsck

    bench.start(gate_loop(bench, 2, 1))
    ledger = bench.ledgers().open("run")
    assert fsck(ledger) == []
    digest = bench.view().blobs["program"]
    for place in ledger.folder.rglob(f"*{digest[4:]}*"):
        place.unlink()
    assert any("program_blob" in fault for fault in fsck(ledger))


def test_why_tells_evidence_cause_and_next_step(bench):
    program = chain(
        step("train", f"echo 1 > {bench.work}/model", [bench.uri("model")]), step("judge", "exit 7")
    )
    bench.start(program, RunOptions(retries=1))
    view = bench.view()
    said = api.why(view)
    assert said.startswith("Run run of chain has failed.")
    assert "judge ended FAILED with exit code 7" in said
    assert "1 wave has succeeded; it was last at judge." in said
    assert said.endswith(f"Next: {next_step(view)}")
    wave = api.why(view, "judge")
    assert "in attempt 2" in wave
    assert "Before that, attempt 1:" in wave
    assert f"writer of {bench.uri('model')}" in api.why(view, "1")
    assert wave.endswith(f"Next: {next_step(view)}")
    with pytest.raises(KeyError):
        api.why(view, "nothing")
    assert "has not begun" in api.why(RunView())


@pytest.mark.parametrize(
    ("one", "one_kind", "other", "other_kind", "expected"),
    [
        ("s3://bkt/a", "file", "s3://bkt/a", "file", True),
        ("s3://bkt/a/", "directory", "s3://bkt/a", "directory", True),
        ("s3://bkt/a/", "directory", "s3://bkt/a/x", "file", True),
        ("s3://bkt/a/x", "file", "s3://bkt/a/", "directory", True),
        ("s3://bkt/a", "file", "s3://bkt/a/x", "file", False),
        ("s3://bkt/a/", "directory", "s3://bkt/ab", "file", False),
    ],
)
def test_outputs_overlap_when_they_share_an_object(one, one_kind, other, other_kind, expected):
    assert overlap(one, one_kind, other, other_kind) is expected
