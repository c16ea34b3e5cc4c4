"""What is worked out for all gates and all outputs at once is what a search for each of them finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from npac.flow.flow import Flow
from npac.flow.graph import Kind
from npac.flow.symbolic import hole_names
from npac.ir.values import Hole, Value
from npac.rules.decisions.sources import decision_place
from tests.rules.specs import END, checked

PLACES = ("s3://bkt/d.json", "s3://bkt/{{loop.l}}/d.json", "{{state.s1.uri}}", "s3://bkt/{{state.s0.uri}}")


@st.composite
def specs(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """Draw a chain with branches; the states from 2 to 4 may be the body of a loop."""
    count = draw(st.integers(3, 7))
    looped = draw(st.booleans())
    body = range(2, min(5, count)) if looped else range(0)
    names = [f"s{at}" for at in range(count)]
    after = [f"s{at}" for at in range(count) if at not in body] + ["z"]
    lines = []
    if looped:
        until = draw(st.sampled_from(["", ", until: promote_checkpoint"]))
        following = f"s{body[-1] + 1}" if body[-1] + 1 < count else "z"
        lines.append(
            f"  l: {{sequence: [{', '.join(names[at] for at in body)}], loop: {{max: 3{until}}}, "
            f"params: {{decision_uri: {draw(st.sampled_from(PLACES))!r}}}, next: {following}}}\n"
        )
    for at, name in enumerate(names):
        place = draw(st.sampled_from(PLACES))
        parts = ["run: {argv: [x]}", f"params: {{decision_uri: {place!r}}}"]
        parts.append(f"outputs: [{{uri: 's3://bkt/{draw(st.sampled_from('pq'))}'}}]")
        if draw(st.booleans()):
            parts.append("writesDecision: true")
        if at not in body:
            target = "l" if looped and at + 1 in body else f"s{at + 1}" if at + 1 < count else "z"
            later = [name for name in after if name == "z" or int(name[1:]) > at]
            if draw(st.booleans()):
                parts.append(f"transitions: [{{when: loop_back, goto: {draw(st.sampled_from(later))}}}]")
            parts.append(f"next: {target}")
        lines.append(f"  {name}: {{{', '.join(parts)}}}\n")
    return "initial: s0\nstates:\n" + "".join(lines) + END


def _flow(body: str) -> Flow:
    unit = checked(body).unit
    assert unit is not None and unit.flow is not None and unit.flow.graph is not None
    return unit.flow


def _writes(flow: Flow, name: str, uri: Value) -> bool:
    step = flow.steps.by_state[name]
    if isinstance(uri, Hole) and uri.name.startswith(f"state.{name}."):
        number = int(uri.name.rpartition(".")[2])
        if step.outputs[number - 1].uri == step.decision_uri:
            return True
    return step.decision_uri == uri


def _reaches_unwritten(flow: Flow, target: int, uri: Value) -> bool:
    """Search from the first point, with whether ``uri`` is written on the way."""
    graph = flow.graph
    assert graph is not None
    names: set[str] = set()
    hole_names(uri, names)
    loops = {name.removeprefix("loop.") for name in names if name.startswith("loop.")}
    states = {name.removeprefix("state.").rpartition(".")[0] for name in names if name.startswith("state.")}
    seen = {(graph.entry, False)}
    stack = [(graph.entry, False)]
    while stack:
        at, done = stack.pop()
        if at == target and not done:
            return True
        point = graph.points[at]
        after = done
        if point.kind is Kind.WAVE:
            after = after and point.state not in states
            if flow.spec.states[point.state].writes_decision and _writes(flow, point.state, uri):
                after = True
        elif point.kind is Kind.SET_LOOP and point.state in loops:
            after = False
        for index, follow in enumerate(point.successors):
            renewed = point.kind is Kind.NEXT_ITERATION and index == 0 and point.state in loops
            key = (follow, after and not renewed)
            if key not in seen:
                seen.add(key)
                stack.append(key)
    return False


RENEWED = (
    "initial: s0\nstates:\n"
    "  s0: {run: {argv: [x]}, params: {decision_uri: '{{state.s1.uri}}'}, outputs: [{uri: 's3://bkt/p'}], "
    "writesDecision: true, next: s1}\n"
    "  s1: {run: {argv: [x]}, params: {decision_uri: '{{state.s1.uri}}'}, outputs: [{uri: 's3://bkt/p'}], "
    "transitions: [{when: loop_back, goto: z}], next: z}\n" + END
)
"""What is written on all ways to a state becomes another URI in it."""


@given(specs())
@example(RENEWED)
@settings(max_examples=150, deadline=None)
def test_gates_without_a_writer_are_those_that_a_search_finds(body: str) -> None:
    flow = _flow(body)
    assert flow.graph is not None
    from npac.rules.decisions.written import check

    wanted = set()
    for point in flow.graph.points:
        if point.kind is Kind.GATE and flow.reached(point.index):
            uri = decision_place(flow, point.state, point.role)
            if uri is not None and _reaches_unwritten(flow, point.index, uri):
                wanted.add((point.state, point.role))
    found = set()
    for item in check(flow):
        state = next(name for name in flow.spec.states if item.message.startswith(repr(name)))
        keys = flow.spec.states[state].keys
        role = "until" if "loop" in keys and item.span == keys["loop"].span else "transitions"
        found.add((state, role))
        way = item.message.rpartition(": ")[2].split(" -> ")
        assert way[0] == "s0", item.message
    assert found == wanted


def _leads(flow: Flow, start: int, target: int) -> bool:
    assert flow.graph is not None
    seen: set[int] = set()
    stack = list(flow.graph.points[start].successors)
    while stack:
        at = stack.pop()
        if at not in seen:
            seen.add(at)
            stack.extend(flow.graph.points[at].successors)
    return target in seen


@given(specs())
@settings(max_examples=150, deadline=None)
def test_outputs_that_are_written_again_are_those_that_a_search_finds(body: str) -> None:
    flow = _flow(body)
    graph = flow.graph
    assert graph is not None
    from npac.rules.artifacts.uris import check

    writers: dict[Value, list[str]] = {}
    wanted = set()
    for name, step in flow.steps.by_state.items():
        for output in step.outputs:
            b = graph.work[name]
            for first in writers.setdefault(output.uri, []):
                a = graph.work[first]
                if flow.reached(a) and flow.reached(b) and (_leads(flow, a, b) or _leads(flow, b, a)):
                    wanted.add((first, name))
                    break
            writers[output.uri].append(name)
    found = set()
    for item in check(flow):
        if item.code.name == "rewritten-output" and "wrote before" in item.message:
            other = item.message.split("'")[1]
            found.add((item.message.split(", which '")[1].split("'")[0], other))
    assert found == wanted
