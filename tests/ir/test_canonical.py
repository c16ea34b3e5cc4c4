"""Canonical bytes: the fast encoder gives what RFC 8785 asks for."""

from __future__ import annotations

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.ir.canonical import CanonicalError, canonical_bytes

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | _TEXT
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(_DATA)
@settings(max_examples=300, deadline=None)
def test_equals_the_reference_encoder(data: object) -> None:
    assert canonical_bytes(data) == rfc8785.dumps(data)  # type: ignore[arg-type]


def test_control_characters_and_separators_are_written_as_the_rfc_says() -> None:
    data = {"b": '\x00\x1f\x7f\u2028"\\/\n', "a": [1, True, None]}
    assert canonical_bytes(data) == rfc8785.dumps(data)
    assert canonical_bytes(data).startswith(b'{"a":[1,true,null],"b":"\\u0000\\u001f\x7f')


@pytest.mark.parametrize("data", ["\ud800", {"k": "a\udfff"}, float("nan"), 2**60, {1: 2}, object()])
def test_what_has_no_canonical_form_is_refused(data: object) -> None:
    with pytest.raises(CanonicalError):
        canonical_bytes(data)
