from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from npac.ir.program import Artifact, Baked, End, Gate, Member, Program, Wave
from npac.ir.values import RUN_ID, Hole, concat
from npac.ir.verifier import valid_name, verify
from tests.ir.programs import SOURCE_SHA, chain, everything, group, single


def test_sound_programs_have_no_problem() -> None:
    program = everything()
    assert verify(program) == []
    assert verify(single()) == []
    assert verify(group(*program.steps[1:6], size=2)) == []


def _wave(**changes: Any) -> Program:
    program = everything()
    return replace(
        program, nodes=tuple(replace(node, **changes) if node.id == "fan" else node for node in program.nodes)
    )


def _gate(**changes: Any) -> Program:
    program = everything()
    return replace(
        program,
        nodes=tuple(replace(node, **changes) if isinstance(node, Gate) else node for node in program.nodes),
    )


CASES: dict[str, tuple[Program, str]] = {
    "names": (replace(single(), workflow="../x"), "the workflow name '../x' is not a name"),
    "assumption": (replace(single(), default_assumption="maybe"), "default assumption 'maybe'"),
    "mode": (replace(single(), execution_mode="static"), "execution mode 'static'"),
    "entry": (replace(single(), entry="end"), "is not the first node"),
    "empty": (Program("w", "a", (), ()), "has no node"),
    "unused step": (replace(single(), steps=single().steps * 2), "step 1 (only) is used by no wave"),
    "no command": (single(argv=()), "exactly one of argv, shell and a raw task"),
    "two commands": (single(shell="x"), "exactly one of argv, shell and a raw task"),
    "nodes": (single(num_nodes=33), "num_nodes is 33, more than 32"),
    "no nodes": (single(num_nodes=0), "num_nodes is 0, not a positive number"),
    "secrets": (single(secrets=("B", "A")), "the secrets are not sorted"),
    "secret name": (single(secrets=("A-B",)), "'A-B' is not the name of an environment variable"),
    "env name": (single(env={"1": "x"}), "'1' is not the name of an environment variable"),
    "decision": (single(writes_decision=True, decision_uri="s3://b/d"), "that is none of its outputs"),
    "overlay": (
        single(baked=Baked(SOURCE_SHA, "npa"), source_overlay=True),
        "a source overlay in an image that must be baked",
    ),
    "artifact": (single(outputs=(Artifact(""),)), "an artifact without a URI"),
    "kind": (single(outputs=(Artifact("s3://b/k", kind="blob"),)), "of kind 'blob'"),
    "foreign hole": (single(argv=("x", Hole("launch.id"))), "waits for <launch.id>"),
    "hole in a profile": (single(profile={"cpus": RUN_ID}), "profile/cpus depends on <run.id>"),
    "hole beside the pod": (
        single(profile={"kubernetes": {"provision_timeout": RUN_ID}}),
        "profile/kubernetes depends on <run.id>",
    ),
    "foreign hole in the pod": (
        single(profile={"kubernetes": {"pod_config": {"a": [Hole("wave.number")]}}}),
        "waits for <wave.number>",
    ),
    "hole in an image": (single(image=concat(["r/", RUN_ID])), "is not plain text"),
    "hole in a raw task": (single(argv=(), raw={"run": RUN_ID}), "raw task depends on <run.id>"),
    "ids": (
        replace(single(), nodes=(*single().nodes, End("end"))),
        "the node id 'end' is empty or stands there twice",
    ),
    "numbers": (_wave(number=7), "wave fan has number 7; the order of the nodes gives 2"),
    "no member": (_wave(members=(), batches=()), "wave fan has no member"),
    "step index": (_wave(members=(Member(99),), batches=((0,),)), "names step 99, which does not exist"),
    "lost member": (_wave(batches=((0, 1), (2, 3))), "do not cut the members in order"),
    "twice": (_wave(batches=((0, 1), (1, 2), (3, 4))), "do not cut the members in order"),
    "empty batch": (_wave(batches=((0, 1), (), (2, 3), (4,))), "do not cut the members in order"),
    "reordered": (_wave(batches=((1, 0), (2, 3), (4,))), "do not cut the members in order"),
    "wide batch": (_wave(batches=((0, 1, 2), (3, 4))), "larger than max_concurrency 2"),
    "serial": (_wave(group=""), "is serial and has 5 members"),
    "same name": (_wave(members=(Member(1),) * 5), "two members have one name"),
    "missing edge": (_wave(next="nowhere"), "leads to 'nowhere', which does not exist"),
    "backward edge": (_wave(next="prepare"), "leads back to prepare"),
    "gate edge": (_gate(promote="prepare"), "leads back to prepare"),
    "gate role": (_gate(role="if"), "has the role 'if'"),
    "gate uri": (_gate(uri=""), "reads no URI"),
    "gate hole": (_gate(uri=Hole("source.uri")), "waits for <source.uri>"),
    "gate writers": (_gate(writers=("z", "a")), "the writers are not sorted"),
    "loops": (_gate(loops={"loop": 0}), "loop loop is at iteration 0"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_invariant_is_named(name: str) -> None:
    program, expected = CASES[name]
    problems = verify(program)
    assert any(expected in problem for problem in problems), problems


def test_an_unreached_node_is_named() -> None:
    program = chain(*everything().steps[:1])
    lost = Wave("lost", 2, (Member(0),), ((0,),), "end")
    program = replace(program, nodes=(program.nodes[0], lost, program.nodes[1]))
    assert verify(program) == ["node lost is not reached from the entry"]


@pytest.mark.parametrize("name", ["a", "A.b_c-d", "0", "a" * 96])
def test_names_that_are_allowed(name: str) -> None:
    assert valid_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "-a", ".a", "a/b", "a b", "a\n", "ü", "a" * 97])
def test_names_that_are_not(name: str) -> None:
    assert not valid_name(name)
