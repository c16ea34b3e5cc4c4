"""Circles of next, goto and needs: marked where they close, each told, and hiding nothing else."""

from __future__ import annotations

import pytest

from npac.diagnostics.diagnostic import Severity
from tests.rules.specs import END, RUNTIME, checked

_D = "writesDecision: true, outputs: [{uri: 's3://bkt/{{run.id}}/d.json', schema: decision.v1}]"


def _found(body: str, head: str = RUNTIME) -> list[tuple[str, int, str]]:
    found = checked(body, head=head).findings
    return [
        (item.code.id, item.span.source.position(item.span.start)[0] - 3, item.span.text)
        for item in found
        if item.severity > Severity.NOTE
    ]


@pytest.mark.parametrize(
    ("way", "line"),
    [
        (f"{_D}, transitions: [{{when: loop_back, goto: a}}], next: z", 3),
        (f"{_D}, transitions: [{{when: loop_back, goto: z}}], next: a", 3),
        (
            f"{_D}, transitions: [{{when: loop_back, goto: z}}, {{when: promote_checkpoint, goto: a}}], next: z",
            3,
        ),
        ("next: a", 3),
    ],
)
def test_the_edge_that_closes_a_circle_is_marked_and_the_others_are_shown(way: str, line: int) -> None:
    body = f"states:\n  a: {{run: {{argv: [x]}}, next: b}}\n  b: {{run: {{argv: [x]}}, {way}}}\n" + END
    assert _found(body) == [("NPA323", line, "a")]
    (item,) = [item for item in checked(body, head=RUNTIME).findings if item.code.id == "NPA323"]
    text = item.span.source.text
    assert text[: item.span.start].endswith(("goto: ", "next: "))
    assert [(other.message, other.span.text) for other in item.related] == [("'a' leads to 'b' here", "b")]


def test_a_circle_is_looked_for_from_the_first_state() -> None:
    body = "initial: b\nstates:\n  a: {run: {argv: [x]}, next: b}\n  b: {run: {argv: [x]}, next: a}\n" + END
    assert _found(body) == [("NPA323", 3, "b")]


def test_circles_that_share_no_state_are_each_told() -> None:
    body = (
        "states:\n  a: {run: {argv: [x]}, next: b}\n  b: {run: {argv: [x]}, next: a}\n"
        "  c: {next: d}\n  d: {next: c}\n  e: {next: e}\n" + END
    )
    assert _found(body) == [("NPA323", 3, "a"), ("NPA323", 5, "c"), ("NPA323", 6, "e")]


def test_two_ways_back_to_one_state_are_one_circle() -> None:
    body = (
        f"states:\n  a: {{run: {{argv: [x]}}, next: b}}\n"
        f"  b: {{run: {{argv: [x]}}, {_D}, transitions: [{{when: loop_back, goto: a}}], next: c}}\n"
        "  c: {run: {argv: [x]}, next: a}\n" + END
    )
    assert [code for code, _, _ in _found(body)] == ["NPA323"]


def test_a_circle_through_a_member_is_told_once_and_as_naming_a_member() -> None:
    body = (
        "states:\n  g: {sequence: [m], next: b}\n  m: {run: {argv: [x]}}\n  b: {run: {argv: [x]}, next: m}\n"
        + END
    )
    assert _found(body) == [("NPA302", 4, "m")]
    (item,) = [item for item in checked(body).findings if item.code.id == "NPA302"]
    assert "next: g would lead in a circle: g -> b -> g" in item.help and "use a loop" in item.help


def test_a_circle_hides_no_other_mistake() -> None:
    body = (
        "states:\n  a: {run: {argv: ['{{state.c.uri}}', '{{loop.l}}']}, next: b}\n"
        "  b: {run: {argv: [x]}, needs: [z], next: a}\n"
        "  c: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/c.j'}], next: l}\n"
        "  l: {run: {argv: [x]}, loop: {max: 2}, next: z}\n" + END
    )
    assert sorted(code for code, _, _ in _found(body)) == ["NPA209", "NPA211", "NPA323", "NPA328"]


def test_a_circle_of_needs_is_marked_where_it_closes_and_hides_no_other() -> None:
    body = (
        "states:\n  a: {run: {argv: [x]}, needs: [b], next: b}\n  b: {run: {argv: [x]}, needs: [a], next: c}\n"
        "  c: {run: {argv: [x]}, needs: [d, z], next: d}\n  d: {run: {argv: [x]}, needs: [c], next: z}\n"
        + END
    )
    assert _found(body) == [("NPA327", 3, "a"), ("NPA328", 4, "z"), ("NPA327", 5, "c")]


def test_a_long_circle_is_shortened() -> None:
    count = 60
    states = "".join(f"  s{number}: {{next: s{(number + 1) % count}}}\n" for number in range(count))
    (item,) = [item for item in checked("states:\n" + states).findings if item.code.id == "NPA323"]
    assert " -> ... -> " in item.message and len(item.message) < 200 and len(item.related) == 8
    needs = "".join(
        f"  s{number}: {{run: {{argv: [x]}}, needs: [s{(number + 1) % count}], next: {f's{number + 1}' if number < count - 1 else 'z'}}}\n"
        for number in range(count)
    )
    (item,) = [item for item in checked("states:\n" + needs + END).findings if item.code.id == "NPA327"]
    assert " -> ... -> " in item.message and len(item.message) < 200


@pytest.mark.parametrize(
    ("transitions", "dead"),
    [
        ("{goto: z}, {goto: y}", "y"),
        ("{when: loop_back, goto: z}, {when: loop_back, goto: y}", "y"),
        ("{if: config.k, goto: z}, {if: config.k, goto: y}", "y"),
        ("{if: config.k, goto: z}, {if: config.k, when: loop_back, goto: y}", "y"),
        ("{when: loop_back, goto: z}, {when: promote_checkpoint, goto: z}, {if: config.k, goto: y}", "y"),
        ("{if: config.k, when: loop_back, goto: z}, {if: config.k, goto: y}", ""),
        ("{if: config.k, goto: z}, {if: config.j, goto: y}", ""),
        ("{when: loop_back, goto: z}, {when: promote_checkpoint, goto: y}", ""),
        ("{when: loop_back, goto: z}, {if: config.k, when: promote_checkpoint, goto: z}, {goto: y}", ""),
    ],
)
def test_a_transition_that_is_never_taken_is_told_and_its_state_is_not_told_again(
    transitions: str, dead: str
) -> None:
    body = (
        "config: {k: true, j: true}\nstates:\n"
        f"  a: {{run: {{argv: [x]}}, {_D}, transitions: [{transitions}], next: z}}\n  y: {{next: z}}\n" + END
    )
    assert _found(body) == ([("NPA312", 3, dead)] if dead else [])
