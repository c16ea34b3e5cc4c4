"""What a decision artifact may hold besides its decision, and what makes it none."""

from __future__ import annotations

import json

import pytest

from npac.runtime.decisions import MAX_DEPTH, DecisionError, parse


def refused(data: bytes) -> str:
    with pytest.raises(DecisionError) as caught:
        parse(data)
    said = str(caught.value)
    assert len(said) < 500 and "recursion" not in said and "set_int_max" not in said and "codec" not in said
    return said


@pytest.mark.parametrize(
    "other",
    [b"7" * 6000, b"-" + b"1" * 100_000, b"1" * 5000 + b".5e9", b"1e999999", b"[" * 150 + b"]" * 150],
    ids=["digits", "negative", "fraction", "exponent", "nested"],
)
def test_other_values_do_not_hide_a_decision(other: bytes) -> None:
    assert parse(b'{"metric": ' + other + b', "decision": "promote"}') == "promote_checkpoint"


def test_brackets_in_strings_are_no_nesting() -> None:
    text = json.dumps({"log": '[{"\\' * 5000, "many": [[]] * 1000, "action": "loop_back"})
    assert parse(text.encode()) == "loop_back"


@pytest.mark.parametrize("depth", [MAX_DEPTH, 100_000])
@pytest.mark.parametrize("around", [(b"[", b"]"), (b'{"a":', b"}")])
def test_nesting_without_end_is_said_in_a_plain_sentence(depth: int, around: tuple[bytes, bytes]) -> None:
    inside = around[0] * depth + b"1" + around[1] * depth
    said = refused(b'{"decision": "promote", "x": ' + inside + b"}")
    assert f"nested deeper than {MAX_DEPTH} levels" in said


def test_a_number_in_the_decisions_place_decides_nothing() -> None:
    said = refused(b'{"decision": ' + b"9" * 6000 + b"}")
    assert said.startswith('decision is "999') and "which is none of promote" in said


def test_a_decision_that_is_null_is_present_and_unknown() -> None:
    assert refused(b'{"decision": null, "action": "promote"}').startswith(
        "decision is null, which is none of"
    )
    assert parse(b'{"last_decision": "loop_back", "action": "promote"}') == "loop_back"


def test_a_byte_order_mark_is_passed_over_once() -> None:
    assert parse(b'\xef\xbb\xbf{"decision": "promote"}') == "promote_checkpoint"
    assert refused(b"\xef\xbb\xbf \n") == "the decision artifact is empty"
    assert "is not JSON" in refused(b'\xef\xbb\xbf\xef\xbb\xbf{"decision": "promote"}')


def test_bytes_that_are_no_text_are_said_with_their_place() -> None:
    assert "is not JSON (byte 2 begins no UTF-8 character)" in refused(b"{\xff}")
