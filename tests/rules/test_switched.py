"""Circles that an override would make are found before it is given, and no others."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rules.specs import END, checked

BACK = (
    "states:\n  a: {next: b}\n  b: {transitions: [{if: config.k, goto: z}], next: c}\n  c: {next: b}\n" + END
)


def _circles(body: str, **options: object) -> list[str]:
    found = checked(body, **options).findings  # type: ignore[arg-type]
    return [item.message for item in found if item.code.id == "NPA323"]


@pytest.mark.parametrize("value", ["true", "1", "x", "'{{run.id}}'"])
def test_a_circle_behind_an_if_that_is_true_now(value: str) -> None:
    (item,) = [
        item for item in checked(f"config: {{k: {value}}}\n" + BACK).findings if item.severity.word == "error"
    ]
    assert item.code.id == "NPA323" and "when config.k counts as false: b -> c -> b" in item.message
    assert item.span.text == "b" and item.related[-1].span.text == value
    assert item.related[-1].message.endswith("an override may make it count as false")


@pytest.mark.parametrize("value", ["false", "0", "''", "null", ""])
def test_a_circle_that_is_there_now_is_told_without_a_when(value: str) -> None:
    assert _circles(f"config: {{k: {value}}}\n" + BACK) == [
        "next and transitions lead in a circle: b -> c -> b"
    ]


def test_the_override_gives_the_circle_that_was_told_of() -> None:
    body = "config: {k: true}\n" + BACK
    assert len(_circles(body)) == 1
    assert _circles(body, variables=(("k", "false"),)) == [
        "next and transitions lead in a circle: b -> c -> b"
    ]


def test_a_list_cannot_be_overridden_and_is_always_true() -> None:
    assert _circles("config: {k: [1]}\n" + BACK) == []


def test_an_order_that_a_key_chooses_is_no_circle() -> None:
    body = (
        "config: {k: true}\nstates:\n  r: {transitions: [{if: config.k, goto: a}], next: b}\n"
        "  a: {transitions: [{if: config.k, goto: b}], next: z}\n"
        "  b: {transitions: [{if: config.k, goto: z}], next: a}\n" + END
    )
    assert _circles(body) == []


def test_a_state_that_only_another_value_leads_to_is_not_out_of_reach() -> None:
    body = (
        "config: {k: true}\nstates:\n  a: {transitions: [{if: config.k, goto: z}], next: c}\n  c: {next: z}\n"
        + END
    )
    assert not checked(body).findings


def test_many_keys_are_looked_at_in_bounded_time() -> None:
    count = 400
    lines = [
        f"  s{at}: {{transitions: [{{if: config.k{at}, goto: s{at + 1}}}], next: s{max(at - 1, 0) if at else 1}}}\n"
        for at in range(count)
    ]
    config = "config: {" + ", ".join(f"k{at}: true" for at in range(count)) + "}\n"
    body = config + "states:\n" + "".join(lines) + f"  s{count}: {{terminal: true}}\n"
    assert _circles(body)


@st.composite
def specs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """Draw states that lead to one another, some by an if."""
    count = draw(st.integers(2, 5))
    names = [f"s{at}" for at in range(count)] + ["z"]
    lines = []
    for at in range(count):
        ways = [
            f"{{if: config.{draw(st.sampled_from('pqr'))}, goto: {draw(st.sampled_from(names))}}}"
            for _ in range(draw(st.integers(0, 2)))
        ]
        exits = f"transitions: [{', '.join(ways)}], " if ways else ""
        lines.append(f"  s{at}: {{{exits}next: {draw(st.sampled_from(names))}}}\n")
    return "states:\n" + "".join(lines) + END


@given(specs(), st.lists(st.booleans(), min_size=3, max_size=3))
@settings(max_examples=120, deadline=None)
def test_a_circle_is_told_exactly_when_some_values_make_one(body: str, now: list[bool]) -> None:
    def config(values: Any) -> str:
        return (
            "config: {"
            + ", ".join(f"{key}: {str(it).lower()}" for key, it in zip("pqr", values, strict=True))
            + "}\n"
        )

    made = False
    for values in product((False, True), repeat=3):
        unit = checked(config(values) + body).unit
        assert unit is not None and unit.flow is not None
        made = made or bool(unit.flow.circles)
    assert bool(_circles(config(now) + body)) == made
