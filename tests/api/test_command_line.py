"""The command line in processes of its own: help, exit codes, where output goes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npac.cli.commands import COMMANDS
from tests.api.command import invoke, spawn
from tests.api.specs import BROKEN, GOOD, PLAIN, WARNED


def write(folder: Path, text: str, name: str = "spec.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_help_lists_every_command() -> None:
    outcome = spawn("--help")
    assert (outcome.code, outcome.err) == (0, "")
    for name, (_, text) in COMMANDS.items():
        assert f"\n  {name} " in outcome.out
        assert " ".join(text.split()[:3]) in outcome.out
    assert spawn("-h").out == outcome.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = invoke(capsys, name, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"Usage: npac {name} ")
    # the summary in the list of commands is the one in the command's own help
    assert len(outcome.out.splitlines()) > 4


def test_version_is_printed() -> None:
    from npac._version import __version__

    assert spawn("--version").out == f"npac {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["chekc"], "'check'"),
        (["check", "--fromat", "json", "x"], "--format"),
        (["check", "--format", "xml", "x"], "sarif"),
        (["compile"], "SPECS"),
        (["plan", "x", "--decide", "gate"], "--decide"),
        (["check", "x", "--var", "novalue"], "KEY=VALUE"),
        (["check", "absent.yaml"], "absent.yaml"),
        (["check", "absent.yaml", "other.yaml"], "other.yaml"),
        (["status", "absent", "--ledger", "nowhere"], "absent"),
        (["diff", "a.yaml", "b.yaml"], "a.yaml"),
    ],
)
def test_usage_and_the_outside_world_are_two(argv: list[str], words: str, tmp_path: Path) -> None:
    outcome = spawn(*argv, cwd=tmp_path)
    assert outcome.code == 2
    assert words in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("text", "plain", "strict"), [(PLAIN, 0, 0), (GOOD, 0, 0), (WARNED, 0, 1), (BROKEN, 1, 1), ("", 1, 1)]
)
def test_check_says_by_its_code_what_was_found(
    text: str, plain: int, strict: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, text)
    assert invoke(capsys, "check", path).code == plain
    assert invoke(capsys, "check", "--strict", path).code == strict


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\x00", b"\x00", b"[" * 50_000, b"a: *b", b"- " * 9, b"!!python/name:x"]
)
def test_any_bytes_give_findings_and_one(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_bytes(data)
    for command in ("check", "compile", "plan"):
        outcome = spawn(command, path)
        assert outcome.code == 1
        assert "Traceback" not in outcome.out + outcome.err
        assert "NPA0" in outcome.out + outcome.err


def test_check_reads_standard_input(tmp_path: Path) -> None:
    outcome = spawn(
        "check",
        "-",
        "--stdin-filename",
        "piped.yaml",
        "--format",
        "json",
        cwd=tmp_path,
        input=BROKEN.encode(),
    )
    assert outcome.code == 1
    findings = json.loads(outcome.out)
    assert {item["path"] for item in findings} == {"piped.yaml"}
    keys = {"code", "name", "severity", "message", "path", "range", "related", "help", "fix", "explain"}
    assert all(set(item) == keys for item in findings)


def test_check_without_paths_finds_specs_below(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep", BROKEN, "bad.yaml")
    write(tmp_path, PLAIN, "good.yml")
    write(tmp_path, "name: other\nrun: echo\n", "sky.yaml")
    outcome = spawn("check", cwd=tmp_path)
    assert outcome.code == 1
    assert "deep/bad.yaml" in outcome.out and "sky.yaml" not in outcome.out


def test_an_unreadable_file_does_not_hide_what_others_say(tmp_path: Path) -> None:
    bad = write(tmp_path, BROKEN)
    outcome = spawn("check", "absent.yaml", bad, cwd=tmp_path)
    assert outcome.code == 2
    assert "unknown-state" in outcome.out
    assert "absent.yaml" in outcome.err


def test_compile_writes_a_build_that_verifies(tmp_path: Path) -> None:
    path, out = write(tmp_path, GOOD), tmp_path / "out"
    compiled = spawn("compile", path, "-o", out)
    assert (compiled.code, compiled.err) == (0, "")
    assert "4 waves" in compiled.out and "3 gates" in compiled.out
    assert spawn("verify", out).code == 0
    view = out / "waves" / "001-greet.sky.yaml"
    view.write_text("changed", encoding="utf-8")
    changed = spawn("verify", out)
    assert changed.code == 1
    assert "001-greet.sky.yaml" in changed.out + changed.err


def test_compile_of_a_broken_spec_writes_nothing(tmp_path: Path) -> None:
    path, out = write(tmp_path, BROKEN), tmp_path / "out"
    outcome = spawn("compile", path, "-o", out)
    assert (outcome.code, outcome.out) == (1, "")
    assert "unknown-state" in outcome.err
    assert not out.exists()


def test_compile_shows_documents_without_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = invoke(capsys, "compile", write(tmp_path, GOOD), "--run-id", "demo")
    assert outcome.code == 0
    assert "NPA_WORKFLOW_RUN_ID: demo" in outcome.out


def test_plan_as_json_is_what_the_api_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from npac.api import plan

    path = write(tmp_path, GOOD)
    outcome = invoke(
        capsys, "plan", path, "--run-id", "demo", "--assume-decision", "loop_back", "--format", "json"
    )
    assert outcome.code == 0
    printed, given = json.loads(outcome.out), plan(path, run_id="demo", assume="loop_back")
    assert {key: printed[key] for key in given} == given
    decided = invoke(capsys, "plan", path, "--decide", "refine=loop_back,promote", "--format", "json")
    assert [step["node"] for step in json.loads(decided.out)["steps"]] == [
        "greet",
        "refine[1]/judge",
        "refine[2]/judge",
    ]
    whole = invoke(capsys, "plan", path, "--format", "json")
    assert len(json.loads(whole.out)["nodes"]) == 8
    for argv in ([], ["--assume-decision", "default"], ["--decide", "refine=promote"]):
        shown = invoke(capsys, "plan", path, *argv)
        assert shown.code == 0 and "greet" in shown.out
    assert invoke(capsys, "plan", write(tmp_path, BROKEN, "b.yaml")).code == 1


def test_run_rejects_assumed_decisions(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    outcome = spawn("run", path, "--assume-decision", "promote_checkpoint", cwd=tmp_path)
    assert outcome.code == 2
    assert "assume" in outcome.err


def test_diff_is_one_when_something_else_would_run(tmp_path: Path) -> None:
    one, two = write(tmp_path, GOOD, "one.yaml"), write(tmp_path, "# a remark\n" + GOOD, "two.yaml")
    assert spawn("diff", one, two).code == 0
    other = write(tmp_path, GOOD.replace("word: hello", "word: bye"), "three.yaml")
    outcome = spawn("diff", one, other)
    assert outcome.code == 1
    assert "bye" in outcome.out


def test_output_into_a_closed_pipe_is_no_fault(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    from tests.api.command import ROOT

    path = write(tmp_path, BROKEN)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", "from npac.cli.main import entry; entry()", "check", str(path)],
        stdout=writing,
        stderr=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        check=False,
    )
    os.close(writing)
    assert b"Traceback" not in done.stderr
