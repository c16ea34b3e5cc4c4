from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from npac.build.diff import Change, diff_programs
from npac.build.diff_text import render
from npac.ir.canonical import digest
from npac.ir.program import Artifact, Baked, Gate, Program, Step, ToolSetup
from npac.ir.values import RUN_ID, concat
from tests.ir.programs import SOURCE_SHA, chain, everything, group, single


def _nodes(program: Program, id: str, **changes: Any) -> Program:
    return replace(program, nodes=tuple(replace(n, **changes) if n.id == id else n for n in program.nodes))


def test_equal_programs_have_no_difference() -> None:
    assert diff_programs(everything(), everything()) == []
    assert render([]) == ""


def test_a_changed_command_is_told_once_where_it_is() -> None:
    a, b = single(argv=("x", "1")), single(argv=("x", "2"))
    assert diff_programs(a, b) == [Change("changed", "only", "command", "x\n1", "x\n2")]
    assert render(diff_programs(a, b)) == ("~ only\n    command\n        x\n      - 1\n      + 2\n")


@pytest.mark.parametrize(
    ("changes", "aspect"),
    [
        ({"argv": (), "shell": "true"}, "command form"),
        ({"argv": ("<run.id>",)}, "command"),
        ({"argv": (RUN_ID,)}, "command"),
        ({"image": "a:1"}, "image"),
        ({"profile": {"cpus": 2}}, "resources"),
        ({"resources": "gpu"}, "resources"),
        ({"num_nodes": 2}, "nodes"),
        ({"inputs": (Artifact("s3://bkt/k"),)}, "inputs"),
        ({"outputs": (Artifact("s3://bkt/k"),)}, "outputs"),
        ({"secrets": ("T",)}, "secrets"),
        ({"env": {"A": "1"}}, "environment"),
        ({"tool_ref": "workbench.x"}, "tool"),
        ({"setup": ToolSetup(("/opt/p",))}, "setup"),
        ({"baked": Baked(SOURCE_SHA, "npa")}, "baked"),
        ({"source_overlay": True}, "source overlay"),
        ({"decision_uri": "s3://bkt/d"}, "decision"),
    ],
)
def test_every_aspect_of_a_step_is_told(changes: dict[str, Any], aspect: str) -> None:
    found = diff_programs(single(), single(**changes))
    assert aspect in {change.aspect for change in found}
    assert all(change.node == "only" and change.kind == "changed" for change in found)


def test_a_hole_and_a_text_that_looks_like_it_differ() -> None:
    (change,) = diff_programs(single(argv=("<run.id>", "x")), single(argv=(RUN_ID, "x")))
    assert change.aspect == "command" and change.before != change.after
    assert diff_programs(single(shell=concat(["<", RUN_ID]), argv=()), single(shell="<<run.id>", argv=()))


def test_resources_are_told_key_by_key() -> None:
    (change,) = diff_programs(
        single(profile={"cpus": 2, "memory": "4Gi"}),
        single(profile={"cpus": 4, "memory": "4Gi", "cloud": "aws"}),
    )
    assert (change.before, change.after) == ("cpus: 2", 'cpus: 4\ncloud: "aws"')


def test_added_and_removed_nodes_and_their_edges() -> None:
    a = chain(Step("a", argv=("x",)), Step("c", argv=("x",)))
    b = chain(Step("a", argv=("x",)), Step("b", argv=("x",)), Step("c", argv=("x",)))
    assert diff_programs(a, b) == [
        Change("added", "b", after="wave: b\ncommand: x\nnext: c"),
        Change("changed", "a", "next", "c", "b"),
    ]
    assert diff_programs(b, a)[0] == Change("removed", "b", before="wave: b\ncommand: x\nnext: c")
    assert render(diff_programs(a, b)).splitlines() == [
        "+ b  wave: b",
        "      + command: x",
        "      + next: c",
        "~ a",
        "    next",
        "      - c",
        "      + b",
    ]


def test_a_member_of_a_group_is_named() -> None:
    steps = everything().steps[1:4]
    other = (steps[0], replace(steps[1], image="registry.example/team/sim:9"), steps[2])
    (change,) = diff_programs(group(*steps), group(*other))
    assert (change.node, change.state, change.aspect) == ("fan", "shard-1", "image")
    assert "~ fan member shard-1\n" in render([change])


def test_members_that_come_and_go() -> None:
    steps = everything().steps[1:4]
    found = diff_programs(group(*steps, size=2), group(*steps[:2], size=2))
    assert [(change.kind, change.aspect, change.state) for change in found] == [
        ("changed", "batches", ""),
        ("removed", "", steps[2].state),
    ]
    assert found[1].before.startswith("member\ncommand: ")
    (_, added) = diff_programs(group(*steps[:2], size=2), group(*steps, size=2))
    assert (added.kind, added.after) == ("added", found[1].before)


@pytest.mark.parametrize(
    ("id", "changes", "aspect"),
    [
        ("fan", {"max_concurrency": 3}, "max concurrency"),
        ("fan", {"group_retry_all": False}, "group retry"),
        ("fan", {"outputs": ()}, "outputs"),
        ("fan", {"batches": ((0,), (1,), (2,), (3,), (4,))}, "batches"),
        ("prepare", {"triggers": ()}, "waits for"),
        ("loop[1]/train", {"opens": ()}, "opens"),
        ("loop[1]/train", {"loops": {"a-inner": 1, "loop": 1}}, "loops"),
        ("loop[1]/gate", {"uri": "s3://bkt/other"}, "decision"),
        ("loop[1]/gate", {"loop_back": "report"}, "on loop_back"),
        ("loop[1]/gate", {"promote": "loop[2]/train"}, "on promote_checkpoint"),
        ("loop[1]/gate", {"leaves_on": "loop_back"}, "leaves the loop on"),
        ("loop[1]/gate", {"writers": ()}, "writers"),
        ("loop[1]/gate", {"role": "transitions"}, "role"),
        ("loop[1]/gate", {"checks": ()}, "checks"),
    ],
)
def test_every_aspect_of_a_node_is_told(id: str, changes: dict[str, Any], aspect: str) -> None:
    a = everything()
    b = _nodes(a, id, **changes)
    assert digest(a) != digest(b)
    assert [(change.node, change.aspect) for change in diff_programs(a, b)] == [(id, aspect)]


GATE_CHANGES: dict[str, Any] = {
    "state": "other", "role": "transitions", "uri": "s3://bkt/other",
    "promote": "loop[2]/train", "loop_back": "report", "writers": (), "leaves_on": "loop_back",
    "loops": {}, "checks": (),
}  # fmt: skip


@pytest.mark.parametrize("name", [each.name for each in fields(Gate) if each.name != "id"])
def test_no_field_of_a_gate_is_only_another_order(name: str) -> None:
    """A field that the programs' identity knows and the comparison does not would be told as an order."""
    a = everything()
    b = _nodes(a, "loop[1]/gate", **{name: GATE_CHANGES[name]})
    assert digest(a) != digest(b)
    assert "order" not in {change.aspect for change in diff_programs(a, b)}


def test_the_program_itself() -> None:
    a = everything()
    b = replace(a, workflow="other", execution_mode="", default_assumption="")
    assert [(change.node, change.aspect) for change in diff_programs(a, b)] == [
        ("", "workflow"),
        ("", "execution mode"),
        ("", "default assumption"),
    ]
    assert render(diff_programs(a, b)).startswith(
        "~ program\n    workflow\n      - everything\n      + other\n"
    )


def test_a_node_of_another_kind() -> None:
    a = everything()
    gate = next(node for node in a.nodes if isinstance(node, Gate))
    wave = replace(a.waves()[-1], id=gate.id, number=99)
    b = replace(a, nodes=tuple(wave if node is gate else node for node in a.nodes))
    assert ("changed", "kind") in {(change.kind, change.aspect) for change in diff_programs(a, b)}


def test_numbers_are_told_only_when_the_nodes_are_the_same() -> None:
    first, second = Step("a", argv=("x",)), Step("b", argv=("x",))
    found = diff_programs(chain(first, second), chain(second, first))
    assert "number" in {change.aspect for change in found}


def test_a_difference_of_the_digest_is_never_silent() -> None:
    a = group(*everything().steps[1:3])
    wave = a.waves()[0]
    flipped = tuple(replace(member, step=1 - member.step) for member in wave.members)
    b = replace(a, steps=a.steps[::-1], nodes=(replace(wave, members=flipped), a.nodes[1]))
    assert digest(a) != digest(b)
    assert [change.aspect for change in diff_programs(a, b)] == ["order"]
