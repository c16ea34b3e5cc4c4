"""A value that does not fit is told once, with the place where it was given."""

from __future__ import annotations

import pytest

from tests.rules.specs import END, WORK, checked

BODY = (
    "config: {rounds: 3, quoted: '3', fast: true}\n"
    "resources: {default: {cpus: '{{config.rounds}}', disk_size: '{{config.rounds}}'}}\n"
    "states:\n  a: {loop: {max: '{{config.rounds}}'}, run: {argv: [x, '{{config.fast}}']}, next: b}\n"
    "  b: {loop: {max: '{{config.quoted}}'}, run: {argv: [x]}, next: z}\n" + END
)


@pytest.mark.parametrize(
    "options",
    [
        {"variables": (("rounds", "abc"),)},
        {"sets": (("rounds", "abc"),)},
        {"overlay": "rounds: abc\n"},
        {"overlay": "rounds: [1]\n"},
        {"variables": (("fast", "maybe"),)},
    ],
)
def test_an_override_of_the_wrong_type_is_told_once_and_the_old_value_stays(
    options: dict[str, object],
) -> None:
    assert checked(BODY).findings == []
    (item,) = checked(BODY, **options).findings  # type: ignore[arg-type]
    assert item.code.id == "NPA218" and item.span.source.path in ("--var", "--set", "overlay.yaml")


@pytest.mark.parametrize(("value", "said"), [("0", "is 0"), ("-1", "is '-1'"), ("many", "is 'many'")])
def test_a_count_that_cannot_be_read_shows_where_its_value_was_given(value: str, said: str) -> None:
    (item,) = checked(BODY, variables=(("quoted", value),)).findings
    assert item.code.id == "NPA111" and said in item.message and item.span.text == "'{{config.quoted}}'"
    assert [(other.message, other.span.text, other.span.source.path) for other in item.related] == [
        ("its value is given here", value, "--var")
    ]


def test_a_value_is_followed_through_keys_that_only_name_another() -> None:
    body = "config: {a: '{{config.b}}', b: x}\nstates:\n  l: {loop: {max: '{{config.a}}'}, run: {argv: [x]}, terminal: true}\n"
    (item,) = checked(body).findings
    assert [other.span.text for other in item.related] == ["x"]
    (item,) = checked(body, variables=(("a", "{{config.b}}"),)).findings[-1:]
    assert [other.span.text for other in item.related] == ["{{config.b}}"]


def test_places_that_cannot_read_one_value_are_one_finding_and_values_of_their_own_are_not() -> None:
    body = (
        "config: {n: many}\nresources: {default: {cpus: '{{config.n}}', memory: '{{config.n}}'}}\n"
        "states:\n  l: {loop: {max: '{{config.n}}'}, run: {argv: [x]}, next: m}\n"
        "  m: {loop: {max: '{{config.n}}'}, run: {argv: [x]}, terminal: true}\n"
    )
    (item,) = checked(body).findings
    assert item.code.id == "NPA502" and len(item.related) == 4
    found = checked("resources: {default: {cpus: many, memory: lots}}\n" + WORK).findings
    assert [item.code.id for item in found] == ["NPA502", "NPA502"]


def test_a_value_of_params_is_shown_where_it_stands() -> None:
    body = (
        "config: {n: '3'}\nresources: {default: {cpus: '{{config.n}}'}}\n"
        "states:\n  a: {run: {argv: [x]}, params: {n: lots}, terminal: true}\n"
    )
    (item,) = [item for item in checked(body).findings if item.code.id == "NPA502"]
    assert [other.span.text for other in item.related] == ["lots"]


def test_lists_and_mappings_are_called_so() -> None:
    body = "config: {l: [1], m: {a: 1}}\nstates:\n  a: {run: {argv: ['{{config.l}}', '{{config.m}}']}, terminal: true}\n"
    assert [item.message.split(" holds ")[1][:9] for item in checked(body).findings[:2]] == [
        "a list, w",
        "a mapping",
    ]
    (item,) = [item for item in checked(body, variables=(("l", "1"),)).findings if item.code.id == "NPA218"]
    assert "holds a list" in item.message
    (item,) = [item for item in checked(body, overlay="no mapping").findings if item.code.id == "NPA102"]
    assert item.message.endswith("this is text") and "no mapping" not in item.message
