"""The flow graph of each kind of state."""

from __future__ import annotations

from npac.flow.flow import Flow
from npac.flow.graph import Kind
from tests.lower.lowering import run


def flow_of(states: str) -> Flow:
    flow = run(states).flow
    assert flow is not None
    return flow


def walk(flow: Flow, choices: str = "") -> list[str]:
    """Give the points from the entry to the end; ``choices`` picks successors where there are two."""
    graph = flow.graph
    assert graph is not None
    picks = iter(choices)
    at = graph.entry
    names: list[str] = []
    while True:
        point = graph.points[at]
        if point.kind is not Kind.ENTER:
            names.append(f"{point.kind.value} {point.state}".strip())
        if point.kind is Kind.END:
            assert next(picks, None) is None
            return names
        at = point.successors[int(next(picks)) if len(point.successors) > 1 else 0]


def test_a_chain() -> None:
    flow = flow_of("  a: {run: {shell: a}, next: b}\n  b: {terminal: true}\n")
    assert walk(flow) == ["wave a", "end"]


def test_a_looped_leaf_reads_its_gate_after_every_iteration() -> None:
    flow = flow_of(
        "  a: {run: {shell: a}, loop: {max: 3, until: loop_back}, "
        'writesDecision: true, outputs: [{uri: "{{config.decision_uri}}"}], terminal: true}\n'
    )
    # the first edge of a gate is promote_checkpoint, here: go on
    assert walk(flow, "001") == [
        "set-loop a",
        "wave a",
        "gate a",
        "next-iteration a",
        "wave a",
        "gate a",
        "end",
    ]


def test_a_looped_sequence_opens_and_checks_each_iteration() -> None:
    flow = flow_of(
        "  g: {sequence: [a, p], loop: {max: 2}, next: t}\n"
        "  a: {run: {shell: a}}\n  p: {parallel: [x, y]}\n"
        "  x: {run: {shell: x}}\n  y: {run: {shell: y}}\n  t: {terminal: true}\n"
    )
    body = ["open g", "wave a", "wave p", "outputs g", "next-iteration g"]
    assert walk(flow, "01") == ["set-loop g", *body, *body, "end"]
    graph = flow.graph
    assert graph is not None
    # members run in their group's wave
    assert graph.work["x"] == graph.work["y"] == graph.work["p"] == graph.begin["x"]
    assert graph.done["g"] != graph.begin["g"]


def test_a_terminal_sequence_ends_the_run() -> None:
    flow = flow_of(
        "  g: {sequence: [a], terminal: true}\n  a: {run: {shell: a}}\n"
        "  late: {run: {shell: late}, next: g}\n"
    )
    assert walk(flow) == ["open g", "wave a", "outputs g", "end"]
    assert flow.graph is not None
    assert not flow.reached(flow.graph.begin["late"])
    assert flow.reached(flow.graph.begin["a"])


def test_transitions_of_a_child_do_not_route() -> None:
    flow = flow_of(
        "  g: {sequence: [a, b], loop: {max: 1}, next: t}\n"
        "  a: {run: {shell: a}, transitions: [{when: promote_checkpoint, goto: t}]}\n"
        "  b: {run: {shell: b}}\n  t: {terminal: true}\n"
    )
    assert walk(flow, "1") == [
        "set-loop g",
        "open g",
        "wave a",
        "wave b",
        "outputs g",
        "next-iteration g",
        "end",
    ]


def test_where_states_contain_themselves_the_graph_lacks_the_last_link() -> None:
    flow = flow_of("  g: {sequence: [h], next: t}\n  h: {sequence: [g]}\n  t: {terminal: true}\n")
    assert flow.structure.cycles == [("g", "h")]
    assert flow.structure.members == {"g": ("h",), "h": ()} and flow.structure.parent == {"h": "g"}
    assert flow.graph is not None and flow.reached(flow.graph.begin["t"])


def test_states_that_follow_one_another_in_circles_have_a_graph() -> None:
    flow = flow_of("  a: {run: {shell: a}, next: b}\n  b: {run: {shell: b}, next: a}\n  c: {next: c}\n")
    assert flow.circles == [("a", "b", "a"), ("c", "c")]
    assert flow.graph is not None and flow.reached(flow.graph.begin["b"])
    assert not flow.reached(flow.graph.begin["c"])


def test_uses_and_definitions_of_points() -> None:
    flow = flow_of(
        "  g: {sequence: [a, b], loop: {max: 2, until: promote_checkpoint}, "
        'outputs: [{uri: "s3://bbb/{{run.id}}/g"}], next: t}\n'
        '  a: {run: {shell: "echo {{loop.g}}"}, outputs: [{uri: "s3://bbb/{{run.id}}/{{loop.g}}"}]}\n'
        '  b: {run: {shell: "echo {{state.a.uri}} {{run.id}}"}, writesDecision: true, '
        'outputs: [{uri: "s3://bbb/{{run.id}}/d", schema: decision}]}\n'
        "  t: {terminal: true}\n"
    )
    graph = flow.graph
    assert graph is not None
    at = {(point.kind, point.state): point.index for point in graph.points}
    a, b, gate = at[Kind.WAVE, "a"], at[Kind.WAVE, "b"], at[Kind.GATE, "g"]
    assert flow.uses(a) == {"loop.g"}
    assert flow.defines(a) == {"state.a.1", "decision.a"}
    assert flow.uses(b) == {"state.a.1"}
    assert flow.uses(gate) == {"decision.b"}
    assert flow.defines(gate) == frozenset()
    assert flow.uses(at[Kind.NEXT_ITERATION, "g"]) == {"loop.g"}
    assert flow.defines(at[Kind.SET_LOOP, "g"]) == {"loop.g"}
    assert flow.defines(at[Kind.OUTPUTS, "g"]) == {"state.g.1"}
