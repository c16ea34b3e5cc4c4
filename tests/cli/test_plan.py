"""``npac plan``: the table, JSON with the documented keys, chosen paths, and faults."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.command import ROOT, invoke, spawn
from tests.report.pictures import MIXED, gated


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.yaml"
    path.write_text(MIXED, encoding="utf-8")
    return path


def test_the_table(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    done = invoke(capsys, "plan", spec, "--run-id", "r1")
    assert done.code == 0
    assert done.err == ""
    assert done.out.startswith("mixed  whole program: 27 waves, 10 gates\nrun r1, program sha256:")
    assert "inner: at most 3 rounds, until promote_checkpoint" in done.out
    assert "GPUs at once   0 to 16 GPUs" in done.out


def test_json_of_a_path_has_the_documented_keys(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    done = invoke(
        capsys, "plan", spec, "--run-id", "r1", "--assume-decision", "promote_checkpoint", "--format", "json"
    )
    data = json.loads(done.out)
    assert list(data) == ["workflow", "run_id", "assume", "digest", "steps", "waves", "analysis"]
    assert (data["workflow"], data["run_id"], data["assume"]) == ("mixed", "r1", "promote_checkpoint")
    assert set(data["steps"][0]) == {
        "state", "iteration", "loop_label", "group", "argv", "shell", "tool_ref", "resources",
        "resources_profile", "inputs", "outputs", "loops", "node",
    }  # fmt: skip
    assert set(data["waves"][0]) == {"kind", "group", "max_concurrency", "batches", "states"}
    assert data["waves"][1] == {
        "kind": "parallel",
        "group": "fan",
        "max_concurrency": 2,
        "batches": 3,
        "states": [["m1", None], ["m2", None], ["m3", None], ["m4", None], ["m5", None]],
    }
    assert data["analysis"]["chain"] == {"least": 2, "most": 26, "chosen": 17}


def test_json_of_the_whole_program(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    data = json.loads(invoke(capsys, "plan", spec, "--format", "json").out)
    assert list(data) == ["workflow", "run_id", "assume", "digest", "nodes", "edges", "analysis"]
    assert len(data["nodes"]) == 38
    assert {edge["decision"] for edge in data["edges"]} == {"", "promote_checkpoint", "loop_back"}
    assert data["analysis"]["needed"] == [
        {"uri": "s3://lake/raw/", "use": "input", "schema": "raw.v1", "readers": ["ingest"]}
    ]


def test_decisions_by_visit(capsys: pytest.CaptureFixture[str], spec: Path) -> None:
    done = invoke(
        capsys, "plan", spec, "--decide", "inner=loop_back,promote", "--assume-decision", "promote_checkpoint"
    )
    assert "train round 1, inner round 2" in done.out
    assert "train round 2, inner round 2" not in done.out
    data = json.loads(
        invoke(capsys, "plan", spec, "--decide", "ingest=loop_back", "--decide", "check-repair=loop_back",
               "--format", "json").out
    )  # fmt: skip
    assert [step["state"] for step in data["steps"]] == ["ingest", "repair"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--decide", "nobody=promote"], "the program has no gate 'nobody'"),
        (["--decide", "inner=perhaps"], "'perhaps' is no decision"),
        (["--decide", "inner"], "--decide 'inner' is not GATE=DECISION"),
        (["--assume-decision", "perhaps"], "'perhaps' is no decision"),
        (["--run-id", "../x"], "cannot be a run id"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], spec: Path, words: list[str], message: str) -> None:
    done = invoke(capsys, "plan", spec, *words)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


def test_a_spec_with_errors_is_not_planned(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(MIXED.replace("goto: fan", "goto: fun", 1), encoding="utf-8")
    done = invoke(capsys, "plan", bad)
    assert done.code == 1
    assert "fun" in done.err
    assert done.out == ""


def test_raw_skypilot_yaml_is_planned(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    raw = tmp_path / "task.yaml"
    raw.write_text("name: probe\nnum_nodes: 2\nresources: {accelerators: 'H100:8'}\nrun: nvidia-smi\n")
    done = invoke(capsys, "plan", raw)
    assert done.code == 0
    assert "GPUs at once   16 GPUs (16 × H100 in wave 1, probe)" in done.out
    assert "SkyPilot task" in done.out


def test_the_environment_changes_nothing(spec: Path) -> None:
    plain = spawn("plan", spec)
    other = spawn("plan", spec, env={"COLUMNS": "40", "PYTHONHASHSEED": "7", "TERM": "dumb", "NO_COLOR": "1"})
    assert plain.code == 0
    assert plain.out == other.out


def on_a_terminal(columns: int, *words: str | Path) -> str:
    """Run npac with a terminal of ``columns`` as its standard output and give what it shows."""
    main, child = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", "from npac.cli.main import entry; entry()", *map(str, words)],
        stdout=child,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
    )
    os.close(child)
    parts = []
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # how a terminal says that its other side is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(main)
    assert process.wait(60) == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


def test_a_terminal_gets_lines_that_fit(tmp_path: Path) -> None:
    spec = tmp_path / "mixed.yaml"
    deep = "s3://bkt/{{run.id}}/" + "/".join(f"folder-{at}" for at in range(20)) + "/x.json"
    spec.write_text(MIXED.replace("s3://lake/raw/", deep), encoding="utf-8")
    shown = on_a_terminal(90, "plan", spec)
    assert max(len(line) for line in shown.splitlines()) <= 90
    assert "…/ is s3://bkt/RUN-ID/" in shown
    wide = on_a_terminal(90, "plan", spec, "--wide")
    assert deep.replace("{{run.id}}", "RUN-ID") in wide
    assert wide == spawn("plan", spec).out


def test_the_example_in_the_documentation_is_what_a_terminal_shows() -> None:
    page = (ROOT / "docs" / "plan-and-graph.md").read_text(encoding="utf-8")
    begin = "$ npac plan workflows/main/gridworld-policy.yaml\n"
    example = page.partition(begin)[2].partition("```")[0]
    shown = on_a_terminal(100, "plan", ROOT / "workflows" / "main" / "gridworld-policy.yaml")
    assert re.sub(r"sha256:[0-9a-f]+", "", example) == re.sub(r"sha256:[0-9a-f]+", "", shown)


def test_a_large_program_is_planned_on_one_screen(tmp_path: Path) -> None:
    spec = tmp_path / "gated.yaml"
    spec.write_text(gated(3, 10), encoding="utf-8")
    done = spawn("plan", spec)
    assert done.code == 0
    assert "whole program: 2,110 waves, 1,110 gates" in done.out
    assert "×1000" in done.out
    assert len(done.out.splitlines()) < 40
