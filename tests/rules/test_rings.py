"""A group that contains itself is told with its chain, from wherever the chain is entered."""

from __future__ import annotations

import pytest

from tests.rules.specs import checked

_E = "  e: {terminal: true}\n"
RINGS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "entered from a sequence": (
        "  s: {sequence: [t], terminal: true}\n  t: {sequence: [u]}\n  u: {sequence: [t]}\n",
        [("NPA308", "t -> u -> t")],
    ),
    "entered from a sequence that stands behind it": (
        "initial: s\nstates:\n  t: {sequence: [u]}\n  u: {sequence: [t]}\n  s: {sequence: [t], terminal: true}\n",
        [("NPA308", "t -> u -> t")],
    ),
    "of one group": (
        "  s: {sequence: [t, x], terminal: true}\n  x: {run: {argv: [a]}}\n  t: {sequence: [t]}\n",
        [("NPA308", "t -> t")],
    ),
    "of a parallel group in a parallel group": (
        "  s: {parallel: [t, x], next: e}\n  x: {run: {argv: [a]}}\n  t: {parallel: [t, y]}\n  y: {run: {argv: [a]}}\n"
        + _E,
        [("NPA308", "t -> t"), ("NPA317", "")],
    ),
    "entered by nothing": (
        "  a: {sequence: [c], next: e}\n  c: {sequence: [a]}\n" + _E,
        [("NPA308", "a -> c -> a")],
    ),
    "two of them": (
        "  a: {sequence: [a], next: b}\n  b: {sequence: [c], next: e}\n  c: {sequence: [b]}\n" + _E,
        [("NPA308", "a -> a"), ("NPA308", "b -> c -> b")],
    ),
}


@pytest.mark.parametrize("case", RINGS.values(), ids=RINGS)
def test_the_chain_is_printed_and_nothing_else_is_said_of_it(case: tuple[str, list[tuple[str, str]]]) -> None:
    body, wanted = case
    text = body if body.startswith("initial") else "states:\n" + body
    found = checked(text).findings
    assert [item.code.id for item in found] == [code for code, _ in wanted]
    for item, (_, chain) in zip(found, wanted, strict=True):
        assert item.message.endswith(chain)
        assert not chain or len(item.related) == chain.count("->")


def test_a_state_in_two_groups_that_form_no_ring_is_still_told() -> None:
    body = "states:\n  s: {sequence: [t, u], terminal: true}\n  t: {sequence: [x]}\n  u: {sequence: [x]}\n  x: {run: {argv: [a]}}\n"
    assert [item.code.id for item in checked(body).findings] == ["NPA307"]


def test_a_ring_hides_no_mistake_elsewhere() -> None:
    body = (
        "states:\n  a: {run: {argv: ['{{state.e.uri}}']}, next: g}\n  g: {sequence: [g, x], next: e}\n  x: {run: {argv: [a]}}\n"
        "  e: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/e.json'}], terminal: true}\n"
        "  lost: {run: {argv: [x]}, next: e}\n"
    )
    assert [item.code.id for item in checked(body).findings] == ["NPA209", "NPA308", "NPA326"]
