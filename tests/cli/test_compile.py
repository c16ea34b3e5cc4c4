"""``npac compile``: what it says of a build, and what becomes of a linked one."""

from __future__ import annotations

from pathlib import Path

import pytest

from npac import api
from tests.api.command import ROOT, invoke

GATED = ROOT / "workflows/quickstart.yaml"
PLAIN = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: plain}
states:
  a: {run: {argv: [date]}, terminal: true}
"""
FAST = ("--poll-seconds", "0.1")


def test_one_is_one_and_more_are_several(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec = tmp_path / "plain.yaml"
    spec.write_text(PLAIN, encoding="utf-8")
    said = invoke(capsys, "compile", spec, "-o", tmp_path / "a").out
    assert said.startswith(f"{tmp_path / 'a'}: 1 wave, 0 gates, program sha256:")
    said = invoke(capsys, "compile", GATED, "-o", tmp_path / "b").out
    assert said.startswith(f"{tmp_path / 'b'}: 5 waves, 1 gate, program sha256:")


def test_a_linked_build_that_is_run_under_another_id_is_linked_anew_and_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    build, artifacts = tmp_path / "build", tmp_path / "artifacts"
    given = ("--var", f"artifacts={artifacts}", "--run-id", "first")
    assert invoke(capsys, "compile", GATED, "-o", build, *given).code == 0
    before = {path: path.read_bytes() for path in build.rglob("*") if path.is_file()}

    same = invoke(capsys, "run", build, "--run-id", "first", *FAST)
    assert same.code == 0 and "linked anew" not in same.err
    other = invoke(capsys, "run", build, "--run-id", "second", *FAST)
    assert other.code == 0
    note = "the build holds the documents of run first: its program is linked anew for second"
    assert [line for line in other.err.splitlines() if "linked" in line] == [f"0:00:00    {note}"]
    assert invoke(capsys, "run", build, *FAST).err.count("linked anew for quickstart-") == 1

    assert {path.name for path in artifacts.iterdir()} > {"first", "second"}
    uris = [record.uri for record in api.status("second").records.values()]
    assert uris and all(uri.startswith(f"file://{artifacts}/second/") for uri in uris)
    assert {path: path.read_bytes() for path in build.rglob("*") if path.is_file()} == before


def test_an_unlinked_build_says_nothing_of_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    build = tmp_path / "build"
    assert invoke(capsys, "compile", GATED, "-o", build, "--var", f"artifacts={tmp_path / 'out'}").code == 0
    done = invoke(capsys, "run", build, "--run-id", "r", *FAST)
    assert done.code == 0 and "linked" not in done.err


def test_no_build_is_written_into_a_folder_of_other_things(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(GATED.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    for output in (".", str(tmp_path)):
        refused = invoke(capsys, "compile", spec, "-o", output)
        assert (refused.code, refused.out) == (2, "")
        assert f"{output} holds other things (.git, spec.yaml) and no build" in refused.err
        assert "help: Choose a new or an empty folder with -o." in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "spec.yaml"]
    # several specs get a folder each, below any folder
    other = tmp_path / "other.yaml"
    other.write_text(PLAIN, encoding="utf-8")
    assert invoke(capsys, "compile", spec, other, "-o", ".").code == 0
    assert (tmp_path / "quickstart" / "manifest.json").is_file()
    assert (tmp_path / "plain" / "manifest.json").is_file()
