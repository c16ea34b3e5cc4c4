"""How many nodes a program has, and that it always is a sound DAG."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given, settings

from npac.ir.program import Gate, Program, Wave
from npac.ir.verifier import verify
from npac.pipeline import MAX_NODES
from tests.corpus import place
from tests.lower.lowering import demand_sound, errors, lower, run
from tests.lower.specs import Case, cases
from tests.lower.test_walks import CALM, lowered


def gated_loops(count: int, tail: str) -> str:
    """Give ``count`` gated leaf loops of ten in a row, and a tail."""
    lines = []
    for number in range(1, count + 1):
        following = f"l{number + 1}" if number < count else "tail"
        lines.append(
            f'  l{number}: {{run: {{shell: "true"}}, loop: {{max: 10, until: promote_checkpoint}}, '
            f'writesDecision: true, outputs: [{{uri: "{{{{config.decision_uri}}}}"}}], next: {following}}}\n'
        )
    return "".join(lines) + f'  tail: {{run: {{shell: "echo {tail}"}}, terminal: true}}\n'


def all_counters(count: int) -> str:
    return " ".join(f"{{{{loop.l{number}}}}}" for number in range(1, count + 1))


def count_kinds(program: Program) -> Counter[str]:
    return Counter(type(node).__name__ for node in program.nodes)


def test_gated_loops_whose_counters_nobody_uses_join_again() -> None:
    program = lower(gated_loops(4, "done"))
    assert count_kinds(program) == {"Wave": 41, "Gate": 40, "End": 1}
    assert len(program.steps) == 5
    assert verify(program) == []
    demand_sound(program)


def test_gated_loops_whose_counters_are_used_stay_apart() -> None:
    program = lower(gated_loops(4, all_counters(4)))
    # 20, 200, 2000 and 20,000 nodes of the loops, 10,000 tails, an end
    assert len(program.nodes) == 32_221
    assert sum(1 for node in program.nodes if isinstance(node, Wave) and node.id.startswith("tail")) == 10_000
    assert len(program.steps) == 4 + 10_000
    assert verify(program) == []
    demand_sound(program)


def test_too_many_nodes_are_refused_by_naming_loops_and_tokens() -> None:
    assert MAX_NODES == 250_000
    unit = run(gated_loops(5, all_counters(5)), max_nodes=40_000)
    (message,) = errors(unit)
    assert unit.program is None
    assert "more than 40,000 nodes" in message
    for number in range(1, 6):
        assert f"l{number}" in message
        assert f"{{{{loop.l{number}}}}}" in message
    (item,) = [item for item in unit.findings if item.code.name == "too-many-nodes"]
    assert "--max-nodes" in item.help
    assert run(gated_loops(5, "done"), max_nodes=40_000).program is not None


def nested(after_inner: str, tail: str) -> str:
    return f"""\
  outer: {{sequence: [inner, use], loop: {{max: 30}}, next: tail}}
  inner:
    run: {{shell: "true"}}
    loop: {{max: 30, until: promote_checkpoint}}
    writesDecision: true
    outputs: [{{uri: "{{{{config.decision_uri}}}}"}}]
  use: {{run: {{shell: "echo {after_inner}"}}}}
  tail: {{run: {{shell: "echo {tail}"}}, terminal: true}}
"""


@pytest.mark.parametrize(
    ("after_inner", "tail", "waves", "gates", "steps"),
    [
        # every iteration of outer: 30 times inner, then use
        ("x", "x", 30 * (30 + 1) + 1, 900, 3),
        # the inner counter is used once and forgotten
        ("{{loop.inner}}", "x", 30 * (30 + 30) + 1, 900, 1 + 30 + 1),
        # it is used after the outer loop: `use` may be the last, in every iteration
        ("x", "{{loop.inner}}", 30 * (30 + 30) + 30, 900, 1 + 1 + 30),
        ("{{loop.outer}}", "{{loop.outer}}", 30 * (30 + 1) + 1, 900, 1 + 30 + 1),
    ],
    ids=["unused", "used-inside", "used-after", "outer-used"],
)
def test_nested_loops_of_thirty(after_inner: str, tail: str, waves: int, gates: int, steps: int) -> None:
    program = lower(nested(after_inner, tail))
    assert count_kinds(program) == {"Wave": waves, "Gate": gates, "End": 1}
    assert len(program.steps) == steps
    assert verify(program) == []
    demand_sound(program)


def test_a_chain_of_many_states_is_lowered_without_recursion() -> None:
    count = 20_000
    lines = [f"  s{n}: {{run: {{argv: [run, a]}}, next: s{n + 1}}}\n" for n in range(count - 1)]
    lines.append(f"  s{count - 1}: {{run: {{argv: [run]}}, terminal: true}}\n")
    begun = time.process_time()
    program = lower("".join(lines))
    # about four seconds of one core; quadratic work would take hours
    assert time.process_time() - begun < 60
    assert len(program.nodes) == count + 1
    assert program.waves()[-1].number == count


def test_many_iterations_with_decisions_of_their_own_take_linear_time() -> None:
    begun = time.process_time()
    program = lower(
        """\
  l:
    run: {shell: l}
    loop: {max: 10000, until: promote_checkpoint}
    writesDecision: true
    outputs: [{uri: "s3://bbb/{{run.id}}/{{loop.l}}", schema: decision}]
    terminal: true
"""
    )
    # about a second; a minute when every gate carries all decisions written before
    assert time.process_time() - begun < 20
    assert {gate.writers for gate in program.gates()} == {("l",)}


def test_a_deep_nest_of_sequences_is_lowered_without_recursion() -> None:
    depth = 3_000
    lines = [f"  g{n}: {{sequence: [g{n + 1}]}}\n" for n in range(depth)]
    lines[0] = "  g0: {sequence: [g1], next: end}\n"
    lines.append(f"  g{depth}: {{run: {{argv: [run]}}}}\n  end: {{terminal: true}}\n")
    program = lower("".join(lines))
    assert count_kinds(program) == {"Wave": 1, "End": 1}
    assert program.nodes[0].id.count("/") == depth


def test_loops_without_work_come_to_an_end() -> None:
    def empty(bound: int) -> str:
        return f"""\
  g: {{sequence: [r], loop: {{max: {bound}}}, outputs: [{{uri: "s3://bbb/{{{{run.id}}}}/g"}}], next: t}}
  r: {{transitions: [{{when: loop_back, goto: g}}]}}
  t: {{run: {{shell: t}}, terminal: true}}
"""

    program = lower(empty(50))
    assert count_kinds(program) == {"Wave": 1, "End": 1}
    assert len(program.waves()[0].checks) == 50
    (message,) = errors(run(empty(999_999_999), max_nodes=20_000))
    assert "'g'" in message and "without anything to run" in message


@place.each_spec
def test_corpus_programs_are_sound(name: str) -> None:
    from npac.api import compile

    program = compile(place.spec_path(name), place.given(name)).program
    assert verify(program) == []
    demand_sound(program)


@settings(CALM, max_examples=60)
@given(cases())
def test_generated_programs_are_sound(case: Case) -> None:
    program = lowered(case.text)
    assert verify(program) == []
    demand_sound(program)
    # a node's name says which iteration it is; where that does not tell nodes apart, 8 hex do
    paths = Counter(node.id.partition("~")[0] for node in program.nodes)
    for node in program.nodes:
        path, tilde, digest = node.id.partition("~")
        assert bool(tilde) == (paths[path] > 1), node.id
        assert len(digest) in ((8, 24) if tilde else (0,))
        if isinstance(node, Gate):
            assert f"@{node.role}" in path
