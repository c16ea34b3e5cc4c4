"""Chains and peaks against a walk of every path, on programs of any shape."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.ir.program import End, Gate, Member, Node, Program, Step, Wave, successors
from npac.ir.verifier import verify
from npac.report.analysis import Range, analyse
from npac.report.demand import wave_demand

STEPS = tuple(
    Step(f"s{gpus}", ("true",), profile={"accelerators": f"A:{gpus}"} if gpus else {}) for gpus in range(5)
)


def wave(name: str, number: int, follow: str, steps: tuple[int, ...] = (0,)) -> Wave:
    """Give a wave whose members run at once."""
    members = tuple(Member(step) for step in steps)
    batches = (tuple(range(len(steps))),)
    if len(steps) == 1:
        return Wave(name, number, members, batches, follow)
    return Wave(name, number, members, batches, follow, group="many", max_concurrency=len(steps))


def gate(name: str, promote: str, loop_back: str) -> Gate:
    return Gate(name, name, "transitions", "s3://bkt/d.json", promote, loop_back)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Draw a program: every node leads anywhere further down, and what nothing leads to is left out."""
    names = [f"n{at}" for at in range(draw(st.integers(2, 12)))]
    drawn: list[Node] = []
    reached = {names[0]}
    used: list[int] = []
    for at, name in enumerate(names):
        further = st.sampled_from(names[at + 1 :]) if at + 1 < len(names) else None
        if name not in reached:
            continue
        node: Node
        if further is None or (at and draw(st.integers(0, 5)) == 0):
            node = End(name)
        elif draw(st.booleans()):
            node = gate(name, draw(further), draw(further))
        else:
            number = sum(isinstance(each, Wave) for each in drawn) + 1
            own = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True))
            used += [step for step in own if step not in used]
            node = wave(name, number, draw(further), tuple(used.index(step) for step in own))
        drawn.append(node)
        reached.update(successors(node))
    program = Program("w", names[0], tuple(STEPS[step] for step in used), tuple(drawn))
    assert verify(program) == []
    return program


def paths(program: Program) -> Iterator[list[Node]]:
    """Give every path, the promoted ways first."""
    index = program.index()
    waiting = [[index[program.entry]]]
    while waiting:
        path = waiting.pop()
        follows = successors(path[-1])
        if not follows:
            yield path
        waiting += [[*path, index[follow]] for follow in reversed(follows)]


@given(programs())
@settings(max_examples=150, deadline=None)
def test_the_ranges_are_those_of_every_path(program: Program) -> None:
    found = analyse(program, {})
    walks = [[node for node in path if isinstance(node, Wave)] for path in paths(program)]
    lengths = [len(waves) for waves in walks]
    assert found.chain == Range(min(lengths), max(lengths))
    demands = [[wave_demand(each, program) for each in waves] for waves in walks]
    widths = [max((demand.members for demand in held), default=0) for held in demands]
    assert found.width == Range(min(widths), max(widths))
    gpus = [max((demand.gpus for demand in held), default=0) for held in demands]
    assert found.gpus == Range(min(gpus), max(gpus))
    # of equally long paths, the one that promotes earliest
    longest = next(waves for waves in walks if len(waves) == max(lengths))
    assert found.critical_path == tuple(each.id for each in longest)


@pytest.mark.parametrize(("promoted", "other"), [("a", "b"), ("b", "a")])
def test_of_equal_ways_the_promoted_one_is_critical(promoted: str, other: str) -> None:
    nodes = (gate("g", promoted, other), wave("a", 1, "end"), wave("b", 2, "end"), End("end"))
    assert analyse(Program("w", "g", STEPS[:1], nodes), {}).critical_path == (promoted,)


def test_a_gate_whose_ways_are_one_counts_once() -> None:
    nodes = (gate("g", "a", "a"), wave("a", 1, "end"), End("end"))
    found = analyse(Program("w", "g", STEPS[:1], nodes), {})
    assert (found.chain, found.critical_path) == (Range(1, 1), ("a",))


@pytest.mark.parametrize("nodes", [(End("end"),), (gate("g", "end", "end"), End("end"))])
def test_a_program_without_waves_has_no_chain(nodes: tuple[Node, ...]) -> None:
    found = analyse(Program("w", nodes[0].id, (), nodes), {})
    assert (found.chain, found.critical_path, found.width, found.widest) == (Range(0, 0), (), Range(0, 0), "")


def test_a_long_program_is_no_trouble() -> None:
    count = 20_000
    nodes = [wave(f"n{at}", at + 1, f"n{at + 1}") for at in range(count)]
    found = analyse(Program("w", "n0", STEPS[:1], (*nodes, End(f"n{count}"))), {})
    assert found.chain == Range(count, count)
    assert len(found.critical_path) == count
