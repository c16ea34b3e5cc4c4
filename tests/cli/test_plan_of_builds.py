"""Plans and drawings of builds: those of their specs, and for their own run where they are linked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.api.command import invoke
from tests.report.pictures import MIXED

PATHS: list[tuple[str, ...]] = [
    (),
    ("--assume-decision", "promote_checkpoint"),
    ("--assume-decision", "loop_back", "--format", "json"),
    ("--decide", "inner=loop_back,promote", "--assume-decision", "promote_checkpoint"),
    ("--format", "json", "--run-id", "nightly"),
]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED, encoding="utf-8")
    return path


@pytest.fixture
def built(capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path) -> Path:
    assert invoke(capsys, "compile", spec, "-o", tmp_path / "build").code == 0
    return tmp_path / "build"


@pytest.fixture
def linked(capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path) -> Path:
    assert invoke(capsys, "compile", spec, "-o", tmp_path / "linked", "--run-id", "r9").code == 0
    return tmp_path / "linked"


@pytest.mark.parametrize("words", PATHS, ids=" ".join)
def test_a_build_is_planned_as_its_spec_is(
    capsys: pytest.CaptureFixture[str], spec: Path, built: Path, words: tuple[str, ...]
) -> None:
    of_spec = invoke(capsys, "plan", spec, *words)
    of_build = invoke(capsys, "plan", built, *words)
    assert (of_build.code, of_build.out) == (0, of_spec.out)
    assert of_build.out


@pytest.mark.parametrize("words", PATHS[:4], ids=" ".join)
def test_a_linked_build_is_planned_for_its_run(
    capsys: pytest.CaptureFixture[str], spec: Path, linked: Path, words: tuple[str, ...]
) -> None:
    assert (
        invoke(capsys, "plan", linked, *words).out
        == invoke(capsys, "plan", spec, *words, "--run-id", "r9").out
    )
    other = invoke(capsys, "plan", linked, *words, "--run-id", "r10").out
    assert other == invoke(capsys, "plan", spec, *words, "--run-id", "r10").out


def test_a_run_that_only_plans_takes_builds(
    capsys: pytest.CaptureFixture[str], spec: Path, built: Path, linked: Path
) -> None:
    whole = invoke(capsys, "plan", spec).out
    assert invoke(capsys, "run", built, "--plan-only").out == whole
    path = ("--assume-decision", "loop_back")
    assert invoke(capsys, "run", built, "--plan-only", *path).out == invoke(capsys, "plan", spec, *path).out
    of_run = invoke(capsys, "plan", spec, "--run-id", "r9").out
    assert invoke(capsys, "run", linked, "--plan-only").out == of_run
    assert invoke(capsys, "run", built, "--plan-only", "--run-id", "r9").out == of_run


def test_a_build_is_drawn_as_its_spec_is(capsys: pytest.CaptureFixture[str], spec: Path, built: Path) -> None:
    # Descriptions, which only tooltips show, are not in a program; Mermaid has no tooltips.
    for words in (("--format", "mmd", "--unrolled"), ("--format", "mmd", "--unrolled", *PATHS[1])):
        assert invoke(capsys, "graph", built, *words).out == invoke(capsys, "graph", spec, *words).out
    assert invoke(capsys, "graph", built).out.startswith("<svg ")


def test_what_a_run_puts_in_the_place_of_images_and_accelerators_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    spec = tmp_path / "task.yaml"
    spec.write_text(
        "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: task}\n"
        "resources: {gpu: {cloud: kubernetes, accelerators: 'A100:2', image: 'registry.example/t:1'}}\n"
        "states: {only: {resources: gpu, run: {argv: [nvidia-smi]}, terminal: true}}\n",
        encoding="utf-8",
    )
    pin, accelerator = f"registry.example/t@sha256:{'a' * 64}", "H100:1"
    given = ("--pin", f"registry.example/t:1={pin}", "--accelerator", f"A100={accelerator}")
    assert invoke(capsys, "compile", spec, "-o", tmp_path / "build", *given).code == 0
    assert invoke(capsys, "compile", spec, "-o", tmp_path / "linked", "--run-id", "r", *given).code == 0
    for words in (
        ("plan", tmp_path / "build"),
        ("plan", tmp_path / "linked"),
        ("run", spec, "--plan-only", *given),
    ):
        lines = invoke(capsys, *words).out.splitlines()
        assert f"registry.example/t:1 is shown as written; a run takes {pin}" in lines
        assert f"A100 is shown as written; a run takes {accelerator}" in lines
    data = json.loads(invoke(capsys, "plan", tmp_path / "build", "--format", "json").out)
    assert (data["pins"], data["accelerators"]) == ({"registry.example/t:1": pin}, {"A100": accelerator})
    assert "as written" not in invoke(capsys, "plan", spec).out


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        (("--var", "x=1"), "is a build, whose values and tools were settled", "plan the spec with them"),
        (
            ("--catalog", "x.yaml"),
            "is a build, whose values and tools were settled",
            "plan the spec with them",
        ),
        (("--decide", "iner=promote"), "no gate 'iner'", "Did you mean inner? Its gates: "),
        (("--run-id", "../x"), "cannot be a run id", "letters"),
    ],
)
def test_what_is_refused_of_a_build(
    capsys: pytest.CaptureFixture[str], built: Path, words: tuple[str, ...], message: str, remedy: str
) -> None:
    done = invoke(capsys, "plan", built, *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err and remedy in done.err


def test_a_damaged_build_and_a_folder_that_is_none_are_not_planned(
    capsys: pytest.CaptureFixture[str], built: Path, tmp_path: Path
) -> None:
    (built / "program.json").write_text("{}", encoding="utf-8")
    done = invoke(capsys, "plan", built)
    assert (done.code, done.out) == (2, "") and "program.json was changed" in done.err
    done = invoke(capsys, "plan", tmp_path)
    assert done.code == 2 and "is no build: it has no manifest.json" in done.err


# --- comparing a linked build with what its spec compiles to -----------------------------------


def test_a_linked_build_is_not_called_stale(
    capsys: pytest.CaptureFixture[str], spec: Path, linked: Path
) -> None:
    done = invoke(capsys, "compile", spec, "-o", linked, "--check")
    assert (done.code, done.out) == (2, "")
    assert "is linked: its documents are the final ones of run r9" in done.err
    assert f"Add --run-id r9; npac diff {spec} {linked} compares what they run" in done.err
    done = invoke(capsys, "compile", spec, "-o", linked, "--check", "--run-id", "r10")
    assert done.code == 2 and "those of run r10" in done.err and "Add --run-id r9;" in done.err
    assert invoke(capsys, "compile", spec, "-o", linked, "--check", "--run-id", "r9").code == 0
    assert invoke(capsys, "diff", spec, linked).code == 0


def test_what_is_said_of_a_linked_build_names_all_that_it_was_linked_with(
    capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path
) -> None:
    given = ("--run-id", "r9", "--endpoint", "http://store:9000", "--source-uri", "s3://b/src")
    assert invoke(capsys, "compile", spec, "-o", tmp_path / "linked", *given).code == 0
    done = invoke(capsys, "compile", spec, "-o", tmp_path / "linked", "--check")
    assert f"Add {' '.join(given)};" in done.err
    assert invoke(capsys, "compile", spec, "-o", tmp_path / "linked", "--check", *given).code == 0
    done = invoke(capsys, "compile", spec, "-o", tmp_path / "linked", "--check", *given[:4])
    assert done.code == 1
    assert "    source\n      - s3://b/src\n" in done.out


def test_a_build_of_no_run_is_not_compared_with_that_of_one(
    capsys: pytest.CaptureFixture[str], spec: Path, built: Path
) -> None:
    done = invoke(capsys, "compile", spec, "-o", built, "--check", "--run-id", "r9")
    assert done.code == 2
    assert "is not linked, so it cannot hold the documents of run r9" in done.err
    assert "Leave --run-id out" in done.err


def test_drift_of_the_text_alone_is_told_as_that(
    capsys: pytest.CaptureFixture[str], spec: Path, built: Path
) -> None:
    spec.write_text(f"# remark\n{MIXED}", encoding="utf-8")
    done = invoke(capsys, "compile", spec, "-o", built, "--check")
    assert done.code == 1
    assert (
        "the program is the same; the files differ:\n~ the text of the spec, in nothing that runs\n"
        in done.out
    )
