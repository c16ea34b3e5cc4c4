"""Where decisions come from, and that they were written before they are read."""

from __future__ import annotations

import pytest

from npac.flow.symbolic import written
from npac.ir.values import Apply, Concat, Hole
from tests.rules.specs import END, HEAD, RUNTIME, checked, codes

D = "outputs: [{uri: 's3://bkt/{{run.id}}/d.json', schema: My.Decision.v1}]"
GATE = "transitions: [{when: promote_checkpoint, goto: z}], next: y}\n  y: {terminal: true}\n" + END

CASES = {
    "a leaf reads its own output": (
        f"states:\n  a: {{run: {{argv: [x]}}, writesDecision: true, {D}, {GATE}",
        "",
    ),
    "nobody writes it": (f"states:\n  a: {{run: {{argv: [x]}}, {D}, {GATE}", "404"),
    "no place at all": (f"states:\n  a: {{run: {{argv: [x]}}, {GATE}", "401"),
    "an empty decision_uri is no place": (
        f"config: {{decision_uri: ''}}\nstates:\n  a: {{run: {{argv: [x]}}, writesDecision: true, {GATE}",
        "401",
    ),
    "a decision_uri from params": (
        "states:\n  a: {run: {argv: [x]}, writesDecision: true, params: {decision_uri: 's3://bkt/{{run.id}}/q.json'}, "
        "outputs: [{uri: '{{config.decision_uri}}'}], " + GATE,
        "",
    ),
    "a writer that declares no output": (
        "config: {decision_uri: 's3://bkt/{{run.id}}/d.json'}\n"
        "states:\n  a: {run: {argv: [x]}, writesDecision: true, " + GATE,
        "403",
    ),
    "a router reads what another state wrote": (
        "config: {decision_uri: 's3://bkt/{{run.id}}/d.json'}\n"
        f"states:\n  w: {{run: {{argv: [x]}}, writesDecision: true, {D}, next: a}}\n  a: {{{GATE}",
        "",
    ),
    "a router reads what a state's own token names": (
        f"states:\n  w: {{run: {{argv: [x]}}, writesDecision: true, {D}, next: a}}\n"
        "  a: {params: {decision_uri: '{{state.w.uri}}'}, " + GATE,
        "",
    ),
    "a token that names another output than the decision": (
        "states:\n  w: {run: {argv: [x]}, writesDecision: true, next: a, outputs: [{uri: 's3://bkt/{{run.id}}/m.j'}, "
        "{uri: 's3://bkt/{{run.id}}/d.json', schema: decision}]}\n"
        "  a: {params: {decision_uri: '{{state.w.uri}}'}, " + GATE,
        "404",
    ),
    "a token of the second output, which is the decision": (
        "states:\n  w: {run: {argv: [x]}, writesDecision: true, next: a, outputs: [{uri: 's3://bkt/{{run.id}}/m.j'}, "
        "{uri: 's3://bkt/{{run.id}}/d.json', schema: decision}]}\n"
        "  a: {params: {decision_uri: '{{state.w.output_2}}'}, " + GATE,
        "",
    ),
    "a token of a state that writes no decision": (
        f"states:\n  w: {{run: {{argv: [x]}}, {D}, next: a}}\n"
        "  a: {params: {decision_uri: '{{state.w.uri}}'}, " + GATE,
        "404",
    ),
    "a loop's last decision, read by a router behind it": (
        "states:\n  s: {sequence: [d], loop: {max: 2, until: promote_checkpoint}, next: a}\n"
        "  d: {run: {argv: [x]}, writesDecision: true, outputs: [{uri: 's3://bkt/{{run.id}}/{{loop.s}}/d.json', schema: decision}]}\n"
        "  a: {params: {decision_uri: '{{state.d.uri}}'}, " + GATE,
        "",
    ),
    "another URI than was written": (
        f"states:\n  w: {{run: {{argv: [x]}}, writesDecision: true, {D}, next: a}}\n"
        "  a: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/e.json', schema: decision}], " + GATE,
        "404",
    ),
    "one path goes round the writer": (
        "config: {decision_uri: 's3://bkt/{{run.id}}/d.json', k: true}\n"
        "states:\n  q: {transitions: [{if: config.k, goto: a}], next: w}\n"
        f"  w: {{run: {{argv: [x]}}, writesDecision: true, {D}, next: a}}\n  a: {{{GATE}",
        "404",
    ),
    "a loop reads its last direct writer, in every iteration anew": (
        "states:\n  s: {sequence: [d, m], loop: {max: 2, until: promote_checkpoint}, next: z}\n"
        "  d: {run: {argv: [x]}, writesDecision: true, outputs: [{uri: 's3://bkt/{{run.id}}/{{loop.s}}/d.json', schema: decision}]}\n"
        "  m: {run: {argv: [x]}}\n" + END,
        "",
    ),
    "a writer deeper in the body is not the loop's": (
        "config: {decision_uri: 's3://bkt/{{run.id}}/d.json'}\n"
        "states:\n  s: {sequence: [i], loop: {max: 2, until: promote_checkpoint}, next: z}\n  i: {sequence: [m]}\n"
        f"  m: {{run: {{argv: [x]}}, writesDecision: true, {D}}}\n" + END,
        "402 702",
    ),
    "a decision of an iteration before is another one": (
        "states:\n  s: {sequence: [m, d], loop: {max: 2}, next: z}\n"
        "  m: {run: {argv: [x]}, loop: {max: 2, until: promote_checkpoint}, "
        "outputs: [{uri: 's3://bkt/{{run.id}}/{{loop.s}}/{{loop.m}}.json', schema: decision}]}\n"
        "  d: {run: {argv: [x]}}\n" + END,
        "404",
    ),
    "a leaf loop reads its own": (
        "states:\n  a: {run: {argv: [x]}, loop: {max: 2, until: promote_checkpoint}, writesDecision: true, "
        "outputs: [{uri: 's3://bkt/{{run.id}}/{{loop.a}}.json', schema: decision}], next: z}\n" + END,
        "",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_decision_has_a_place_and_a_writer(case: tuple[str, str]) -> None:
    body, wanted = case
    assert codes(body, head=RUNTIME) == wanted


@pytest.mark.parametrize(("head", "word"), [(HEAD, "warning"), (RUNTIME, "error")])
def test_a_missing_writer_is_an_error_where_only_real_decisions_route(head: str, word: str) -> None:
    found = checked(CASES["nobody writes it"][0], head=head).findings
    (item,) = [item for item in found if item.code.id == "NPA404"]
    assert item.severity.word == word
    assert "'a' reads the decision at s3://bkt/{{run.id}}/d.json" in item.message
    assert item.message.endswith("on this path: a")


def test_messages_show_tokens_as_they_are_written() -> None:
    found = checked(CASES["a token of a state that writes no decision"][0]).findings
    (item,) = [item for item in found if item.code.id == "NPA404"]
    assert "reads the decision at {{state.w.uri}}," in item.message
    second = Concat(("x-", Hole("state.a.b.2"), Apply("slug", Hole("loop.s"))))
    assert written(second) == "x-{{state.a.b.output_2}}{{loop.s | slug}}"


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("promote", "promote_checkpoint"),
        ("loop_back_to_inner_loop", "loop_back"),
        ("promot_checkpoint", "promote_checkpoint"),
    ],
)
@pytest.mark.parametrize("place", ["when", "until"])
def test_a_word_that_a_decision_may_hold_is_told_from_one_that_a_spec_asks_for(
    word: str, meant: str, place: str
) -> None:
    when = CASES["a leaf reads its own output"][0]
    until = CASES["a leaf loop reads its own"][0]
    body = (when if place == "when" else until).replace("promote_checkpoint", word)
    (item,) = [item for item in checked(body).findings if item.code.id == "NPA320"]
    assert item.help == f"did you mean {meant}?"


def test_a_router_is_told_to_name_the_decision_in_its_params() -> None:
    found = checked("states:\n  a: {" + GATE, head=RUNTIME).findings
    (item,) = [item for item in found if item.code.id == "NPA401"]
    assert 'params: {decision_uri: "{{state.NAME.uri}}"}' in item.help


def test_only_a_spec_that_reads_decisions_is_asked_for_its_mode() -> None:
    assert codes(f"states:\n  a: {{run: {{argv: [x]}}, writesDecision: true, {D}, terminal: true}}\n") == ""
    assert codes(CASES["a leaf reads its own output"][0]) == "405"
