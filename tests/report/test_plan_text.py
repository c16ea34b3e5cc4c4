"""The plan for people: what stands in it, and how it fits."""

from __future__ import annotations

import re

import pytest

from npac.ir.program import Wave
from npac.report.analysis import analyse
from npac.report.captions import shorten
from npac.report.plan_text import Head, common_folder, plan_text
from npac.report.rounds import merged
from tests.corpus.place import each_spec, spec_path
from tests.report.pictures import LATE, MIXED, plan_of


def shown(spec: object, width: int | None = None, **choice: object) -> str:
    item = plan_of(spec, **choice)  # type: ignore[arg-type]
    analysis = analyse(item.program, LATE, item.path)
    head = Head(item.program.workflow, "r1", "0" * 64, item.assume, bool(choice.get("decide")))
    return plan_text(item.program, item.path, analysis, LATE, head, width)


def rows(text: str, state: str) -> list[int]:
    """Give the numbers of the lines in whose state column ``state`` stands."""
    form = re.compile(rf"\s*(\?|[0-9…]+( ×[0-9]+)?)?\s+{state}(\s{{2,}}.*)?")
    return [number for number, line in enumerate(text.splitlines()) if form.fullmatch(line)]


def row(text: str, state: str) -> str:
    return text.splitlines()[rows(text, state)[0]]


def test_the_whole_program_has_each_state_once_with_its_rounds() -> None:
    text = shown(MIXED)
    item = plan_of(MIXED)
    for state in {step.state for step in item.program.steps} - {"warm"}:
        assert (
            sum(line.split()[-4:-3] == [state] or f"  {state}  " in line for line in text.splitlines()) >= 1
        )
    assert "×6" in row(text, "fit") and "shell" in row(text, "fit")
    assert "×8" in row(text, "warm")
    assert "train: 2 rounds" in text
    assert "inner: at most 3 rounds, until promote_checkpoint" in text
    assert "out    s3://bkt/r1/fit/{1..2}-{1..3}/  fit.v1" in text


def test_gates_say_where_each_decision_leads() -> None:
    lines = shown(MIXED).splitlines()
    at = next(number for number, line in enumerate(lines) if line.split()[:2] == ["?", "inner"])
    assert lines[at + 1].split(maxsplit=1) == ["promote_checkpoint", "next round of train or pick"]
    assert lines[at + 2].split(maxsplit=1) == [
        "loop_back",
        "next round of inner; after round 3: next round of train or pick",
    ]
    assert lines[at + 3].split() == ["reads", "s3://bkt/r1/d.json"]


def test_a_gate_of_a_loop_stands_at_its_end() -> None:
    text = shown(MIXED)
    assert rows(text, "fit") < rows(text, "judge") < rows(text, "inner") < rows(text, "pick")


def test_parallel_groups_show_members_and_batches() -> None:
    text = shown(MIXED)
    assert "5 steps, 2 at once, 3 batches" in row(text, "fan")
    assert "H100:8" in row(text, "m1")
    assert "H100" not in row(text, "m4")


def test_the_summary() -> None:
    text = shown(MIXED)
    assert "Critical path  2 to 26 waves, by path" in text
    assert "Widest wave    1 to 2 steps at once, by path (wave 3, fan)" in text
    assert "GPUs at once   0 to 16 GPUs, by path (16 × H100 in wave 3, fan)" in text
    assert "HF_TOKEN  for ingest, repair" in text
    assert "API_KEY   for repair" in text
    assert "s3://lake/raw/  read by ingest" in text
    chosen = shown(MIXED, assume="promote_checkpoint")
    assert "one path: 17 waves, assuming promote_checkpoint" in chosen
    assert "Critical path  17 waves on this path, 2 to 26 over all" in chosen


def test_a_path_shows_its_rounds_and_decisions() -> None:
    text = shown(MIXED, decide={"inner": ["loop_back", "promote"]}, assume="promote_checkpoint")
    assert "as decided, else assuming promote_checkpoint" in text
    assert "train round 1, inner round 2" in text
    assert "train round 2, inner round 2" not in text  # the last decision is repeated
    assert "decides: loop_back" in text
    assert "s3://bkt/r1/fit/1-2/" in text
    numbers = [int(line.split()[0]) for line in text.splitlines() if line.strip()[:1].isdigit()]
    assert numbers == sorted(numbers)


@each_spec
@pytest.mark.parametrize("assume", [None, "default"])
def test_every_corpus_plan_fits_100_columns(name: str, assume: str | None) -> None:
    text = shown(spec_path(name), 100, assume=assume)
    assert max(len(line) for line in text.splitlines()) <= 100
    assert not any(line != line.rstrip() for line in text.splitlines())


@each_spec
def test_nothing_is_shortened_without_a_width(name: str) -> None:
    item = plan_of(spec_path(name), assume="default")
    text = shown(spec_path(name), assume="default")
    assert item.path is not None
    for step in item.as_data()["steps"]:
        for artifact in (*step["inputs"], *step["outputs"]):
            assert artifact["uri"] in text
    waves = [node for node in item.path if isinstance(node, Wave)]
    steps = [item.program.steps[member.step] for wave in waves for member in wave.members]
    assert all(step.image in text for step in steps)


def test_nothing_happens_below_the_narrowest_width() -> None:
    assert max(len(line) for line in shown(MIXED, 1).splitlines()) <= 60


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["a"], "a"),
        (["a", "a"], "a"),
        (["o1/i1", "o1/i2", "o2/i1", "o2/i2"], "o{1..2}/i{1..2}"),
        (["x1", "x2", "x4"], "x{1,2,4}"),
        ([f"x{at * 3}" for at in range(9)], "x{0,…,24}"),
        (["x1", "y1"], None),
        (["x1", "x"], None),
        (["x1", "1x"], None),
    ],
)
def test_rounds_are_merged(texts: list[str], wanted: str | None) -> None:
    assert merged(texts) == wanted


@pytest.mark.parametrize(
    ("width", "wanted"), [(9, "abcdefghi"), (8, "abcd…ghi"), (3, "a…i"), (2, "ab"), (0, "")]
)
def test_the_middle_is_left_out(width: int, wanted: str) -> None:
    assert shorten("abcdefghi", width) == wanted


def test_the_common_folder_is_the_one_that_saves_most() -> None:
    uris = ["s3://bucket/run/a/1", "s3://bucket/run/a/2", "s3://bucket/run/b", "s3://other/x"]
    assert common_folder(uris) == "s3://bucket/run/"
    assert common_folder(["s3://bucket/run/a"]) == ""
    assert common_folder([]) == ""
