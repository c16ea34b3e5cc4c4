"""Source files: decoding, lines, columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.text.source import SourceFile, decode


@pytest.mark.parametrize(
    ("text", "offset", "position"),
    [
        ("", 0, (1, 1)),
        ("ab", 2, (1, 3)),
        ("a\nb", 2, (2, 1)),
        ("a\r\nb", 3, (2, 1)),
        ("a\r\nb", 1, (1, 2)),
        ("a\rb\nc", 4, (3, 1)),
        ("é𝄞x", 2, (1, 3)),
        ("a\n", 2, (2, 1)),
        # only these end a line; what other readers take for line ends is a character
        ("a\u2028b\x85c", 4, (1, 5)),
    ],
)
def test_positions_count_lines_and_characters_from_one(
    text: str, offset: int, position: tuple[int, int]
) -> None:
    assert SourceFile("x", text).position(offset) == position


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_come_without_their_ends(end: str) -> None:
    source = SourceFile("x", f"one{end}{end}three")
    assert [source.line(number) for number in range(6)] == ["", "one", "", "three", "", ""]
    assert source.position(len(source.text)) == (3, 6)


@given(st.text(alphabet="a\n\r\té"))
def test_lines_and_positions_agree(text: str) -> None:
    source = SourceFile("x", text)
    for offset, char in enumerate(text):
        line, column = source.position(offset)
        if char not in "\r\n":
            assert source.line(line)[column - 1] == char
    assert source.span(0, len(text)).text == text


def test_a_byte_order_mark_is_cut_off_and_remembered() -> None:
    source, bad = decode("x", b"\xef\xbb\xbfa: 1")
    assert (source.text, source.bom, bad) == ("a: 1", True, None)
    source, bad = decode("x", b"a: 1")
    assert (source.bom, bad) == (False, None)


@pytest.mark.parametrize(
    ("data", "place"),
    [(b"ab\xff", 2), ("é".encode() + b"\x80", 1), (b"\xef\xbb\xbf\xc3", 0), (b"\xed\xa0\x80", 0)],
)
def test_bytes_that_are_no_utf8_are_found(data: bytes, place: int) -> None:
    source, bad = decode("x", data)
    assert bad == place
    assert "\ufffd" in source.text


@given(st.binary())
def test_any_bytes_decode(data: bytes) -> None:
    source, bad = decode("x", data)
    if bad is None:
        assert source.text.encode() == data.removeprefix(b"\xef\xbb\xbf")
    else:
        assert source.text[bad] == "\ufffd"


def test_ranges_are_half_open_and_count_from_one() -> None:
    assert SourceFile("x", "ab\ncd").span(1, 4).range() == (1, 2, 2, 2)
