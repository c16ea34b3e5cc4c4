"""Stretches of a text answer as a look at each of them would."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npac.text.source import SourceFile
from npac.text.stretches import Stretches

_PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)).map(lambda pair: (pair[0], sum(pair))))


@given(_PAIRS, st.integers(0, 40), st.integers(1, 5))
def test_they_meet_what_one_of_them_meets(pairs: list[tuple[int, int]], low: int, size: int) -> None:
    found = Stretches(pairs)
    assert found.meets(low, low + size) == any(start < low + size and low < end for start, end in pairs)


@given(_PAIRS, st.integers(0, 40))
def test_the_end_is_where_the_stretch_of_a_place_ends(pairs: list[tuple[int, int]], at: int) -> None:
    covered = {place for start, end in pairs for place in range(start, end)}
    end = at
    while end in covered:
        end += 1
    assert Stretches(pairs).end(at) == end


@given(st.text("ab\r\n", max_size=12))
def test_a_lines_end_is_where_its_text_ends(text: str) -> None:
    source = SourceFile("x", text)
    for number, start in enumerate(source.line_starts, 1):
        assert source.text[start : source.line_end(number)] == source.line(number)
        assert not source.line(number).endswith(("\r", "\n"))
