"""Whatever comes from outside can be written to a log, and says there what it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.ledger.canonical import canonical_bytes, parse
from npac.ledger.fold import fsck
from npac.ledger.outside import visible, writable
from npac.ledger.sqlite import SqliteLedger

TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(ANYTHING)
def test_anything_is_written_once_and_for_all(value: Any) -> None:
    made = writable(value)
    data = canonical_bytes(made)
    assert canonical_bytes(writable(parse(data))) == data
    assert writable(made) == made


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("\ud800", "\\ud800"),
        ("a\udcffb", "a\\udcffb"),
        ({"\udfff": ["\ud800é"]}, {"\\udfff": ["\\ud800é"]}),
        (2**53 - 1, 2**53 - 1),
        (2**63, "9223372036854775808"),
        (-(2**60), "-1152921504606846976"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (("é", True, None, 0.5), ["é", True, None, 0.5]),
    ],
)
def test_what_json_cannot_hold_is_shown_and_all_else_is_kept(value: Any, shown: Any) -> None:
    assert writable(value) == shown


def test_what_acts_on_a_terminal_is_escaped() -> None:
    assert visible("a\x1b[31m\nb\u202e\ud800 é") == "a\\x1b[31m\\nb\\u202e\\ud800 é"


def test_a_log_takes_halves_of_characters_everywhere(ledger: SqliteLedger) -> None:
    fence = ledger.take({"who": "\udcff"})
    assert ledger.append("a", {"why": "\ud800", "size": 2**64}, fence).data == {
        "why": "\\ud800",
        "size": "18446744073709551616",
    }
    request = ledger.ask("cancel", {"reason": "\udcfe"})
    assert ledger.requests()[0].data == {"reason": "\\udcfe"}
    ledger.answer(request, fence, {"why": "\udcfd"})
    assert ledger.result(request) == {"why": "\\udcfd"}
    assert [event.type for event in ledger.events()] == ["driver-started", "a"]
    assert fsck(ledger) == []
