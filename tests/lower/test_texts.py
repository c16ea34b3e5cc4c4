"""The bound on a program's text: worked out beforehand, and counted while the program is built."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import assume, given, settings

from npac.catalog import load_catalog
from npac.diagnostics.diagnostic import Severity
from npac.flow.config import MAX_PROGRAM, value_length
from npac.flow.counters import Counters
from npac.flow.flow import Flow
from npac.flow.program_size import sizes, step_names
from npac.ir.program import Gate, Program, Wave
from npac.lower.lower import lower
from npac.lower.texts import TooLarge, artifacts_text, groups_text, step_text
from npac.pipeline import Settings, Unit, run_passes
from npac.text.source import SourceFile
from tests.lower.specs import Case, cases
from tests.lower.test_walks import CALM

HEAD = "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: large}\n"


def checked(text: str) -> Unit:
    return run_passes(SourceFile("large.yaml", text), Settings(load_catalog()), until="check")


def generated(case: Case) -> Flow:
    unit = checked(case.text)
    assume(unit.sound)
    assert unit.flow is not None
    return unit.flow


def flow_of(text: str) -> Flow:
    unit = checked(text)
    assert [item.message for item in unit.findings if item.severity is Severity.ERROR] == []
    assert unit.flow is not None
    return unit.flow


def text_of(program: Program) -> int:
    """Count a program's text from outside."""
    total = sum(map(step_text, program.steps))
    for node in program.nodes:
        total += groups_text(node.checks)
        if isinstance(node, Gate):
            total += value_length(node.uri)
        elif isinstance(node, Wave):
            total += groups_text(node.opens) + artifacts_text(node.outputs)
            total += sum(value_length(trigger.uri) for trigger in node.triggers)
    return total


@settings(CALM, max_examples=40)
@given(cases())
def test_arithmetic_never_says_more_than_there_is(case: Case) -> None:
    flow = generated(case)
    program = lower(flow)
    by_state = sizes(flow)
    assert sum(by_state.values()) <= text_of(program)
    counters = Counters(flow)
    for state in by_state:
        if flow.spec.states[state].works:
            made = sum(1 for step in program.steps if step.state == state)
            assert counters.steps(state, step_names(flow, state))[0] <= made


@settings(CALM, max_examples=40)
@given(cases())
def test_the_count_is_exact(case: Case) -> None:
    flow = generated(case)
    program = lower(flow)
    total = text_of(program)
    assert lower(flow, max_text=total) == program
    if total:
        with pytest.raises(TooLarge) as caught:
            lower(flow, max_text=total - 1)
        assert caught.value.finding.code.name == "program-too-large"


SHAPES = {
    "inside its loop": ("  a: {run: {argv: [x, '{{loop.a}}']}, loop: {max: 7}, terminal: true}\n", 7),
    "in two loops": (
        "  g: {sequence: [h], loop: {max: 3}, next: z}\n  h: {sequence: [a], loop: {max: 5}}\n"
        "  a: {run: {argv: [x, '{{loop.g}}{{loop.h}}']}}\n  z: {terminal: true}\n",
        15,
    ),
    "in two loops, one of them named": (
        "  g: {sequence: [h], loop: {max: 3}, next: z}\n  h: {sequence: [a], loop: {max: 5}}\n"
        "  a: {run: {argv: [x, '{{loop.g}}']}}\n  z: {terminal: true}\n",
        3,
    ),
    "after a loop": (
        "  l: {run: {argv: [x]}, loop: {max: 7}, next: a}\n"
        "  a: {run: {argv: [x, '{{loop.l}}']}, terminal: true}\n",
        1,
    ),
    "after a loop that a decision ends": (
        "  l: {run: {argv: [x]}, loop: {max: 7, until: promote_checkpoint}, writesDecision: true, next: a,"
        " outputs: [{uri: 's3://bkt/{{run.id}}/d.json', schema: decision}]}\n"
        "  a: {run: {argv: [x, '{{loop.l}}']}, terminal: true}\n",
        7,
    ),
    "by another state's value": (
        "  g: {sequence: [b, a], loop: {max: 6}, next: z}\n"
        "  b: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/{{loop.g}}.json'}]}\n"
        "  a: {run: {argv: [x, '{{state.b.uri}}']}}\n  z: {terminal: true}\n",
        6,
    ),
    "by a value and the same counter": (
        "  g: {sequence: [b, a], loop: {max: 6}, next: z}\n"
        "  b: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/{{loop.g}}.json'}]}\n"
        "  a: {run: {argv: [x, '{{state.b.uri}}', '{{loop.g}}']}}\n  z: {terminal: true}\n",
        6,
    ),
    "by a value of two counters": (
        "  f: {sequence: [g], loop: {max: 12}, next: z}\n  g: {sequence: [b, a], loop: {max: 12}}\n"
        "  b: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/{{loop.f}}-{{loop.g}}.json'}]}\n"
        "  a: {run: {argv: [x, '{{state.b.uri}}']}}\n  z: {terminal: true}\n",
        144,
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_steps_of_a_state_are_known_beforehand(shape: str) -> None:
    states, count = SHAPES[shape]
    flow = flow_of(f"{HEAD}states:\n{states}")
    assert Counters(flow).steps("a", step_names(flow, "a"))[0] == count
    assert sum(1 for step in lower(flow).steps if step.state == "a") == count


def test_counters_that_run_into_one_another_are_not_multiplied() -> None:
    flow = flow_of(
        f"{HEAD}states:\n  f: {{sequence: [g], loop: {{max: 12}}, next: z}}\n"
        "  g: {sequence: [b, a], loop: {max: 13}}\n"
        "  b: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/{{loop.f}}{{loop.g}}.json'}]}\n"
        "  a: {run: {argv: [x, '{{state.b.uri}}']}}\n  z: {terminal: true}\n"
    )
    made = sum(1 for step in lower(flow).steps if step.state == "a")
    assert made < 12 * 13  # 1 and 11 read like 11 and 1
    assert Counters(flow).steps("a", step_names(flow, "a"))[0] == 13 <= made


def long(size: int, count: int, words: str) -> str:
    return (
        f"{HEAD}config:\n  k: {'x' * size}\nstates:\n"
        f"  a: {{run: {{argv: [x, {words}]}}, loop: {{max: {count}}}, terminal: true}}\n"
    )


def test_equal_texts_of_many_steps_are_one_text_in_memory() -> None:
    flow = flow_of(long(100_000, 1_000, "'{{config.k}}', '{{loop.a}}'"))
    tracemalloc.start()
    program = lower(flow)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text_of(program) > 100_000_000
    assert len({id(step.argv[1]) for step in program.steps}) == 1
    assert peak < 20_000_000


def test_different_texts_are_refused_before_they_are_all_built() -> None:
    flow = flow_of(long(100_000, 1_000, "'{{config.k}}{{loop.a}}'"))
    tracemalloc.start()
    with pytest.raises(TooLarge) as caught:
        lower(flow, max_text=5_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000
    assert "in 'a'" in caught.value.finding.message and "config.k" in caught.value.finding.help


@pytest.mark.parametrize(("count", "found"), [(10_738, False), (10_739, True)])
def test_a_program_just_below_the_bound_is_sound_and_one_just_above_is_not(count: int, found: bool) -> None:
    # a step holds the key's 99,990 bytes, `x`, and one to five digits
    unit = checked(long(99_990, count, "'{{config.k}}', '{{loop.a}}'"))
    names = [item.code.name for item in unit.findings if item.severity is Severity.ERROR]
    assert names == (["program-too-large"] if found else [])
    assert found == ((99_990 + 2) * count > MAX_PROGRAM)


def test_what_stands_in_nodes_counts_too() -> None:
    uri = f"s3://bkt/{{{{run.id}}}}/{'d' * 50_000}"
    group = (
        "  g: {sequence: [a], loop: {max: 30000}, outputs: [{uri: '%s'}], next: z}\n  a: {run: {argv: [x]}}\n"
    )
    trigger = "  a: {run: {argv: [x]}, loop: {max: 30000}, trigger: {uri: '%s'}, next: z}\n"
    gate = (
        "  a: {run: {argv: [x]}, loop: {max: 30000, until: promote_checkpoint}, writesDecision: true,"
        " outputs: [{uri: '%s', schema: decision}], next: z}\n"
    )
    for states in (group, trigger, gate):
        unit = checked(f"{HEAD}states:\n{states % uri}  z: {{terminal: true}}\n")
        assert "program-too-large" in [item.code.name for item in unit.findings]
        assert unit.flow is not None
        with pytest.raises(TooLarge):
            lower(unit.flow, max_text=3_000_000)


def test_what_arithmetic_misses_is_found_while_building() -> None:
    # beforehand each counter counts as one digit; most have five, and that is what tips the scales
    text = long(99_990, 10_738, "'{{config.k}}', '{{loop.a}}'")
    assert checked(text).sound
    unit = run_passes(SourceFile("large.yaml", text), Settings(load_catalog()), until="settle")
    assert unit.program is None
    (item,) = [item for item in unit.findings if item.severity is Severity.ERROR]
    assert item.code.name == "program-too-large" and item.span.text == "'{{config.k}}'"
