"""A loop's decision is written in its iterations; one that is not is the same in all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.flow.flow import Flow
from npac.flow.graph import Kind
from npac.flow.symbolic import hole_names
from npac.ir.values import Value
from npac.rules.decisions.sources import decision_place
from npac.rules.decisions.written import check
from tests.rules.specs import END, RUNTIME, checked

CONFIG = "config: {decision_uri: 's3://bkt/{{run.id}}/d.json'}\nstates:\n"
D = "outputs: [{uri: 's3://bkt/{{run.id}}/d.json'}]"
BEFORE = f"  i: {{run: {{argv: [x]}}, writesDecision: true, {D}, next: o}}\n"
X = "  x: {run: {argv: [x]}}\n"
W = f"  w: {{run: {{argv: [x]}}, writesDecision: true, {D}}}\n"
UNTIL = "until: promote_checkpoint"

STALE: dict[str, tuple[str, str, list[str]]] = {
    "a leaf loop that does not write": (
        BEFORE + f"  o: {{loop: {{max: 3, {UNTIL}}}, run: {{argv: [x]}}, next: z}}\n",
        "o",
        ["'i' writes it here, outside the loop"],
    ),
    "a body that does not write": (
        BEFORE + f"  o: {{sequence: [x], loop: {{max: 3, {UNTIL}}}, next: z}}\n" + X,
        "o",
        ["'i' writes it here, outside the loop"],
    ),
    "an inner loop before the writer": (
        BEFORE
        + f"  o: {{sequence: [q, w], loop: {{max: 3}}, next: z}}\n  q: {{sequence: [x], loop: {{max: 3, {UNTIL}}}}}\n"
        + X
        + W,
        "q",
        ["'i' writes it here, outside the loop", "'w' writes it here, later in each iteration of 'o'"],
    ),
    "an inner loop after the writer": (
        f"  o: {{sequence: [w, q], loop: {{max: 3}}, next: z}}\n  q: {{sequence: [x], loop: {{max: 3, {UNTIL}}}}}\n"
        + X
        + W,
        "q",
        ["'w' writes it here, outside the loop"],
    ),
    "two writers whose ways join before the loop": (
        "  r: {transitions: [{if: config.k, goto: i}], next: j}\n"
        + BEFORE
        + f"  j: {{run: {{argv: [x]}}, writesDecision: true, {D}, next: o}}\n"
        + f"  o: {{sequence: [x], loop: {{max: 3, {UNTIL}}}, next: z}}\n"
        + X,
        "o",
        ["'i' writes it here, outside the loop"],
    ),
    "a counter of the loop around names the URI": (
        f"  o: {{sequence: [w, q], loop: {{max: 3}}, next: z}}\n"
        f"  q: {{run: {{argv: [x]}}, loop: {{max: 3, {UNTIL}}}, params: {{decision_uri: 's3://b2b/{{{{run.id}}}}/{{{{loop.o}}}}.j'}}}}\n"
        "  w: {run: {argv: [x]}, writesDecision: true, outputs: [{uri: 's3://b2b/{{run.id}}/{{loop.o}}.j', schema: decision}]}\n",
        "q",
        ["'w' writes it here, outside the loop"],
    ),
    "a writer after the loop is none": (
        BEFORE
        + f"  o: {{sequence: [x], loop: {{max: 3, {UNTIL}}}, next: w}}\n"
        + X
        + W.replace("}]}", "}], next: z}"),
        "o",
        ["'i' writes it here, outside the loop"],
    ),
}

FRESH: dict[str, str] = {
    "write, then gate": BEFORE + f"  o: {{sequence: [x, w], loop: {{max: 3, {UNTIL}}}, next: z}}\n" + X + W,
    "the writer stands deeper in the body": (
        BEFORE
        + f"  o: {{sequence: [q, x], loop: {{max: 3, {UNTIL}}}, next: z}}\n  q: {{sequence: [w], loop: {{max: 2}}}}\n"
        + X
        + W
    ),
    "the writer is a member of a parallel group": (
        BEFORE
        + f"  o: {{sequence: [p], loop: {{max: 3, {UNTIL}}}, next: z}}\n  p: {{parallel: [x, w]}}\n"
        + X
        + W
    ),
    "a leaf that writes its own": (
        f"  o: {{loop: {{max: 3, {UNTIL}}}, run: {{argv: [x]}}, writesDecision: true, {D}, next: z}}\n"
    ),
    "a leaf that declares the URI and does not say that it decides": (
        BEFORE + f"  o: {{loop: {{max: 3, {UNTIL}}}, run: {{argv: [x]}}, {D}, next: z}}\n"
    ),
    "the counter in the URI": (
        f"  o: {{sequence: [w], loop: {{max: 3, {UNTIL}}}, next: z}}\n"
        "  w: {run: {argv: [x]}, writesDecision: true, outputs: [{uri: 's3://bkt/{{run.id}}/{{loop.o}}.j', schema: decision}]}\n"
    ),
    "one iteration": BEFORE + f"  o: {{sequence: [x], loop: {{max: 1, {UNTIL}}}, next: z}}\n" + X,
    "the URI by a token of the state that writes it": (
        "  i: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/d.json'}], writesDecision: true, next: o}\n"
        f"  o: {{sequence: [v], loop: {{max: 3, {UNTIL}}}, next: z}}\n"
        "  v: {run: {argv: [x]}, outputs: [{uri: '{{state.i.uri}}'}]}\n"
    ),
    "both gates behind one writer": (
        BEFORE
        + f"  o: {{sequence: [q], loop: {{max: 3, {UNTIL}}}, next: z}}\n  q: {{sequence: [w], loop: {{max: 2, {UNTIL}}}}}\n"
        + W
    ),
}


def _stale(body: str) -> list[Any]:
    text = CONFIG.replace("d.json'}", "d.json', k: true}") if "config.k" in body else CONFIG
    found = checked(text + body + END, head=RUNTIME).findings
    assert not [item.message for item in found if item.severity.word == "error"]
    return [item for item in found if item.code.id == "NPA406"]


@pytest.mark.parametrize("case", STALE.values(), ids=STALE)
def test_a_decision_that_no_iteration_writes_is_shown_with_who_wrote_it(
    case: tuple[str, str, list[str]],
) -> None:
    body, loop, related = case
    (item,) = _stale(body)
    assert item.span.text == "promote_checkpoint" and f"the loop {loop!r}" in item.message
    said = [other.message for other in item.related]
    assert said[: len(related)] == related
    assert "writesDecision: true" in item.help


@pytest.mark.parametrize("body", FRESH.values(), ids=FRESH)
def test_a_decision_that_every_iteration_writes_is_fresh(body: str) -> None:
    assert _stale(body) == []


def test_the_later_writer_is_named_as_the_place_for_the_until() -> None:
    (item,) = _stale(STALE["an inner loop before the writer"][0])
    assert item.help.endswith("or put until on o, in whose iterations w writes it")


def test_that_the_decision_comes_from_config_is_not_said_beside_it() -> None:
    found = checked(CONFIG + STALE["a body that does not write"][0] + END, head=RUNTIME).findings
    assert [item.code.id for item in found] == ["NPA406"]


def test_a_key_that_could_not_be_read_in_the_body_may_be_what_writes_it() -> None:
    body = STALE["a body that does not write"][0]
    for wrong, codes in (("outputs: 3", ["NPA102"]), ("zzz: 3", ["NPA101", "NPA406"])):
        text = CONFIG + body.replace("x: {run: {argv: [x]}", f"x: {{run: {{argv: [x]}}, {wrong}") + END
        found = checked(text, head=RUNTIME).findings
        assert sorted({item.code.id for item in found} & {"NPA101", "NPA102", "NPA406"}) == codes


def test_long_chains_of_outputs_that_name_one_another_are_looked_at_in_no_time() -> None:
    chain = "".join(
        f"  c{at}: {{run: {{argv: [x]}}, outputs: [{{uri: '{{{{state.c{at - 1}.uri}}}}{{{{state.c{at - 1}.uri}}}}'}}], next: c{at + 1}}}\n"
        for at in range(1, 40)
    )
    body = (
        "  c0: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/c'}], next: c1}\n"
        + chain
        + "  c40: {run: {argv: [x]}, next: i}\n"
        + STALE["a body that does not write"][0]
    )
    assert len([item for item in checked(CONFIG + body + END).findings if item.code.id == "NPA406"]) == 1


@st.composite
def nests(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """Draw a writer, and behind it loops in loops with writers here and there."""
    lines: list[str] = []
    count = 0
    place = draw(st.sampled_from(["s3://bkt/{{run.id}}/d.json", "s3://bkt/{{run.id}}/{{loop.n0}}/d.json"]))

    def state(depth: int, next_: str = "", around: tuple[str, ...] = ()) -> str:
        nonlocal count
        name = f"n{count}"
        count += 1
        kind = (
            draw(st.sampled_from(["leaf", "leaf", "group"]))
            if 0 < depth < 3
            else "group"
            if depth == 0
            else "leaf"
        )
        loop = f"loop: {{max: 2{draw(st.sampled_from(['', ', until: promote_checkpoint', ', until: loop_back']))}}}, "
        loop = loop if depth == 0 or draw(st.booleans()) else ""
        if kind == "leaf":
            out = ", outputs: [{uri: '" + place + "'}]" if draw(st.booleans()) else ""
            writes = ", writesDecision: true" if out and draw(st.booleans()) else ""
            lines.append(
                f"  {name}: {{{loop}run: {{argv: [x]}}, params: {{decision_uri: '{place}'}}{out}{writes}{next_}}}\n"
            )
        else:
            inner = [state(depth + 1) for _ in range(draw(st.integers(1, 3)))]
            lines.append(f"  {name}: {{{loop}sequence: [{', '.join(inner)}]{next_}}}\n")
        return name

    state(0, ", next: z")
    first = "  i: {run: {argv: [x]}, writesDecision: true, outputs: [{uri: 's3://bkt/{{run.id}}/d.json'}], next: n0}\n"
    return "initial: i\n" + CONFIG + first + "".join(lines) + END


def _goes_round(flow: Flow, gate: int, uri: Value) -> bool:
    """Search for a way from a gate back to it on which no state declares the URI, and it stays the same."""
    graph = flow.graph
    assert graph is not None
    names: set[str] = set()
    hole_names(uri, names)
    seen: set[int] = set()
    stack = [gate]
    while stack:
        at = stack.pop()
        point = graph.points[at]
        for index, follow in enumerate(point.successors):
            renewed = point.kind is Kind.NEXT_ITERATION and index == 0 and f"loop.{point.state}" in names
            there = graph.points[follow]
            declares = there.kind is Kind.WAVE and any(
                output.uri == uri for output in flow.steps.by_state[there.state].outputs
            )
            if renewed or declares:
                continue
            if follow == gate:
                return True
            if follow not in seen:
                seen.add(follow)
                stack.append(follow)
    return False


@given(nests())
@settings(max_examples=150, deadline=None)
def test_stale_gates_are_those_that_a_search_goes_round_from(body: str) -> None:
    unit = checked(body).unit
    assert unit is not None and unit.flow is not None and unit.flow.graph is not None
    flow = unit.flow
    found = list(check(flow))
    open_at = {item.span.start for item in found if item.code.id == "NPA404"}
    wanted = set()
    for point in unit.flow.graph.points:
        if point.kind is Kind.GATE and point.role == "until":
            uri = decision_place(flow, point.state, "until")
            lacks = flow.spec.states[point.state].key_span("loop").start in open_at
            if uri is not None and not lacks and _goes_round(flow, point.index, uri):
                loop = flow.spec.states[point.state].loop
                assert loop is not None and loop.until is not None
                wanted.add(loop.until.start)
    assert {item.span.start for item in found if item.code.id == "NPA406"} == wanted
