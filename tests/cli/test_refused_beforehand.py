"""What no wave could run with, and secrets where they would be written: refused before a run exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.command import invoke
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]

SECRET = "hunter22-long"


def raw(home: Path, second: str, head: str = "") -> Path:
    path = home / "raw.yaml"
    path.write_text(f"{head}name: one\nrun: touch {home}/ran\n---\nname: two\nrun: 'true'\n{second}\n")
    return path


@pytest.mark.parametrize(
    ("second", "words", "remedy"),
    [
        (
            "workdir: .",
            "Task 'two' has 'workdir'",
            "Take 'workdir' out of the task, and reach files by their",
        ),
        (
            "file_mounts: {/a: /b}\nworkdir: .",
            "Task 'two' has 'workdir' and 'file_mounts'",
            "reach files by their absolute paths.",
        ),
        ("volumes: {/a: v}", "Task 'two' has 'volumes'", "Take 'volumes' out"),
        ("service: {replicas: 1}", "Task 'two' has 'service'", "start what is served in the run script"),
        ("resources: {accelerators: 'L4:1'}", "accelerators 'L4:1'", "--pretend"),
        ("resources: {image_id: ami-1}", "image 'ami-1'", "Take 'image_id' out of the task"),
        ("resources: {any_of: [{accelerators: L4}]}", "accelerators 'L4'", "--pretend"),
    ],
)
@pytest.mark.parametrize("head", ["", "name: group\nexecution: parallel\n---\n"], ids=["serial", "parallel"])
def test_what_a_later_task_asks_for_in_vain_is_refused_before_the_first_runs(
    home: Path, capsys: pytest.CaptureFixture[str], second: str, words: str, remedy: str, head: str
) -> None:
    done = invoke(capsys, "run", raw(home, second, head), "--run-id", "r")
    assert done.code == 2, done
    assert words in done.err and remedy in done.err and "skypilot engine" not in done.err.lower()
    assert not (home / "ran").exists() and not (home / "home" / "runs" / "r").exists()
    free = invoke(capsys, "run", raw(home, ""), "--run-id", "r", "--poll-seconds", "0.05")
    assert free.code == 0 and (home / "ran").exists(), free.err


def test_pretend_takes_hardware_and_never_contents(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fast = ("--pretend", "--poll-seconds", "0.05")
    assert invoke(capsys, "run", raw(home, "resources: {accelerators: L4}"), *fast).code == 0
    (home / "ran").unlink()
    assert invoke(capsys, "run", raw(home, "workdir: ."), *fast).code == 2
    assert not (home / "ran").exists()


def plain(home: Path, text: str = "'true'") -> Path:
    path = write(home, f"  first: {sh('true', 'terminal: true')}\n", "plain.yaml")
    path.write_text(path.read_text() + f"config: {{mode: {text}}}\n")
    return path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--run-id", SECRET), "the run id holds the value of the secret NPAC_TOKEN"),
        (("--run-id", f"a.{SECRET}.b"), "the run id holds the value of the secret NPAC_TOKEN"),
        (("--run-id", f"/{SECRET}"), "the run id holds the value of the secret NPAC_TOKEN"),
        (("--var", f"mode=x{SECRET}"), "--var gives for mode holds the value of the secret NPAC_TOKEN"),
        (("--var", f"{SECRET}=x"), "a key given with --var holds the value of the secret NPAC_TOKEN"),
        (("--set", f"mode={SECRET}"), "--set gives for mode holds the value"),
        (("--accelerator", f"L4={SECRET}"), "--accelerator gives for L4 holds the value"),
        (("--config", "over.yaml"), "over.yaml holds the value of the secret NPAC_TOKEN in line 2"),
    ],
)
def test_a_secrets_value_in_an_option_is_refused_and_not_shown(
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.setenv("NPAC_TOKEN", SECRET)
    monkeypatch.chdir(home)
    (home / "over.yaml").write_text(f"\nmode: {SECRET}\n")
    done = invoke(capsys, "run", plain(home), "--secret-env", "NPAC_TOKEN", *arguments)
    assert done.code == 2 and words in done.err, done
    assert SECRET not in done.err + done.out
    assert not any(SECRET in str(path) for path in home.rglob("*"))
    assert not list((home / "home").glob("runs/*"))


@pytest.mark.parametrize("kind", ["spec", "raw", "build"])
def test_a_secrets_value_in_what_is_run_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("NPAC_TOKEN", SECRET)
    target = plain(home, SECRET) if kind != "raw" else raw(home, f"envs: {{A: {SECRET}}}")
    if kind == "build":
        assert invoke(capsys, "compile", target, "-o", home / "built").code == 0
        target = home / "built"
    done = invoke(capsys, "run", target, "--secret-env", "NPAC_TOKEN", "--run-id", "r")
    assert done.code == 2 and "holds the value of the secret NPAC_TOKEN in line" in done.err, done
    assert SECRET not in done.err + done.out and not (home / "home" / "runs" / "r").exists()


@pytest.mark.parametrize(
    ("value", "run_id", "code"), [("ab", "ab", 2), ("ab", "abc", 0), ("abcd", "x-abcd", 2)]
)
def test_a_short_value_counts_where_it_is_the_whole_id(
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    value: str,
    run_id: str,
    code: int,
) -> None:
    monkeypatch.setenv("NPAC_TOKEN", value)
    fast = ("--poll-seconds", "0.05", "--secret-env", "NPAC_TOKEN")
    assert invoke(capsys, "run", plain(home), "--run-id", run_id, *fast).code == code
