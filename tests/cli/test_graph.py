"""``npac graph``: formats, files, views, chosen paths, and polite refusals."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.api.command import invoke, spawn
from tests.report.pictures import MIXED, gated


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("x.svg", "<svg "),
        ("x.mmd", "%% mixed"),
        ("x.mermaid", "%% mixed"),
        ("x.dot", "digraph"),
        ("x.gv", "digraph"),
    ],
)
def test_the_ending_says_the_format(
    capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path, name: str, begin: str
) -> None:
    output = tmp_path / name
    done = invoke(capsys, "graph", spec, "-o", output)
    assert done.code == 0
    assert done.out == ""
    assert "14 steps, 5 gates, 3 loops" in done.err
    assert output.read_text(encoding="utf-8").startswith(begin)


def test_the_option_goes_before_the_ending(
    capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path
) -> None:
    output = tmp_path / "x.txt"
    assert invoke(capsys, "graph", spec, "-o", output, "--format", "dot").code == 0
    assert output.read_text(encoding="utf-8").startswith("digraph")


def test_without_a_file_it_goes_to_standard_output(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    svg = invoke(capsys, "graph", spec)
    assert ET.fromstring(svg.out).tag.endswith("svg")
    assert svg.err == ""
    assert invoke(capsys, "graph", spec, "--format", "mmd").out.splitlines()[1] == "flowchart TD"


def test_an_unknown_ending_is_refused(capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path) -> None:
    done = invoke(capsys, "graph", spec, "-o", tmp_path / "x.png")
    assert done.code == 2
    assert "names no format" in done.err
    assert ".svg" in done.err
    assert not (tmp_path / "x.png").exists()


def test_a_file_that_cannot_be_written_is_a_sentence(
    capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path
) -> None:
    done = invoke(capsys, "graph", spec, "-o", tmp_path / "no" / "x.svg")
    assert done.code == 2
    assert "No such file or directory" in done.err


def test_the_unrolled_view_numbers_the_waves(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    text = invoke(capsys, "graph", spec, "--unrolled", "--format", "mmd").out
    assert "27  report" in text
    assert "train 2, inner 3" in text
    assert text.count(":::gate") == 10


def test_a_chosen_path(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    text = invoke(capsys, "graph", spec, "--decide", "ingest=promote", "--assume-decision", "loop_back").out
    faint = {
        group.get("data-id")
        for group in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}g")
        if "off" in (group.get("class") or "").split()
    }
    assert {"wave:repair", "wave:publish", "wave:archive"} <= faint
    assert not faint & {"wave:ingest", "wave:fan", "wave:inner", "train"}


def test_a_spec_with_errors_is_not_drawn(
    capsys: pytest.CaptureFixture[str], spec: Path, tmp_path: Path
) -> None:
    spec.write_text(MIXED.replace("next: train", "next: trian"), encoding="utf-8")
    done = invoke(capsys, "graph", spec, "-o", tmp_path / "x.svg")
    assert done.code == 1
    assert "trian" in done.err
    assert not (tmp_path / "x.svg").exists()


def test_states_in_list_form_have_their_descriptions(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    spec = tmp_path / "listed.yaml"
    spec.write_text(
        "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: listed}\nstates:\n"
        "  - {name: only, description: says who, run: {argv: [echo, a]}, terminal: true}\n"
    )
    assert "says who" in invoke(capsys, "graph", spec).out


def test_raw_skypilot_yaml_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    raw = tmp_path / "task.yaml"
    raw.write_text("name: probe\nresources: {accelerators: 'H100:8'}\nrun: nvidia-smi\n")
    for view in ([], ["--unrolled"]):
        text = invoke(capsys, "graph", raw, *view).out
        assert "probe" in text and "H100:8" in text


def test_a_run_that_only_ends_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec = tmp_path / "idle.yaml"
    spec.write_text(
        "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: idle}\n"
        "states: {done: {terminal: true}}\n"
    )
    done = invoke(capsys, "graph", spec)
    assert done.code == 0, done.err
    assert ">done</text>" in done.out


def test_a_program_too_large_for_a_picture_is_refused_in_a_sentence(tmp_path: Path) -> None:
    spec = tmp_path / "gated.yaml"
    spec.write_text(gated(4, 10), encoding="utf-8")
    done = spawn("graph", spec, "--unrolled")
    assert done.code == 2
    assert done.out == ""
    assert "the drawing would have 42,221 boxes" in done.err
    assert "without --unrolled" in done.err
    folded = spawn("graph", spec)
    assert folded.code == 0
    assert len(ET.fromstring(folded.out)) > 4
    dot = spawn("graph", spec, "--unrolled", "--format", "dot")
    assert dot.code == 0
    assert dot.out.count("\n") > 84_000


def test_the_largest_picture_is_drawn_in_seconds(tmp_path: Path) -> None:
    """Measured in processor time: other work on the machine has no part in it."""
    spec = tmp_path / "gated.yaml"
    spec.write_text(gated(2, 13), encoding="utf-8")
    from npac.report.svg import svg
    from tests.report.pictures import unrolled

    drawing = unrolled(spec)
    assert 500 < len(drawing.boxes) <= 800
    begin = time.process_time()
    text = svg(drawing)
    assert time.process_time() - begin < 15
    assert text.count("<g class=") > 1000
