"""The characters of a value are found again in the file, in every style."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from npac.text.source import SourceFile
from npac.text.yaml_nodes import Map, Scalar, parse_yaml


def scalar_of(text: str) -> Scalar:
    node, problems = parse_yaml(SourceFile("x", text))
    assert problems == [], text
    assert isinstance(node, Map)
    found = node.get("k")
    assert isinstance(found, Scalar)
    return found


@pytest.mark.parametrize(
    ("text", "part", "shown"),
    [
        ("k: one {{two}} three\n", "{{two}}", "{{two}}"),
        ("k: &o o {{two}}\n", "o", "o"),
        ("k: one\n  {{two}}\n", "{{two}}", "{{two}}"),
        ("k: one\n  two\n", "e t", "e\n  t"),
        ("k: one\n\n  two\n", "\n", "\n"),
        ("k: 'it''s {{x}}'\n", "t's", "t''s"),
        ("k: 'it''s {{x}}'\n", "{{x}}", "{{x}}"),
        ("k: 'a\n\n  b'\n", "b", "b"),
        ('k: "\\u00e9{{x}}"\n', "é", "\\u00e9"),
        ('k: "\\u00e9{{x}}"\n', "{{x}}", "{{x}}"),
        ('k: "\\U0001F600 {{x}}\\n"\n', "\U0001f600 {{x}}\n", "\\U0001F600 {{x}}\\n"),
        ('k: "a \\\n   {{x}}"\n', "{{x}}", "{{x}}"),
        ('k: "a\\\r\n   {{x}}"\r\n', "{{x}}", "{{x}}"),
        ('k: "a\n  \\ b"\n', " b", "\\ b"),
        ('k: "\\"{{x}}\\""\n', '"{{x}}"', '\\"{{x}}\\"'),
        ("k: |\n  one\n  {{x}}\n", "{{x}}", "{{x}}"),
        ("k: |\n  one\n    {{x}}\n", "  {{x}}", "  {{x}}"),
        ("k: |2\n    {{x}}\n  y\n", "  {{x}}", "  {{x}}"),
        ("k: |2-\n    {{x}}\n", "  {{x}}", "  {{x}}"),
        ("k: |\n\n\n  {{x}}\n", "{{x}}", "{{x}}"),
        ("k: |\n  a  \n  {{x}}", "a  \n", "a  \n"),
        ("k: |+\n  a\n\n\nz: 1\n", "\n\n\n", "\n\n\n"),
        ("k: |\r\n  a\r\n  {{x}}\r\n", "{{x}}", "{{x}}"),
        ("k: |\r  a\r  {{x}}\r", "{{x}}", "{{x}}"),
        ("k: >\n  one\n  {{x}}\n\n  three\n", "{{x}}", "{{x}}"),
        ("k: >\n  one\n  {{x}}\n\n  three\n", "three", "three"),
        ("k: >-\n  one\n\n    {{x}}\n  y\n", "  {{x}}\ny", "  {{x}}\n  y"),
        ("k: | # a note\n  {{x}}\n", "{{x}}", "{{x}}"),
        ("k: !!str {{x}}\n".replace("{{x}}", "'{{x}}'"), "{{x}}", "{{x}}"),
        ("k: é𝄞 {{x}}\n", "𝄞 {{x}}", "𝄞 {{x}}"),
    ],
)
def test_a_part_of_a_value_is_found(text: str, part: str, shown: str) -> None:
    found = scalar_of(text)
    at = found.value.index(part)
    assert found.inner(at, at + len(part)).text == shown


def test_empty_parts_stand_between_their_neighbours() -> None:
    found = scalar_of('k: "a\\tb"\n')
    assert [found.inner(at, at).start for at in range(4)] == [4, 5, 7, 8]
    plain = scalar_of("k: ab\n")
    assert [plain.inner(at, at).start for at in range(3)] == [3, 4, 5]
    assert scalar_of('k: ""\n').inner(0, 0).start == 4


def test_what_lies_outside_the_value_is_the_whole_scalar() -> None:
    found = scalar_of("k: abc\n")
    assert found.inner(2, 9) == found.span
    assert found.inner(-1, 2) == found.span
    assert found.inner(2, 1) == found.span


# --- any value

_LINE = st.text(
    st.characters(exclude_categories=("C", "Zl", "Zp", "Zs"), include_characters=" "), max_size=12
)
_KEPT = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), max_size=30)


def demand_parts(found: Scalar) -> None:
    """Assert that every part of the value that stands on one line is found as it is."""
    value = found.value
    for start in range(len(value)):
        stop = start
        while stop < len(value) and value[stop] != "\n":
            stop += 1
            assert found.inner(start, stop).text == value[start:stop]


@settings(max_examples=150, deadline=None)
@given(_KEPT, st.sampled_from(("", "&v ", "!!str ", "&s !!str ")))
def test_quoted_values_without_escapes(value: str, properties: str) -> None:
    assume("\x85" not in value)
    single = scalar_of(f"a: 1\nk: {properties}'{value.replace(chr(39), '')}'\nz: 1\n")
    demand_parts(single)
    double = scalar_of(f'k:   {properties}"{value.replace(chr(34), "").replace(chr(92), "")}"  # note\n')
    demand_parts(double)


@settings(max_examples=150, deadline=None)
@given(st.text("abcXYZ019{}|-_./=+é𝄞 ", min_size=1, max_size=30), st.sampled_from(("", "&a ", "!!str ")))
def test_plain_values(value: str, properties: str) -> None:
    value = "x" + value.strip()
    found = scalar_of(f"k: {properties}{value}\n")
    assert found.value == value
    demand_parts(found)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(_LINE, min_size=1, max_size=5),
    st.integers(1, 4),
    st.sampled_from(("", "-", "+")),
    st.sampled_from(("\n", "\r\n")),
    st.booleans(),
)
def test_literal_blocks(lines: list[str], indent: int, chomp: str, end: str, properties: bool) -> None:
    assume(any(line.strip(" ") for line in lines))
    body = end.join(" " * indent + line if line else "" for line in lines)
    anchor = "&a " if properties else ""
    found = scalar_of(f"k: {anchor}|{indent}{chomp}{end}{body}{end}{end}z: 1{end}")
    demand_parts(found)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab{} é", min_size=1, max_size=8), min_size=1, max_size=4), st.sampled_from("'\""))
def test_words_of_folded_quotes(words: list[str], quote: str) -> None:
    words = [word.strip() or "w" for word in words]
    found = scalar_of(f"k: {quote}{chr(10).join('  ' + word for word in words).strip()}{quote}\n")
    assert found.value == " ".join(words)
    at = 0
    for word in words:
        assert found.inner(at, at + len(word)).text == word
        at += len(word) + 1


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=12))
def test_escapes_are_whole(value: str) -> None:
    escaped = "".join(f"\\U{ord(char):08x}" for char in value)
    found = scalar_of(f'k: "{escaped}"\n')
    assert found.value == value
    for at in range(len(value)):
        assert found.inner(at, at + 1).text == f"\\U{ord(value[at]):08x}"
