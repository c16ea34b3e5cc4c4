"""``npac test`` on the command line: what is found, what is shown, and how it exits."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from npac.cli.test import command
from npac.discovery import find_specs, find_tests
from npac.errors import NpacError

SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: small}
config: {word: hello}
states:
  say: {run: {argv: [echo, "{{config.word}}"]}, terminal: true}
"""
GOOD = "cases:\n  - name: says hello\n    expect: {waves: [say]}\n"
BAD = (
    "cases:\n  - {name: says hello, expect: {waves: [say]}}\n"
    '  - {name: says <bye> & "more", expect: {steps: {say: {argv: [echo, bye]}}}}\n'
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "small.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*args: str) -> Result:
    return CliRunner().invoke(command, list(args))


def test_all_passed(folder: Path) -> None:
    (folder / "small.test.yaml").write_text(GOOD)
    done = _run()
    assert (done.exit_code, done.output) == (0, "small.test.yaml\n  ok  says hello\n\n1 passed\n")


@pytest.mark.parametrize("path", ["small.test.yaml", "small.yaml", ".", ""])
def test_a_test_is_found_by_file_spec_or_folder(folder: Path, path: str) -> None:
    (folder / "small.test.yaml").write_text(GOOD)
    done = _run(path or str(folder))
    assert done.exit_code == 0 and "1 passed" in done.output
    assert _run("small.yaml", "small.test.yaml").output.count("ok  says hello") == 1


def test_some_failed(folder: Path) -> None:
    (folder / "small.test.yaml").write_text(BAD)
    done = _run()
    assert done.exit_code == 1
    assert "small.test.yaml:3:69: say runs other words" in done.output
    assert "expected: echo bye" in done.output and "got:      echo hello" in done.output
    assert done.output.endswith("1 passed, 1 failed\n")


def test_json(folder: Path) -> None:
    (folder / "small.test.yaml").write_text(BAD)
    done = _run("--format", "json")
    assert done.exit_code == 1
    (entry,) = json.loads(done.output)
    assert (entry["path"], entry["spec"], entry["findings"]) == ("small.test.yaml", "small.yaml", [])
    first, second = entry["cases"]
    assert (first["outcome"], first["failures"]) == ("passed", [])
    assert second["outcome"] == "failed" and second["range"]["start"] == {"line": 3, "column": 12}
    (failure,) = second["failures"]
    assert failure == {
        "message": "say runs other words",
        "range": {"start": {"line": 3, "column": 69}, "end": {"line": 3, "column": 72}},
        "expected": "echo bye",
        "got": "echo hello",
        "findings": [],
    }


def test_junit(folder: Path) -> None:
    (folder / "small.test.yaml").write_text(BAD)
    (folder / "broken.test.yaml").write_text("cases: [{name: a, expct: {}}]\n")
    done = _run("--format", "junit")
    assert done.exit_code == 1
    root = ElementTree.fromstring(done.output)
    broken, small = root.findall("testsuite")
    assert broken.get("errors") == "1" and broken.get("tests") == "1"
    assert "NPA101" in (broken.find("testcase/error").text or "")  # type: ignore[union-attr]
    assert (small.get("tests"), small.get("failures"), small.get("errors")) == ("2", "1", "0")
    first, second = small.findall("testcase")
    assert first.find("failure") is None
    assert second.get("name") == 'says <bye> & "more"'
    failure = second.find("failure")
    assert failure is not None and failure.get("message") == "say runs other words"
    assert "small.test.yaml:3:69" in (failure.text or "")


def test_selection(folder: Path) -> None:
    (folder / "small.test.yaml").write_text(BAD)
    done = _run("-k", "HELLO")
    assert done.exit_code == 0 and done.output.endswith("1 passed, 1 not selected\n")
    assert _run("-k", "small", "-k", "bye").exit_code == 1
    with pytest.raises(NpacError, match="no case is called 'nothing'"):
        CliRunner().invoke(command, ["-k", "nothing"], catch_exceptions=False)


def test_nothing_to_run_is_not_success(folder: Path) -> None:
    for args, said in (
        ([], "no test below this folder"),
        (["small.yaml"], "small.yaml has no test"),
        (["absent.test.yaml"], "there is no file or folder absent.test.yaml"),
        (["absent"], "there is no file or folder absent"),
        (["absent/small.yaml"], "there is no file or folder absent/small.yaml"),
    ):
        with pytest.raises(NpacError, match=said):
            CliRunner().invoke(command, args, catch_exceptions=False)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("smal.yaml", "small.yaml"),
        ("smal.test.yaml", "small.test.yaml"),
        ("small", "small.test.yaml"),
        ("sepcs/", ""),
        ("sepcs", "specs"),
        ("specs/smal", "specs/small.yaml"),
        ("nothere", ""),
    ],
)
def test_what_is_near_to_a_path_that_leads_nowhere_is_named(folder: Path, given: str, meant: str) -> None:
    (folder / "small.test.yaml").write_text(GOOD)
    (folder / "specs").mkdir()
    (folder / "specs" / "small.yaml").write_text(SPEC)
    with pytest.raises(NpacError) as refused:
        CliRunner().invoke(command, [given], catch_exceptions=False)
    assert str(refused.value) == f"there is no file or folder {given}"
    assert refused.value.remedy.partition("Name a test")[0] == (f"Did you mean {meant}? " if meant else "")


def test_a_malformed_file_runs_nothing_and_is_a_finding(folder: Path) -> None:
    (folder / "small.test.yaml").write_text(GOOD + "  - {name: b, expct: {}}\n")
    done = _run()
    assert done.exit_code == 1
    assert "error[NPA101] unknown-key: a case has no key 'expct'" in done.output
    assert "did you mean 'expect'?" in done.output and "small.test.yaml:4:15" in done.output
    assert "ok" not in done.output.split()
    assert done.output.endswith("no case was run, 1 file cannot be used\n")


def test_a_spec_that_is_not_there_is_a_finding(folder: Path) -> None:
    (folder / "lost.test.yaml").write_text("spec: lots.yaml\ncases: [{name: a}]\n")
    done = _run("lost.test.yaml")
    assert done.exit_code == 1
    assert "there is no spec lots.yaml" in done.output and "lost.test.yaml:1:7" in done.output
    assert "did you mean" not in done.output
    (folder / "lost.test.yaml").write_text("spec: smal.yaml\ncases: [{name: a}]\n")
    assert "did you mean small.yaml?" in _run("lost.test.yaml").output


def test_what_cannot_be_tried_is_an_error_of_its_own(folder: Path) -> None:
    text = "cases:\n  - {name: a, catalogs: absent.yaml}\n  - {name: b, expect: {waves: 1}}\n"
    (folder / "small.test.yaml").write_text(text)
    done = _run()
    assert done.exit_code == 2
    assert "ERROR  a" in done.output and "absent.yaml" in done.output
    assert done.output.endswith("1 passed, 1 could not be tried\n")
    (entry,) = json.loads(_run("--format", "json").output)
    assert [case["outcome"] for case in entry["cases"]] == ["error", "passed"]


def test_a_secret_in_the_spec_is_never_shown(folder: Path) -> None:
    secret = "AKIA" + "ABCDEFGHIJKLMNOP"
    (folder / "small.yaml").write_text(SPEC.replace("hello", secret))
    (folder / "small.test.yaml").write_text(GOOD)
    for format in ("text", "json", "junit"):
        done = _run("--format", format)
        assert done.exit_code == 1
        assert "NPA601" in done.output and secret not in done.output


def test_control_characters_do_not_reach_the_terminal(folder: Path) -> None:
    text = 'cases:\n  - name: "a\\e[2J"\n    expect: {steps: {say: {argv: ["\\e[31m"]}}}\n'
    (folder / "small.test.yaml").write_text(text)
    for format in ("text", "json", "junit"):
        done = _run("--format", format)
        assert done.exit_code == 1 and "\x1b" not in done.output
    ElementTree.fromstring(_run("--format", "junit").output)


def test_discovery_tells_specs_and_tests_apart(folder: Path) -> None:
    (folder / "small.test.yaml").write_text("# of a npa.workflow/v0.0.1 spec\n" + GOOD)
    (folder / ".venv").mkdir()
    (folder / ".venv" / "other.test.yaml").write_text(GOOD)
    assert find_specs(".") == ["small.yaml"]
    assert find_tests(".") == ["small.test.yaml"]
    (folder / "npac.toml").write_text('exclude = ["*.test.yaml"]\n')
    assert find_tests(".") == []


def test_what_git_ignores_is_passed_over(folder: Path) -> None:
    (folder / "small.test.yaml").write_text(GOOD)
    (folder / "ignored.test.yaml").write_text(GOOD)
    (folder / "gone.test.yaml").write_text(GOOD)
    (folder / ".gitignore").write_text("ignored.test.yaml\n")
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"}
    subprocess.run(["git", "init", "-q"], check=True, env=env)
    subprocess.run(["git", "add", "."], check=True, env=env)
    (folder / "gone.test.yaml").unlink()
    assert find_tests(".") == ["small.test.yaml"]
