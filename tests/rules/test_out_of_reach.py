"""Help that would lead on to another mistake is not given: what cannot be read, and what no group can have."""

from __future__ import annotations

import pytest

from tests.rules.specs import END, checked

GROUP = "states:\n  g: {parallel: [left, right], next: z}\n  left: {run: {argv: [x]}%s}\n  right: {run: {argv: [x, '{{state.%s}}']}}\n"
OUTPUT = ", outputs: [{uri: 's3://bkt/{{run.id}}/x.j'}]"


@pytest.mark.parametrize(
    ("outputs", "token", "help_text"),
    [
        ("", "left.uri", "left runs beside right in the group g"),
        (OUTPUT, "left.output_2", "left runs beside right in the group g"),
        (OUTPUT, "lefft.uri", "if left is meant: left runs beside right"),
        ("", "right.uri", "name the URI as outputs names it"),
        ("", "g.uri", "right is in the group g, which has not ended then"),
        ("", "z.uri", "z declares no outputs: add outputs"),
    ],
)
def test_a_missing_value_that_could_not_be_read_anyway(outputs: str, token: str, help_text: str) -> None:
    (item,) = checked(GROUP % (outputs, token) + END).findings
    assert item.code.id == "NPA208" and help_text in item.help
    assert ("declare" in item.help) == token.startswith("z")


def test_a_value_that_one_reader_could_have_is_told_apart_from_one_that_none_could() -> None:
    body = (GROUP % ("", "left.uri")).replace("next: z}", "next: y}")
    body += "  y: {run: {argv: [x, '{{state.left.uri}}']}, next: z}\n" + END
    found = checked(body).findings
    assert [(item.code.id, item.help.split()[1]) for item in found] == [
        ("NPA208", "runs"),
        ("NPA208", "declares"),
    ]


@pytest.mark.parametrize(("token", "told"), [("a-1", True), ("a-12", True), ("b-1", False), ("a-x", False)])
def test_arithmetic_with_a_loop_is_shown_where_it_belongs(token: str, told: bool) -> None:
    body = f"states:\n  a: {{loop: {{max: 3}}, run: {{argv: [x, '{{{{loop.{token}}}}}']}}, terminal: true}}\n"
    (item,) = checked(body).findings
    assert item.code.id == "NPA210"
    assert (f"$(({{{{loop.a}}}} - {token[2:]})) in run.shell" in item.help) == told


@pytest.mark.parametrize(
    ("key", "kind", "help_text"),
    [
        ("terminal: true", "parallel", "lead on to a terminal state: next: NAME"),
        ("transitions: [{goto: z}]", "parallel", "put transitions on the state that follows the group"),
        ("resources: gpu", "parallel", "move resources to a member"),
        ("writesDecision: true", "sequence", "move writesDecision to a member"),
        ("maxConcurrency: 2", "sequence", "maxConcurrency goes with parallel: [...]; remove it"),
        ("groupRetry: all", "sequence", "groupRetry goes with parallel"),
    ],
)
def test_a_key_that_no_group_of_a_kind_has_is_sent_where_it_can_stand(
    key: str, kind: str, help_text: str
) -> None:
    body = f"states:\n  g: {{{kind}: [l, r], {key}, next: z}}\n  l: {{run: {{argv: [x]}}}}\n  r: {{run: {{argv: [x]}}}}\n"
    found = [item for item in checked(body + END).findings if item.code.id == "NPA305"]
    assert [item.help.startswith(help_text) for item in found] == [True]


def test_an_invisible_character_in_a_name_is_one_finding() -> None:
    found = checked("states:\n  a\u200b: {run: {argv: ['x\u200b']}, terminal: true}\n").findings
    assert [(item.code.id, item.span.text) for item in found] == [("NPA105", "a\u200b"), ("NPA010", "\u200b")]
