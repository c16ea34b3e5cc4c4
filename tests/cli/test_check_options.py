"""What ``npac check`` and ``npac explain`` offer: codes by name, statistics, files, mending on request."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from npac.diagnostics.codes import CODES
from tests.api.command import ROOT, invoke, spawn
from tests.api.specs import BROKEN, PLAIN, WARNED
from tests.cli.test_streams import COMMAND

OLD = PLAIN.replace("terminal: true", "terminal: true, multi_node_mode: single")
GUESS = PLAIN.replace("[echo, hello]", '[echo, "{{config.x | b64}}"]').replace(
    "states:", "config: {x: one}\nstates:"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("plain", PLAIN), ("bad", BROKEN), ("warned", WARNED), ("old", OLD), ("guess", GUESS)):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_name_stands_for_its_code(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "NPA326" in invoke(capsys, "check", "warned.yaml").out
    assert "NPA326" not in invoke(capsys, "check", "--ignore", "unreachable-state", "warned.yaml").out
    assert "NPA326" in invoke(capsys, "check", "--select", "npa326", "warned.yaml").out
    wrong = invoke(capsys, "check", "--ignore", "unreachable-stat", "warned.yaml")
    assert wrong.code == 2
    assert "is no code, no beginning of one and no name of one; did you mean unreachable-state?" in wrong.err


def test_statistics_as_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = invoke(capsys, "check", "--statistics", "--format", "json", "bad.yaml")
    assert done.code == 1
    rows = json.loads(done.out)
    assert {"code": "NPA301", "name": "unknown-state", "severity": "error", "count": 1} in rows
    assert invoke(capsys, "check", "--statistics", "--format", "sarif", "bad.yaml").code == 2


def test_concise_shows_the_severity(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = invoke(capsys, "check", "--format", "concise", "warned.yaml").out.splitlines()
    assert any(line.startswith("warned.yaml:") and ": warning[NPA326] " in line for line in lines)


def test_what_is_found_goes_to_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = invoke(capsys, "check", "--format", "json", "--output-file", "out.json", "bad.yaml")
    assert (done.code, done.out, done.err) == (1, "", "")
    assert json.loads((here / "out.json").read_text())[0]["path"] == "bad.yaml"
    done = invoke(capsys, "check", "--output-file", "out.txt", "plain.yaml")
    assert (done.code, (here / "out.txt").read_text()) == (0, "the spec is fine\n")
    done = invoke(capsys, "check", "--output-file", "no/out.txt", "plain.yaml")
    assert done.code == 2 and "no/out.txt cannot be written" in done.err


def test_quiet_says_nothing_of_what_is_fine(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(capsys, "check", "-q", "plain.yaml")[:] == (0, "", "")
    (here / "empty").mkdir()
    assert invoke(capsys, "check", "--quiet", "empty")[:] == (0, "", "")
    shown = invoke(capsys, "check", "--quiet", "bad.yaml")
    assert shown.code == 1 and "NPA301" in shown.out and "in 1 file" not in shown.out


def test_a_diff_says_by_its_code_whether_anything_would_change(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(capsys, "check", "--diff", "plain.yaml")[:] == (0, "", "")
    changed = invoke(capsys, "check", "--diff", "old.yaml")
    assert changed.code == 1 and "+" in changed.out
    assert invoke(capsys, "check", "--diff", "--exit-zero", "old.yaml").code == 0


def test_what_may_change_the_meaning_is_mended_on_request(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke(capsys, "check", "--diff", "guess.yaml").code == 0
    assert "{{config.x | base64}}" in invoke(capsys, "check", "--diff", "--unsafe-fixes", "guess.yaml").out
    done = invoke(capsys, "check", "--fix", "--unsafe-fixes", "guess.yaml")
    assert (done.code, done.err) == (0, "guess.yaml: 1 mended\n")
    assert "{{config.x | base64}}" in (here / "guess.yaml").read_text()
    assert invoke(capsys, "check", "--unsafe-fixes", "guess.yaml").code == 2


def test_an_override_at_fault_is_no_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = invoke(capsys, "check", "bad.yaml", "--var", "nope=1").out
    assert both.rstrip().endswith("in 1 file and the options")
    alone = invoke(capsys, "check", "plain.yaml", "--var", "nope=1").out
    assert alone.rstrip().endswith("1 error in the options")


def test_what_is_not_shown_is_not_called_fine(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = invoke(capsys, "check", "--severity", "error", "--strict", "warned.yaml")
    assert (done.code, done.out) == (1, "nothing to show; 2 lesser findings not shown\n")


def test_an_excluded_folder_is_said_to_be_excluded(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "vendor").mkdir()
    (here / "vendor/a.yaml").write_text(BROKEN, encoding="utf-8")
    (here / "npac.toml").write_text('exclude = ["vendor"]\n', encoding="utf-8")
    done = invoke(capsys, "check", "vendor")
    assert (done.code, done.err) == (0, "vendor is excluded by npac.toml\n")


def test_codes_are_ignored_by_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "npac.toml").write_text('[per-file-ignores]\n"war*.yaml" = ["unreachable-state"]\n')
    assert "NPA326" not in invoke(capsys, "check", "warned.yaml").out
    (here / "other.yaml").write_text(WARNED, encoding="utf-8")
    assert "NPA326" in invoke(capsys, "check", "other.yaml").out


def test_a_closed_output_is_told() -> None:
    done = subprocess.run(
        ["bash", "-c", f"printf 'apiVersion: npa.workflow/v0.0.1' | {shlex.join(COMMAND)} check - >&-"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (1, "standard output is closed: what was found is not shown\n")


def test_all_codes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = invoke(capsys, "explain").out.splitlines()
    assert [line[:6] for line in lines] == sorted(CODES)
    assert lines[0].split(maxsplit=3)[1:] == ["error", "unreadable-file", CODES["NPA001"].summary]
    rows = json.loads(invoke(capsys, "explain", "--format", "json").out)
    assert [row["code"] for row in rows] == sorted(CODES)
    one = json.loads(invoke(capsys, "explain", "mutable-image", "--format", "json").out)
    assert one["code"] == "NPA515" and one["page"].startswith("# NPA515")


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("apiVersion: npa.workflow/v0.0.1", "? apiVersion\n: npa.workflow/v0.0.1"),
        PLAIN.replace("apiVersion: npa.workflow/v0.0.1", "apiVersion: >-\n  npa.workflow/v0.0.1"),
        PLAIN.replace("apiVersion: npa.workflow/v0.0.1", "apiVersion: | # which\n  npa.workflow/v0.0.1"),
        PLAIN.replace("apiVersion: npa.workflow/v0.0.1", "apiVersion: &v !!str\n  'npa.workflow/v0.0.1'"),
    ],
)
def test_no_way_to_write_a_key_makes_a_spec_another_yaml(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text.replace("terminal: true", "terminl: true"), encoding="utf-8")
    done = spawn("check", "--skip-other", "a.yaml", cwd=tmp_path)
    assert done.code == 1 and "'terminl'" in done.out


def test_findings_are_not_written_over_a_spec_that_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = tmp_path / "spec.yaml"
    spec.write_text(PLAIN, encoding="utf-8")
    (tmp_path / "other.yaml").symlink_to(spec)
    for output in ("spec.yaml", "./spec.yaml", "other.yaml"):
        outcome = invoke(capsys, "check", "--output-file", output, "spec.yaml")
        assert outcome.code == 2
        assert "would be overwritten" in outcome.err
    assert spec.read_text(encoding="utf-8") == PLAIN


def test_a_file_that_is_named_in_two_ways_is_checked_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "b.yaml").write_text(BROKEN, encoding="utf-8")
    (tmp_path / "a.yaml").write_text(BROKEN, encoding="utf-8")
    once = invoke(capsys, "check", "--format", "concise", "b.yaml", "a.yaml").out
    assert (
        invoke(capsys, "check", "--format", "concise", "b.yaml", "./b.yaml", "a.yaml", "b.yaml").out == once
    )
