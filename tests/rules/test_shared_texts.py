"""What is said at one place of several states is one finding, which names the states."""

from __future__ import annotations

import json

import pytest

from npac.diagnostics.diagnostic import Diagnostic
from npac.diagnostics.render import FORMATS, render
from npac.rules.shared import listed
from tests.rules.specs import END, checked


def _but_215(body: str) -> list[Diagnostic]:
    return [item for item in checked(body).findings if item.code.id != "NPA215"]


def _members(count: int, shared: str, params: str = "") -> str:
    names = [f"t{number}" for number in range(count)]
    rows = [f"  t{number}: {{<<: *t, params: {{i: {number}}}}}\n" for number in range(1, count)]
    return (
        f"config: {{i: '0'}}\nstates:\n  all: {{parallel: [{', '.join(names)}], next: z}}\n"
        f"  t0: &t {{{shared}, params: {{i: 0}}}}\n{''.join(rows)}{END}"
    )


ONE_PLACE = (
    "run: {argv: [python3, train.py, '{{config.i}}']}, outputs: [{uri: 's3://bkt/m.pt', schema: m.v1}]"
)


def test_members_with_one_text_give_one_finding_of_each_kind() -> None:
    found = _but_215(_members(50, ONE_PLACE))
    assert sorted(item.code.id for item in found) == ["NPA331", "NPA701", "NPA703"]
    by = {item.code.id: item for item in found}
    assert by["NPA331"].message.endswith("; the same holds for 't1', 't2', 't3', 't4', 't5' and 44 more")
    assert by["NPA701"].message.startswith("'t0' and 't1' run at one time")
    assert by["NPA701"].message.endswith("; the same holds for 't2', 't3', 't4', 't5', 't6' and 43 more")
    assert by["NPA701"].related == ()  # the other place is this one


def test_more_members_than_are_listed_of_a_kind_are_counted_as_what_they_are() -> None:
    (item,) = [item for item in checked(_members(1_500, ONE_PLACE)).findings if item.code.id == "NPA331"]
    assert item.message.endswith("and 1,494 more")


def test_values_that_differ_by_params_are_one_kind_too() -> None:
    shared = "run: {argv: [python3, '{{config.i}}.py']}, outputs: [{uri: 's3://bkt/{{config.i}}.pt'}]"
    found = _but_215(_members(3, shared))
    assert [item.code.id for item in found] == ["NPA331", "NPA703"]
    assert all(item.message.endswith("; the same holds for 't1' and 't2'") for item in found)


def test_what_stands_apart_stays_apart() -> None:
    body = (
        "states:\n  a: {run: {argv: [python3, a.py]}, next: b}\n"
        "  b: {run: {argv: [python3, b.py]}, terminal: true}\n"
    )
    assert [item.code.id for item in checked(body).findings] == ["NPA331", "NPA331"]


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_shows_them_once(format: str) -> None:
    found = checked(_members(50, ONE_PLACE)).findings
    shown = render(format, found, width=500)
    assert shown.count("where no such file is") == 1
    if format in ("json", "sarif"):
        json.loads(shown)


def test_names_are_listed_up_to_a_few() -> None:
    assert listed(["a"]) == "'a'"
    assert listed(["a", "b"]) == "'a' and 'b'"
    assert listed(list("abcdef")) == "'a', 'b', 'c', 'd', 'e' and 'f'"
    assert listed(list("abcdefg")) == "'a', 'b', 'c', 'd', 'e' and 2 more"


SWEEP = """\
config: {{lrs: [1, 2]}}
states:
  sweep: {{parallel: [lr1, lr2, lr3], next: z}}
  lr1: &lr
    run: {{argv: [train, '{{{{config.lr}}}}']}}
    params: {{lr: '1'}}
  lr2: {{<<: *lr, params: {{lr: '2'}}}}
  lr3: {{<<: *lr, {last}}}
"""


@pytest.mark.parametrize(
    ("last", "help_text"),
    [
        (
            "params: {learning_rate: '3'}",
            "the params of lr3 give 'learning_rate', which nothing of it reads: should that be 'lr'?",
        ),
        (
            "params: {purpose: x, Lr: '3'}",
            "the params of lr3 give 'Lr', which nothing of it reads: should that be 'lr'?",
        ),
        ("params: {}", "give lr by the params of lr3, as lr2 does, or declare it in config"),
    ],
)
def test_a_shared_command_says_which_state_lacks_a_key(last: str, help_text: str) -> None:
    found = _but_215(SWEEP.format(last=last) + END)
    assert [(item.code.id, item.message, item.help) for item in found] == [
        ("NPA204", "there is no config key 'lr' for the state 'lr3'", help_text)
    ]


def test_several_states_that_lack_a_key_are_named() -> None:
    body = SWEEP.format(last="params: {}").replace("params: {lr: '2'}", "params: {}") + END
    (item,) = _but_215(body)
    assert item.message == "there is no config key 'lr' for the states 'lr2' and 'lr3'"


def test_a_text_of_one_state_names_no_state() -> None:
    body = "config: {lrs: x}\nstates:\n  a: {run: {argv: [x, '{{config.lr}}']}, terminal: true}\n"
    item = next(item for item in checked(body).findings if item.code.id == "NPA204")
    assert (item.message, item.help) == ("there is no config key 'lr'", "did you mean 'lrs'?")
