"""`if` and counts: one config key, or decimal digits."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.syntax.conditions import (
    Condition,
    ConditionProblem,
    CountProblem,
    KeyRef,
    parse_condition,
    parse_count,
    read_condition,
    read_count,
    scan_condition,
    scan_count,
)

PIECES = st.sampled_from(
    [
        "{{",
        "}}",
        "{",
        "}",
        "config.",
        "config",
        "x",
        "a.b",
        " ",
        "\n",
        "1",
        "20",
        "-",
        "|",
        "sh",
        "state.",
        "[",
        "é",
        "$",
    ]
)
TEXTS = st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=20)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("config.debug", "debug"),
        ("{{config.debug}}", "debug"),
        ("{{ config.a.b-c }}", "a.b-c"),
        ("{{\n  config.config\n}}", "config"),
        ("config.config.x", "config.x"),
    ],
)
def test_one_key_is_read_with_its_place(text: str, key: str) -> None:
    found = parse_condition(text)
    assert isinstance(found, Condition)
    assert found.key == key == text[found.start : found.end]
    assert read_condition(text) == found
    count = parse_count(text)
    assert isinstance(count, KeyRef)
    assert (count.key, count.start, count.end) == (found.key, found.start, found.end)


@pytest.mark.parametrize(
    ("text", "kind", "suggestion"),
    [
        ("", "empty", None),
        (" \n", "empty", None),
        (" config.x", "blanks", "config.x"),
        ("{{config.x}}\n", "blanks", "{{config.x}}"),
        ("!config.x", "negation", None),
        ("not config.x", "negation", None),
        ("{{ not config.x }}", "negation", None),
        ("config.x == 'y'", "expression", None),
        ("config.x and config.y", "expression", None),
        ("{{config.n > 3}}", "expression", None),
        ("confg.x", "unknown-scope", "{{config.x}}"),
        ("{{ confg.x }}", "unknown-scope", "{{config.x}}"),
        ("{{statee.x}}", "unknown-scope", None),
        ("state.a.uri", "wrong-scope", None),
        ("{{run.id}}", "wrong-scope", None),
        ("{{config.x | sh}}", "transform", "{{config.x}}"),
        ("config['x']", "brackets", "{{config.x}}"),
        ("{{config.x", "unclosed-token", "{{config.x}}"),
        ("{{config.x}", "unclosed-token", "{{config.x}}"),
        ("${{ config.x }}", "shell-variable", "{{config.x}}"),
        ("${x}", "shell-variable", "{{config.x}}"),
        ("true", "constant", None),
        ("0", "constant", None),
        ("debug", "bare-name", "{{config.debug}}"),
        ("config", "bare-name", None),
        ("config.", "not-a-condition", None),
        ("{{config.x}}y", "not-a-condition", None),
        ("{{config.x}}{{config.y}}", "not-a-condition", None),
        ("config.ü", "not-a-condition", None),
        ("config.x" + " " * 100_000 + "y", "not-a-condition", None),
    ],
)
def test_what_if_does_not_take(text: str, kind: str, suggestion: str | None) -> None:
    found = parse_condition(text)
    assert isinstance(found, ConditionProblem)
    assert (found.kind, found.suggestion, found.start, found.end) == (kind, suggestion, 0, len(text))
    assert found.message.endswith(".")
    assert found.help.endswith(".")


def test_where_the_grammar_stopped_is_said() -> None:
    found = parse_condition("{{config.x}}y")
    assert isinstance(found, ConditionProblem)
    assert "here is `y` at character 13" in found.message


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("3", 3), ("007", 7), ("9" * 15, 10**15 - 1)])
def test_decimal_digits_are_a_count(text: str, number: int) -> None:
    assert parse_count(text) == number
    assert read_count(text) == number


@pytest.mark.parametrize(
    ("text", "kind", "suggestion"),
    [
        ("", "empty", None),
        (" 3", "blanks", "3"),
        ("{{config.k}} ", "blanks", "{{config.k}}"),
        ("-1", "sign", None),
        ("+3", "sign", "3"),
        ("3.0", "not-whole", "3"),
        ("3.5", "not-whole", None),
        ("1e3", "not-whole", None),
        ("0x10", "not-whole", None),
        ("1_000", "not-whole", None),
        ("9" * 16, "too-large", None),
        ("9" * 10_000, "too-large", None),
        ("{{config.k}}0", "not-one-token", None),
        ("{{config.a}}{{config.b}}", "not-one-token", None),
        ("{{loop.x}}", "wrong-scope", None),
        ("{{config.k|sh}}", "transform", "{{config.k}}"),
        ("{{conf.k}}", "unknown-scope", "{{config.k}}"),
        ("three", "not-a-count", None),
        ("٣", "not-a-count", None),
        ("²", "not-a-count", None),
    ],
)
def test_what_is_no_count(text: str, kind: str, suggestion: str | None) -> None:
    found = parse_count(text)
    assert isinstance(found, CountProblem)
    assert (found.kind, found.suggestion) == (kind, suggestion)


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_both_ways_of_reading_agree_on_every_text(text: str) -> None:
    condition, count = read_condition(text), read_count(text)
    assert scan_condition(text) == (condition if isinstance(condition, Condition) else None)
    assert scan_count(text) == (None if isinstance(count, CountProblem) else count)
    assert parse_condition(text) == condition
    assert parse_count(text) == count
    for problem, parse in ((condition, parse_condition), (count, parse_count)):
        if isinstance(problem, ConditionProblem | CountProblem) and problem.suggestion is not None:
            assert not isinstance(parse(problem.suggestion), ConditionProblem | CountProblem)
