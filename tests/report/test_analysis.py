"""Chains, widths, GPUs, secrets, and what must be there before a run, worked out by hand."""

from __future__ import annotations

from itertools import product

import pytest

from npac.ir.program import Artifact, End, Gate, Member, Node, Program, Step, Wave
from npac.ir.walk import walk
from npac.report.analysis import Range, analyse
from npac.report.demand import accelerator_text, step_demand, wave_demand
from npac.report.uris import Produced
from tests.report.pictures import LATE, MIXED, plan_of


def test_the_mixed_spec() -> None:
    item = plan_of(MIXED)
    found = analyse(item.program, LATE)
    # ingest, [repair], fan, 2 rounds of (4 warm, 1 to 3 rounds of fit and judge), archive or (publish,
    # notify) or nothing, report; shorter still: ingest, repair, abandoned
    assert found.chain == Range(2, 26)
    assert len(found.critical_path) == 26
    assert found.critical_path[:3] == ("ingest", "repair", "fan")
    assert found.critical_path[-3:] == ("publish", "notify", "report")
    assert found.width == Range(1, 2)
    assert found.widest == "fan"
    # two of fan's members at once, eight GPUs each; without fan nothing holds a GPU
    assert found.gpus == Range(0, 16)
    assert found.peak == "fan"
    assert found.held.accelerators == {"H100": 16}
    assert found.secrets == {"API_KEY": ("repair",), "HF_TOKEN": ("ingest", "repair")}
    assert [(need.uri, need.use, need.schema, need.readers) for need in found.needed] == [
        ("s3://lake/raw/", "input", "raw.v1", ("ingest",))
    ]


def test_a_chosen_path() -> None:
    item = plan_of(MIXED, assume="promote_checkpoint")
    assert item.path is not None
    found = analyse(item.program, LATE, item.path)
    assert found.chain == Range(2, 26, 17)
    assert found.gpus == Range(0, 16, 16)
    assert found.secrets == {"HF_TOKEN": ("ingest",)}
    data = found.as_data()
    assert data["chain"] == {"least": 2, "most": 26, "chosen": 17}
    assert data["held"] == {"members": 2, "machines": 2, "accelerators": {"H100": 16}}


def test_ranges_are_those_of_all_walks() -> None:
    item = plan_of(MIXED)
    program = item.program
    found = analyse(program, LATE)
    chains, peaks = set(), set()
    for answers in product(("promote_checkpoint", "loop_back"), repeat=10):
        at = iter(answers)
        path = walk(program, lambda gate, at=at: next(at))  # type: ignore[misc]
        waves = [node for node in path if isinstance(node, Wave)]
        chains.add(len(waves))
        peaks.add(max(wave_demand(wave, program).gpus for wave in waves))
    assert (min(chains), max(chains)) == (found.chain.least, found.chain.most)
    assert (min(peaks), max(peaks)) == (found.gpus.least, found.gpus.most)


@pytest.mark.parametrize(
    ("accelerators", "nodes", "text", "held"),
    [
        ("H100:8", 4, "H100:8", {"H100": 32}),
        ("L40S", 1, "L40S:1", {"L40S": 1}),
        ({"A100": 2}, 2, "A100:2", {"A100": 4}),
        ({"V100": 2, "A100": 4}, 1, "A100 or V100:4", {"A100 or V100": 4}),
        ("T4:0.5", 1, "T4:1", {"T4": 1}),
        (None, 3, "", {}),
    ],
)
def test_what_a_step_holds(accelerators: object, nodes: int, text: str, held: dict[str, int]) -> None:
    profile = {} if accelerators is None else {"accelerators": accelerators}
    step = Step("s", ("true",), profile=profile, num_nodes=nodes)  # type: ignore[arg-type]
    assert accelerator_text(step) == text
    assert step_demand(step).accelerators == held
    assert step_demand(step).machines == nodes
    raw = Step("s", raw={"run": "true", "resources": profile}, num_nodes=nodes)  # type: ignore[dict-item]
    assert step_demand(raw).accelerators == held


def test_the_largest_batch_counts() -> None:
    steps = tuple(
        Step(f"m{at}", ("true",), profile={"accelerators": gpu} if gpu else {})
        for at, gpu in enumerate(("A:1", "A:1", "B:8", ""))
    )
    members = tuple(Member(at) for at in range(4))
    wave = Wave("g", 1, members, ((0, 1), (2, 3)), "end", group="g", max_concurrency=2)
    program = Program("w", "g", steps, (wave, End("end")))
    assert wave_demand(wave, program).accelerators == {"B": 8}
    assert analyse(program, {}).gpus == Range(8, 8)


def program_of(*waves: tuple[str, tuple[str, ...], tuple[str, ...]]) -> Program:
    """Give a chain of waves from (state, inputs, outputs)."""
    steps = tuple(
        Step(
            name,
            ("true",),
            inputs=tuple(Artifact(uri) for uri in inputs),
            outputs=tuple(Artifact(uri) for uri in outputs),
        )
        for name, inputs, outputs in waves
    )
    ids = [*(name for name, _, _ in waves), "end"]
    nodes: list[Node] = [
        Wave(ids[at], at + 1, (Member(at),), ((0,),), ids[at + 1]) for at in range(len(waves))
    ]
    return Program("w", ids[0], steps, (*nodes, End("end")))


def needed(program: Program) -> list[tuple[str, tuple[str, ...]]]:
    return [(need.uri, need.readers) for need in analyse(program, {}).needed]


def test_inputs_above_and_below_an_output_are_produced() -> None:
    program = program_of(
        ("a", (), ("s3://bkt/x/y/", "s3://bkt/file.json")),
        ("b", ("s3://bkt/x/y/z.json", "s3://bkt/x/", "s3://bkt/x/y", "s3://bkt/file.json"), ()),
        ("c", ("s3://bkt/x/yy", "s3://bkt/file.json.bak", "s3://other/x/y"), ()),
    )
    assert needed(program) == [
        ("s3://bkt/x/yy", ("c",)),
        ("s3://bkt/file.json.bak", ("c",)),
        ("s3://other/x/y", ("c",)),
    ]


def test_what_is_written_later_is_not_there_yet() -> None:
    program = program_of(
        ("a", ("s3://bkt/late",), ()), ("b", (), ("s3://bkt/late",)), ("c", ("s3://bkt/late",), ())
    )
    assert needed(program) == [("s3://bkt/late", ("a",))]


def test_a_step_does_not_make_its_own_input() -> None:
    assert needed(program_of(("a", ("s3://bkt/x",), ("s3://bkt/x",)))) == [("s3://bkt/x", ("a",))]


def test_a_decision_that_nothing_writes_is_needed() -> None:
    steps = (Step("a", ("true",)),)
    gate = Gate("g@transitions", "g", "transitions", "s3://bkt/d.json", "end", "end")
    nodes: tuple[Node, ...] = (Wave("a", 1, (Member(0),), ((0,),), gate.id), gate, End("end"))
    found = analyse(Program("w", "a", steps, nodes), {}).needed
    assert [(need.uri, need.use, need.readers) for need in found] == [("s3://bkt/d.json", "decision", ("g",))]


def test_a_bucket_is_not_above_everything() -> None:
    produced = Produced()
    produced.add("s3://bkt/x")
    assert "s3://bkt" in produced
    assert "s3://c/x" not in produced
    assert "file:///x" not in produced
    produced.add("file:///data/out/")
    assert "file:///data/out/a" in produced
    assert "file:///data" in produced
    assert "file:///dat" not in produced
