"""Params that nothing of their state reads: a warning where a key that is read is spelt nearly like one."""

from __future__ import annotations

import pytest

from npac.diagnostics.diagnostic import Diagnostic
from tests.rules.specs import HEAD, RUNTIME, checked


def _found(body: str, head: str = HEAD) -> list[Diagnostic]:
    return [item for item in checked(body, head=head).findings if item.code.name == "unused-param"]


def _state(params: str, rest: str, config: str = "lr: '0.1', lrs: '1'") -> str:
    return f"config: {{{config}}}\nstates:\n  a: {{params: {{{params}}}, {rest}, terminal: true}}\n"


ARGV = "run: {argv: [x, '{{config.lr}}']}"


@pytest.mark.parametrize("key", ["Lr", "LR", "l_r", "l-r", "lr2"])
def test_a_misspelt_param_is_warned_about(key: str) -> None:
    (item,) = _found(_state(f"{key}: '0.001'", ARGV))
    assert (item.severity.word, item.span.text, item.help) == ("warning", key, "did you mean 'lr'?")
    assert "reads config.lr" in item.message
    assert [other.span.text for other in item.related] == ["lr"]


def test_a_param_that_resembles_no_key_is_a_note() -> None:
    (item,) = _found(_state("purpose: '1'", ARGV))
    assert (item.severity.word, item.span.text) == ("note", "purpose")


def test_a_key_that_the_params_give_themselves_is_no_likely_one() -> None:
    (item,) = _found(_state("lr: '1', Lr: '2'", ARGV))
    assert (item.severity.word, item.span.text) == ("note", "Lr")


@pytest.mark.parametrize(
    "rest",
    [
        ARGV,
        "run: {shell: 'x {{config.lr | sh}}'}",
        "run: {argv: [x]}, inputs: [{uri: 's3://bkt/{{config.lr}}'}]",
        "run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/{{config.lr}}.j'}]",
        "run: {argv: [x]}, trigger: {uri: 's3://bkt/{{config.lr}}/'}",
        "run: {argv: [x]}, trigger: {uri: 's3://bkt/x/', maxPolls: config.lr}",
        "run: {argv: [x]}, resources: p",
        "run: {argv: [x]}, resources: q",
    ],
)
def test_what_is_read_anywhere_in_the_state_is_clean(rest: str) -> None:
    profiles = "resources:\n  p: {region: '{{config.lr}}'}\n  q: {disk_size: config.lr}\n"
    assert _found(profiles + _state("lr: '7'", rest)) == []


def test_keys_with_a_meaning_of_their_own_and_remarks_are_clean() -> None:
    params = "decision_uri: 's3://b/d', source_sha: '', baked_npa_import: a, x-why: slow"
    assert _found(_state(params, ARGV)) == []


def test_what_a_tool_reads_is_clean() -> None:
    body = (
        "config: {shard_index: '0', shard_count: '2', env_count: '1', envgen_seed: '1', envgen_root_uri: s3://b/x/, "
        "augmented_frames_uri: ''}\nstates:\n"
        "  a: {toolRef: workbench.sim2real_envgen.raw_shard, params: {shard_index: '1'}, terminal: true}\n"
    )
    assert _found(body) == []
    assert _found(body.replace("params: {shard_index", "params: {shardindex"))[0].severity.word == "warning"
    assert _found(body.replace("raw_shard", "no_such_tool").replace("params: {shard", "params: {s")) == []


def test_the_note_says_who_reads_the_key_without_the_params() -> None:
    (item,) = _found(
        _state("lr: '1'", "run: {argv: [x, '{{config.root}}']}", "lr: a, root: 's3://{{config.lr}}'")
    )
    assert "only other config values" in item.message and "before any params" in item.help
    (item,) = _found(_state("lr: '1'", "run: {argv: [x]}, loop: {max: config.lr}", "lr: '3'"))
    assert "loop.max and if read config itself" in item.message


def test_a_key_that_is_missing_is_said_once_and_where_it_was_meant() -> None:
    found = [
        item for item in checked(_state("Lr: '1'", ARGV, "lrs: '1'")).findings if item.code.id != "NPA215"
    ]
    assert [item.code.id for item in found] == ["NPA204"]
    assert found[0].help == "the params of a give 'Lr', which nothing of it reads: should that be 'lr'?"


def test_groups_have_an_error_of_their_own() -> None:
    body = "states:\n  g: {sequence: [a], params: {k: 1}, terminal: true}\n  a: {run: {argv: [x]}}\n"
    assert {item.code.id for item in checked(body, head=RUNTIME).findings} == {"NPA305"}


def test_one_key_of_many_states_is_noted_once() -> None:
    rows = "".join(
        f"  t{n}: {{run: {{argv: [x]}}, params: {{i: '{n}'}}, next: t{n + 1}}}\n" for n in range(9)
    )
    (item,) = _found(f"states:\n{rows}  t9: {{terminal: true}}\n")
    assert item.message.startswith("nothing of 't0' reads its param 'i'; the same holds for 't1', 't2'")
    assert item.message.endswith(" and 3 more")


def test_a_key_that_could_not_be_read_is_no_param_of_its_own() -> None:
    found = checked("states:\n  a: {run: {argv: [x]}, params: {{{config.x}}: 3}, terminal: true}\n").findings
    assert found
    assert not [item for item in found if item.code.name == "unused-param" or "\0" in item.message]
