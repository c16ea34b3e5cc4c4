"""Gates: where there is one, where it reads, which edge leaves, and who may have written."""

from __future__ import annotations

from itertools import product

import pytest

from npac.ir.program import Gate, Program, Wave
from npac.ir.values import RUN_ID, concat
from npac.ir.verifier import verify
from npac.ir.walk import walk
from tests.lower.lowering import WRITER, gate, lower


def test_if_is_decided_and_an_unconditional_transition_has_no_gate() -> None:
    program = lower(
        """\
  a:
    run: {shell: a}
    transitions:
      - {when: promote_checkpoint, if: "{{config.off}}", goto: never}
      - {if: config.on, goto: b}
      - {when: loop_back, goto: never}
  b: {transitions: [{goto: c}]}
  never: {run: {shell: never}, next: c}
  c: {terminal: true}
"""
    )
    assert [node.id for node in program.nodes] == ["a", "end"]


def test_routers_have_no_wave_and_gates_can_follow_each_other() -> None:
    program = lower(
        """\
  r: {transitions: [{when: promote_checkpoint, goto: s}], next: t}
  s: {transitions: [{when: loop_back, goto: t}], next: u}
  t: {run: {shell: t}, next: u}
  u: {terminal: true}
"""
    )
    first, second = gate(program, "r@transitions"), gate(program, "s@transitions")
    assert (first.promote, first.loop_back) == ("s@transitions", "t")
    assert (second.promote, second.loop_back) == ("end", "t")
    assert [wave.id for wave in program.waves()] == ["t"]


def test_a_gate_stays_where_both_edges_meet() -> None:
    program = lower(
        f"""\
  l: {{run: {{shell: l}}, loop: {{max: 1, until: promote_checkpoint}}, {WRITER}, next: r}}
  r: {{transitions: [{{when: promote_checkpoint, goto: t}}, {{when: loop_back, goto: t}}]}}
  t: {{terminal: true}}
"""
    )
    for name, target in (("l[1]@until", "r@transitions"), ("r@transitions", "end")):
        assert gate(program, name).promote == gate(program, name).loop_back == target


@pytest.mark.parametrize("until", ["promote_checkpoint", "loop_back"])
def test_until_says_which_edge_leaves(until: str) -> None:
    program = lower(
        f"""\
  l: {{run: {{shell: l}}, loop: {{max: 2, until: {until}}}, {WRITER}, next: t}}
  t: {{run: {{shell: t}}, terminal: true}}
"""
    )
    first, last = gate(program, "l[1]@until"), gate(program, "l[2]@until")
    assert first.leaves_on == until
    leave, stay = (
        (first.promote, first.loop_back)
        if until == "promote_checkpoint"
        else (first.loop_back, first.promote)
    )
    assert (leave, stay) == ("t", "l[2]")
    assert last.promote == last.loop_back == "t"


@pytest.mark.parametrize(
    ("states", "name", "uri"),
    [
        # the first output whose label speaks of a decision, whatever config says
        (
            '  a: {run: {shell: a}, outputs: [{uri: "s3://bbb/{{run.id}}/x"}, '
            '{uri: "s3://bbb/{{run.id}}/y", schema: My.DECISION.v1}], '
            "transitions: [{when: loop_back, goto: t}], next: t}\n  t: {terminal: true}\n",
            "a@transitions",
            concat(("s3://bbb/", RUN_ID, "/y")),
        ),
        # else the state's own overlay of decision_uri
        (
            '  a: {run: {shell: a}, params: {decision_uri: "s3://ooo/{{loop.a}}"}, loop: {max: 2}, '
            "transitions: [{when: loop_back, goto: t}], next: t}\n  t: {terminal: true}\n",
            "a@transitions",
            "s3://ooo/2",
        ),
        # else config.decision_uri
        (
            "  a: {transitions: [{when: loop_back, goto: t}], next: t}\n  t: {terminal: true}\n",
            "a@transitions",
            concat(("s3://bbb/", RUN_ID, "/decision.json")),
        ),
        # a loop reads that of its body's last direct writer
        (
            "  g: {sequence: [a, b, h], loop: {max: 1, until: loop_back}, next: t}\n"
            "  a: {run: {shell: a}, writesDecision: true, "
            'outputs: [{uri: "s3://aaa/{{run.id}}", schema: decision}]}\n'
            "  b: {run: {shell: b}, writesDecision: true, "
            'outputs: [{uri: "s3://www/{{loop.g}}", schema: decision}]}\n'
            "  h: {sequence: [c]}\n"
            "  c: {run: {shell: c}, writesDecision: true, "
            'outputs: [{uri: "s3://ccc/{{run.id}}", schema: decision}]}\n'
            "  t: {terminal: true}\n",
            "g[1]@until",
            "s3://www/1",
        ),
    ],
    ids=["label", "params", "config", "last-direct-writer"],
)
def test_where_a_decision_is_read(states: str, name: str, uri: object) -> None:
    assert gate(lower(states), name).uri == uri


def test_a_decision_read_elsewhere_than_any_output_has_its_counters() -> None:
    program = lower(
        f"""\
  l: {{run: {{shell: l}}, loop: {{max: 2, until: loop_back}}, {WRITER}, next: a}}
  a:
    run: {{shell: a}}
    params: {{decision_uri: "s3://ooo/{{{{loop.l}}}}"}}
    transitions: [{{when: loop_back, goto: t}}]
    next: t
  t: {{terminal: true}}
"""
    )
    assert verify(program) == []
    assert {item.uri for item in program.gates() if item.state == "a"} == {"s3://ooo/1", "s3://ooo/2"}
    # the step itself does not hold the place
    assert [step.state for step in program.steps] == ["l", "a"]


def _writers_by_walking(program: Program) -> dict[str, set[str]]:
    """Give, for each gate, the last writers of its URI over all paths, found by walking every one."""
    count = len(program.gates())
    found: dict[str, set[str]] = {item.id: set() for item in program.gates()}
    for decisions in product(("promote_checkpoint", "loop_back"), repeat=count):
        answers = dict(zip((item.id for item in program.gates()), decisions, strict=True))
        written: dict[object, str] = {}
        for node in walk(program, lambda item, answers=answers: answers[item.id]):  # type: ignore[misc]
            if isinstance(node, Gate) and node.uri in written:
                found[node.id].add(written[node.uri])
            elif isinstance(node, Wave):
                for member in node.members:
                    step = program.steps[member.step]
                    if step.writes_decision:
                        written[step.decision_uri] = step.state
    return found


def test_gates_name_all_that_may_have_written_their_decision() -> None:
    program = lower(
        f"""\
  a: {{run: {{shell: a}}, {WRITER}, transitions: [{{when: promote_checkpoint, goto: b}}], next: g}}
  b: {{run: {{shell: b}}, {WRITER}, next: r}}
  g: {{sequence: [c, d], loop: {{max: 2, until: loop_back}}, next: r}}
  c: {{run: {{shell: c}}, {WRITER}}}
  d:
    run: {{shell: d}}
    writesDecision: true
    outputs: [{{uri: "s3://ddd/{{{{loop.g}}}}", schema: decision}}]
  r: {{transitions: [{{when: promote_checkpoint, goto: p}}], next: t}}
  p: {{parallel: [x, y], next: q}}
  x: {{run: {{shell: x}}, {WRITER}}}
  y: {{run: {{shell: y}}}}
  q: {{transitions: [{{when: promote_checkpoint, goto: t}}], next: t}}
  t: {{terminal: true}}
"""
    )
    found = {item.id: set(item.writers) for item in program.gates()}
    assert found == _writers_by_walking(program)
    assert found["a@transitions"] == {"a"}
    assert found["g[1]@until"] == {"d"}
    assert found["r@transitions"] == {"b", "c"}
    assert found["q@transitions"] == {"x"}
