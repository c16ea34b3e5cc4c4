"""Canonical bytes and the hash chain."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.ledger.canonical import canonical_bytes, parse
from npac.ledger.events import DRIVER_STARTED, ZEROS, Chain, decode, digest_of, encode, verify_events
from npac.ledger.ports import Event, LedgerCorrupt

AT = "2026-01-02T03:04:05.678Z"
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def log(*types: str) -> list[Event]:
    """Build a log of one event for each type; every ``driver-started`` raises the fence."""
    events: list[Event] = []
    previous, fence = ZEROS, 0
    for number, type in enumerate(types, start=1):
        fence += type == DRIVER_STARTED
        body, digest = encode(number, type, fence, {"n": number}, AT, previous)
        events.append(decode(body, digest, number))
        previous = digest
    return events


def test_digest_is_sha256_of_the_canonical_json_of_all_other_fields() -> None:
    event = log(DRIVER_STARTED)[0]
    fields = dataclasses.asdict(event)
    del fields["digest"]
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert event.digest == hashlib.sha256(text.encode()).hexdigest()
    assert event.previous == "0" * 64


@given(PLAIN)
def test_what_is_read_back_has_the_same_bytes(value: Any) -> None:
    data = canonical_bytes(value)
    assert canonical_bytes(parse(data)) == data


def test_mappings_and_tuples_are_written_as_objects_and_arrays() -> None:
    assert canonical_bytes(MappingProxyType({"b": (1, 2), "a": 1.0})) == b'{"a":1,"b":[1,2]}'


@pytest.mark.parametrize("value", [2**53, float("nan"), {1: 2}, b"x", "\ud800", {"\ud800": 1}])
def test_what_has_no_canonical_json_is_refused_in_words(value: Any) -> None:
    with pytest.raises(ValueError, match="cannot be written as canonical JSON"):
        canonical_bytes(value)


def test_nesting_without_end_is_refused() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ValueError, match="too deeply"):
        canonical_bytes(value)


def test_a_good_log_verifies_and_says_where_it_ends() -> None:
    events = log(DRIVER_STARTED, "a", DRIVER_STARTED, "b")
    chain = verify_events(events)
    assert (chain.number, chain.digest, chain.fence) == (4, events[-1].digest, 2)
    assert verify_events([]).digest == ZEROS


def test_a_part_of_a_log_verifies_from_where_it_begins() -> None:
    events = log(DRIVER_STARTED, "a", "b")
    assert verify_events(events[2:], Chain(2, events[1].digest, 1)).number == 3
    with pytest.raises(LedgerCorrupt, match=r"event 3 .* digest of the event before"):
        verify_events(events[2:], Chain(2, ZEROS, 1))


@pytest.mark.parametrize("change", [{"data": {"n": 9}}, {"at": "x"}, {"type": "c"}, {"digest": ZEROS}])
def test_any_changed_field_is_found(change: dict[str, Any]) -> None:
    events = log(DRIVER_STARTED, "a", "b")
    events[1] = dataclasses.replace(events[1], **change)
    with pytest.raises(LedgerCorrupt, match="event 2 of the log is damaged"):
        verify_events(events)


def test_a_missing_event_and_a_swapped_pair_are_found() -> None:
    events = log(DRIVER_STARTED, "a", "b")
    with pytest.raises(LedgerCorrupt, match=r"event 2 .* goes on with event 3"):
        verify_events([events[0], events[2]])
    with pytest.raises(LedgerCorrupt, match="event 2 "):
        verify_events([events[0], events[2], events[1]])


@pytest.mark.parametrize(
    ("types", "fences"),
    [([DRIVER_STARTED, "a"], [1, 2]), ([DRIVER_STARTED, DRIVER_STARTED], [1, 1]), (["a"], [0])],
)
def test_a_chain_with_wrong_fences_is_refused(types: list[str], fences: list[int]) -> None:
    events, previous = [], ZEROS
    for number, (type, fence) in enumerate(zip(types, fences, strict=True), start=1):
        body, digest = encode(number, type, fence, {}, AT, previous)
        events.append(decode(body, digest, number))
        previous = digest
    with pytest.raises(LedgerCorrupt, match=f"event {len(types)} .* fence"):
        verify_events(events)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"at":1}', b"\xff"])
def test_bytes_that_hash_but_are_no_event_are_refused(body: bytes) -> None:
    with pytest.raises(LedgerCorrupt, match="event 7 "):
        decode(body, hashlib.sha256(body).hexdigest(), 7)


def test_digest_of_does_not_trust_the_digest_field() -> None:
    event = log(DRIVER_STARTED)[0]
    assert digest_of(dataclasses.replace(event, digest="x")) == event.digest
