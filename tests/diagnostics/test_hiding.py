"""Secret values are hidden in messages wherever they stand, whole or cut short."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npac.diagnostics.hiding import Hider


def test_whole_values_and_their_beginnings_are_hidden() -> None:
    hider = Hider(["hunter2-hunter2", "abcd"])
    assert hider.clean("no abcd, hunter2-hunter2!") == "no ***, ***!"
    assert hider.clean("cut: hunter2-hun...") == "cut: ***..."
    assert hider.clean("hunter2 alone is a word") == "hunter2 alone is a word"
    assert hider.clean("abc") == "abc"


def test_of_values_with_one_beginning_as_much_as_fits_is_hidden() -> None:
    hider = Hider([f"beginning-{number}" for number in range(100)])
    assert hider.clean("beginning-7 beginning-77 beginning-x") == "*** *** ***x"


def test_values_are_hidden_as_they_are_written_in_quotes() -> None:
    assert Hider(["a\\b\\c\\d"]).clean(repr("a\\b\\c\\d")) == "'***'"


def test_nothing_short_is_hidden() -> None:
    assert Hider(["abc", ""]).clean("abc abc") == "abc abc"
    assert not Hider(["abc"]).holds("abc")


def test_holds_asks_for_whole_values() -> None:
    hider = Hider(["hunter2-hunter2", "hunter2-hunter3x", "abcd"])
    assert hider.holds("x: hunter2-hunter2") and hider.holds("abcde") and hider.holds("hunter2-hunter3xy")
    assert not hider.holds("hunter2-hunter3") and not hider.holds("hunter2-hunter")


@given(st.lists(st.text("abc", min_size=4, max_size=12), max_size=4), st.text("abcd", max_size=30))
def test_no_value_is_left_in_a_text(values: list[str], text: str) -> None:
    hider = Hider(values)
    clean = hider.clean(text)
    assert not any(value in clean for value in values)
    assert hider.holds(text) == any(value in text for value in values)
    if not any(value[:8] in text for value in values):
        assert clean == text
