"""What single nodes hold: names, groups' outputs, triggers, batches, values."""

from __future__ import annotations

import pytest

from npac.ir.program import Artifact, End, GroupOutputs
from npac.ir.values import RUN_ID, concat
from npac.ir.verifier import verify
from tests.lower.lowering import WRITER, demand_sound, errors, gate, lower, run, wave

# --- names


def test_ids_are_paths_with_iterations() -> None:
    program = lower(
        f"""\
  outer: {{sequence: [inner], loop: {{max: 2}}, next: end}}
  inner: {{sequence: [a, b], loop: {{max: 2, until: promote_checkpoint}}}}
  a: {{run: {{shell: a}}, loop: {{max: 2}}}}
  b: {{run: {{shell: b}}, {WRITER}}}
  end: {{terminal: true}}
"""
    )
    assert [node.id for node in program.nodes][:5] == [
        "outer[1]/inner[1]/a[1]",
        "outer[1]/inner[1]/a[2]",
        "outer[1]/inner[1]/b",
        "outer[1]/inner[1]@until",
        "outer[1]/inner[2]/a[1]",
    ]
    assert [node.id for node in program.nodes][-2:] == ["outer[2]/inner[2]@until", "end"]
    first = wave(program, "outer[1]/inner[2]/a[2]")
    assert first.loops == {"outer": 1, "inner": 2, "a": 2}
    assert list(first.loops) == ["outer", "inner", "a"]
    assert first.members[0].iteration == 2 and first.members[0].loop_label == "inner"
    assert gate(program, "outer[1]/inner[2]@until").loops == {"outer": 1, "inner": 2}


def test_other_live_values_are_told_apart_by_eight_hex() -> None:
    program = lower(
        f"""\
  l: {{run: {{shell: l}}, loop: {{max: 3, until: loop_back}}, {WRITER}, next: tail}}
  tail: {{run: {{shell: "echo {{{{loop.l}}}}"}}, terminal: true}}
"""
    )
    tails = [node.id for node in program.nodes if node.id.startswith("tail")]
    assert len(tails) == 3
    assert all(len(name) == len("tail~") + 8 for name in tails)


# --- groups


def artifact(text: str, kind: str = "file") -> Artifact:
    return Artifact(concat(("s3://bbb/", RUN_ID, f"/{text}")), "", kind, "")


def test_groups_outputs_open_and_are_checked_around_their_members() -> None:
    program = lower(
        f"""\
  outer:
    sequence: [inner, last]
    outputs: [{{uri: "s3://bbb/{{{{run.id}}}}/outer/"}}]
    next: side
  inner:
    sequence: [a, b]
    loop: {{max: 2, until: promote_checkpoint}}
    outputs: [{{uri: "s3://bbb/{{{{run.id}}}}/inner"}}]
  a: {{run: {{shell: a}}}}
  b: {{run: {{shell: b}}, {WRITER}}}
  last: {{run: {{shell: "echo {{{{state.inner.uri}}}}"}}}}
  side: {{parallel: [x, y], outputs: [{{uri: "s3://bbb/{{{{run.id}}}}/side"}}], next: t}}
  x: {{run: {{shell: x}}}}
  y: {{run: {{shell: y}}}}
  t: {{terminal: true}}
"""
    )
    inner = GroupOutputs("inner", (artifact("inner"),))
    outer = GroupOutputs("outer", (artifact("outer/", "directory"),))
    assert wave(program, "outer/inner[1]/a").opens == (outer, inner)
    assert wave(program, "outer/inner[1]/b").opens == ()
    assert gate(program, "outer/inner[1]@until").checks == (inner,)
    assert wave(program, "outer/inner[2]/a").opens == (inner,)
    assert gate(program, "outer/inner[2]@until").checks == (inner,)
    last = wave(program, "outer/last")
    assert (last.opens, last.checks) == ((), ())
    assert program.steps[last.members[0].step].shell == concat(("echo s3://bbb/", RUN_ID, "/inner"))
    side = wave(program, "side")
    assert side.checks == (outer,)
    assert side.outputs == (artifact("side"),)
    assert side.opens == ()


def test_a_group_opens_with_its_first_wave_also_behind_a_gate() -> None:
    program = lower(
        """\
  g: {sequence: [idle, a], outputs: [{uri: "s3://bbb/{{run.id}}/g"}], terminal: true}
  idle: {sequence: [r], loop: {max: 2, until: promote_checkpoint}}
  r: {transitions: [{when: loop_back, goto: idle}]}
  a: {run: {shell: a}}
"""
    )
    group = GroupOutputs("g", (artifact("g"),))
    assert wave(program, "g/a").opens == (group,)
    assert program.nodes[-1].checks == (group,)
    assert len(program.gates()) == 2


def test_the_end_checks_what_ended_last() -> None:
    program = lower(
        """\
  g: {sequence: [a], outputs: [{uri: "s3://bbb/{{run.id}}/g"}], terminal: true}
  a: {run: {shell: a}}
"""
    )
    end = program.nodes[-1]
    assert isinstance(end, End)
    assert end.checks == (GroupOutputs("g", (artifact("g"),)),)


def test_nodes_that_check_other_groups_are_not_one() -> None:
    program = lower(
        f"""\
  a: {{run: {{shell: a}}, {WRITER}, transitions: [{{when: loop_back, goto: g}}], next: t}}
  g: {{sequence: [b], outputs: [{{uri: "s3://bbb/{{{{run.id}}}}/g"}}], next: t}}
  b: {{run: {{shell: b}}}}
  t: {{run: {{shell: t}}, terminal: true}}
"""
    )
    assert sorted(len(item.checks) for item in program.waves() if item.id.startswith("t")) == [0, 1]
    assert verify(program) == []
    demand_sound(program)


@pytest.mark.parametrize(
    ("limit", "width", "batches"),
    [
        ("", 5, ((0, 1, 2, 3, 4),)),
        (", maxConcurrency: 1", 1, ((0,), (1,), (2,), (3,), (4,))),
        (", maxConcurrency: 2", 2, ((0, 1), (2, 3), (4,))),
        (", maxConcurrency: '3'", 3, ((0, 1, 2), (3, 4))),
        (", maxConcurrency: 5", 5, ((0, 1, 2, 3, 4),)),
        (", maxConcurrency: 64", 5, ((0, 1, 2, 3, 4),)),
    ],
)
def test_max_concurrency_cuts_a_group_in_declared_order(
    limit: str, width: int, batches: tuple[tuple[int, ...], ...]
) -> None:
    members = "".join(f"  m{n}: {{run: {{shell: m}}}}\n" for n in range(5))
    program = lower(
        f"  g: {{parallel: [m4, m3, m2, m1, m0]{limit}, next: t}}\n{members}  t: {{terminal: true}}\n"
    )
    group = wave(program, "g")
    assert [program.steps[member.step].state for member in group.members] == ["m4", "m3", "m2", "m1", "m0"]
    assert (group.max_concurrency, group.batches) == (width, batches)
    assert group.kind == "parallel"
    assert {member.loop_label for member in group.members} == {"g"}


def test_triggers_of_all_members_stand_at_their_wave() -> None:
    program = lower(
        """\
  l: {sequence: [g], loop: {max: 2}, next: t}
  g: {parallel: [x, y]}
  x: {run: {shell: x}, trigger: {uri: "s3://ttt/{{run.id}}/{{loop.l}}/"}}
  y: {run: {shell: y}, trigger: {uri: s3://ttt/y, pollSeconds: 5, maxPolls: 7, minObjects: "2"}}
  t: {terminal: true}
"""
    )
    second = wave(program, "l[2]/g")
    first, last = second.triggers
    assert (first.state, first.poll_seconds, first.max_polls, first.min_objects) == ("x", 30, 0, 1)
    assert (last.state, last.poll_seconds, last.max_polls, last.min_objects) == ("y", 5, 7, 2)
    assert first.uri == concat(("s3://ttt/", RUN_ID, "/2/"))


def test_a_trigger_is_no_part_of_its_step() -> None:
    program = lower(
        """\
  l: {run: {shell: l}, loop: {max: 3}, trigger: {uri: "s3://ttt/{{loop.l}}"}, terminal: true}
"""
    )
    assert [item.triggers[0].uri for item in program.waves()] == ["s3://ttt/1", "s3://ttt/2", "s3://ttt/3"]
    assert len(program.steps) == 1


# --- values


def test_run_id_stays_a_hole_and_a_transform_of_it_waits() -> None:
    program = lower(
        """\
  a:
    run: {argv: ["{{run.id}}", "{{run.id | base64}}", "{{config.on | base64}}"]}
    terminal: true
"""
    )
    (step,) = program.steps
    assert step.argv[0] == RUN_ID
    assert not isinstance(step.argv[1], str)
    assert step.argv[2] == "dHJ1ZQ=="


def test_what_params_bring_in_is_not_scanned_again() -> None:
    program = lower(
        """\
  a:
    run: {shell: "echo {{config.on}} {{config.off}}"}
    params: {"on": "{{{{config.off}}", "off": "{{config.on}}"}
    terminal: true
"""
    )
    assert program.steps[0].shell == "echo {{config.off}} true"


def test_a_members_texts_do_not_see_its_siblings() -> None:
    unit = run(
        """\
  g: {parallel: [x, y], next: t}
  x: {run: {shell: x}, outputs: [{uri: "s3://bbb/{{run.id}}/x"}]}
  y: {run: {shell: "echo {{state.x.uri}}"}}
  t: {terminal: true}
"""
    )
    assert unit.program is None
    assert ["runs beside it" in message for message in errors(unit)] == [True]
