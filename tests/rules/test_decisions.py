"""Where decisions come from, and that they were written before they are read."""

from __future__ import annotations

import pytest

from tests.rules.specs import END, HEAD, RUNTIME, checked, codes

D = "outputs: [{uri: 's3://b/{{run.id}}/d.json', schema: My.Decision.v1}]"
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
        "states:\n  a: {run: {argv: [x]}, writesDecision: true, params: {decision_uri: 's3://b/{{run.id}}/q.json'}, "
        "outputs: [{uri: '{{config.decision_uri}}'}], " + GATE,
        "",
    ),
    "a writer that declares no output": (
        "config: {decision_uri: 's3://b/{{run.id}}/d.json'}\n"
        "states:\n  a: {run: {argv: [x]}, writesDecision: true, " + GATE,
        "403",
    ),
    "a router reads what another state wrote": (
        "config: {decision_uri: 's3://b/{{run.id}}/d.json'}\n"
        f"states:\n  w: {{run: {{argv: [x]}}, writesDecision: true, {D}, next: a}}\n  a: {{{GATE}",
        "",
    ),
    "another URI than was written": (
        f"states:\n  w: {{run: {{argv: [x]}}, writesDecision: true, {D}, next: a}}\n"
        "  a: {run: {argv: [x]}, outputs: [{uri: 's3://b/{{run.id}}/e.json', schema: decision}], " + GATE,
        "404",
    ),
    "one path goes round the writer": (
        "config: {decision_uri: 's3://b/{{run.id}}/d.json', k: true}\n"
        "states:\n  q: {transitions: [{if: config.k, goto: a}], next: w}\n"
        f"  w: {{run: {{argv: [x]}}, writesDecision: true, {D}, next: a}}\n  a: {{{GATE}",
        "404",
    ),
    "a loop reads its last direct writer, in every iteration anew": (
        "states:\n  s: {sequence: [d, m], loop: {max: 2, until: promote_checkpoint}, next: z}\n"
        "  d: {run: {argv: [x]}, writesDecision: true, outputs: [{uri: 's3://b/{{run.id}}/{{loop.s}}/d.json', schema: decision}]}\n"
        "  m: {run: {argv: [x]}}\n" + END,
        "",
    ),
    "a writer deeper in the body is not the loop's": (
        "config: {decision_uri: 's3://b/{{run.id}}/d.json'}\n"
        "states:\n  s: {sequence: [i], loop: {max: 2, until: promote_checkpoint}, next: z}\n  i: {sequence: [m]}\n"
        f"  m: {{run: {{argv: [x]}}, writesDecision: true, {D}}}\n" + END,
        "402 702",
    ),
    "a decision of an iteration before is another one": (
        "states:\n  s: {sequence: [m, d], loop: {max: 2}, next: z}\n"
        "  m: {run: {argv: [x]}, loop: {max: 2, until: promote_checkpoint}, "
        "outputs: [{uri: 's3://b/{{run.id}}/{{loop.s}}/{{loop.m}}.json', schema: decision}]}\n"
        "  d: {run: {argv: [x]}}\n" + END,
        "404",
    ),
    "a leaf loop reads its own": (
        "states:\n  a: {run: {argv: [x]}, loop: {max: 2, until: promote_checkpoint}, writesDecision: true, "
        "outputs: [{uri: 's3://b/{{run.id}}/{{loop.a}}.json', schema: decision}], next: z}\n" + END,
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
    assert "'a' reads the decision at s3://b/<run.id>/d.json" in item.message
    assert item.message.endswith("on this path: a")


def test_only_a_spec_that_reads_decisions_is_asked_for_its_mode() -> None:
    assert codes(f"states:\n  a: {{run: {{argv: [x]}}, writesDecision: true, {D}, terminal: true}}\n") == ""
    assert codes(CASES["a leaf reads its own output"][0]) == "405"
