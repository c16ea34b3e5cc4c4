"""Keys and tokens of any length are found as their patterns would find them."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from npac.diagnostics.credentials import credentials
from npac.diagnostics.long_credentials import private_keys, signed_tokens

_TOKEN = r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
_BEGIN, _END = r"(?<![A-Za-z0-9])<[A-Z]+>", r"</[A-Z]+>"


@given(
    st.lists(st.sampled_from(["eyJ", "a" * 8, "b" * 9, ".", ".eyJ", "..", "-", "_", " ", "="]), max_size=20)
)
@settings(max_examples=400)
def test_signed_tokens_are_what_the_pattern_finds(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert list(signed_tokens(text)) == [match.span() for match in re.finditer(_TOKEN, text)]


@given(st.lists(st.sampled_from(["<K>", "</K>", "abc", "\n", "!", "x", "<RSA>"]), max_size=12))
@settings(max_examples=400)
def test_private_keys_are_what_the_pattern_finds(pieces: list[str]) -> None:
    text = "".join(pieces)
    whole = rf"{_BEGIN}(?:[\s\S]*?{_END}|[A-Za-z0-9+/=\s]*)"
    assert list(private_keys(text, _BEGIN, _END)) == [match.span() for match in re.finditer(whole, text)]


def test_a_long_token_is_found_to_its_end() -> None:
    token = f"eyJ{'a' * 5_000}.eyJ{'b' * 50_000}.{'c' * 400}"
    (found,) = credentials(f"key: {token} # note")
    assert (found.what, found.start, found.end) == ("a signed token", 5, 5 + len(token))
