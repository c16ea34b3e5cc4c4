"""A run is resumed with what it was started with: a changed spec is refused, amended, or left aside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npac import api
from tests.api.command import ROOT, invoke
from tests.cli.runs_of import home, write

__all__ = ["home"]

FAST = ("--poll-seconds", "0.05")


def pipeline(folder: Path, second: str = "true", third: str = "true", name: str = "spec.yaml") -> Path:
    """Write a spec of three steps that leave traces; the second waits for a file called ``go``."""
    wait = f"while ! test -e {folder}/go; do sleep 0.05; done"

    def state(name: str, command: str, after: str, reads: str = "") -> str:
        script = f"echo {name} >> {folder}/trace; {command}; echo $$ > {folder}/made/{name}"
        inputs = f", inputs: [{{uri: 'file://{folder}/made/{reads}'}}]" if reads else ""
        return (
            f"  {name}: {{run: {{argv: [bash, -ec, {script!r}]}}, {after}{inputs}, "
            f"outputs: [{{uri: 'file://{folder}/made/{name}'}}]}}\n"
        )

    return write(
        folder,
        state("first", "true", "next: second")
        + state("second", f"{wait}; {second}", "next: third", "first")
        + state("third", third, "terminal: true", "second"),
        name,
    )


def trace(folder: Path) -> list[str]:
    place = folder / "trace"
    return place.read_text().split() if place.exists() else []


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-c", "from npac.cli.main import entry; entry()", *map(str, words)]


def killed_in_second(folder: Path, *words: str | Path) -> None:
    """Start a run and end its driver by ``kill -9`` while the second step runs."""
    driver = subprocess.Popen(
        command("run", *words, "--run-id", "r", *FAST),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while trace(folder) != ["first", "second"]:
        assert time.monotonic() < until and driver.poll() is None
        time.sleep(0.02)
    driver.send_signal(signal.SIGKILL)
    driver.wait()


def test_a_changed_spec_is_refused_with_what_changed_and_put_back_it_resumes(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = pipeline(home)
    original = spec.read_bytes()
    killed_in_second(home, spec)
    (home / "go").touch()
    pipeline(home, third="echo changed")
    refused = invoke(capsys, "resume", "r", *FAST)
    assert refused.code == 2 and refused.out == ""
    assert f"{spec} has changed since run r began, and gives another program now:" in refused.err
    assert "~ third" in refused.err and "echo changed" in refused.err and "~ second" not in refused.err
    for way in (f"npac resume r --amend {spec}", "npac resume r --as-stored", "Put the spec back"):
        assert way in refused.err
    assert trace(home) == ["first", "second"]

    spec.write_bytes(original)
    resumed = invoke(capsys, "resume", "r", *FAST)
    assert resumed.code == 0, resumed
    assert trace(home) == ["first", "second", "third"]
    assert api.status("r").amendments == []


def test_what_does_not_change_the_program_does_not_matter(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = pipeline(home)
    killed_in_second(home, spec)
    (home / "go").touch()
    spec.write_text("# a comment\n" + spec.read_text())
    assert invoke(capsys, "resume", "r", *FAST).code == 0


def test_a_spec_that_gives_no_program_any_more_is_refused_and_can_be_left_aside(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = pipeline(home)
    killed_in_second(home, spec)
    (home / "go").touch()
    spec.write_text("states: [")
    refused = invoke(capsys, "resume", "r", *FAST)
    assert refused.code == 2 and "gives no program now" in refused.err and "--as-stored" in refused.err
    done = invoke(capsys, "resume", "r", "--as-stored", *FAST)
    assert done.code == 0 and "gives no program now" in done.err
    assert trace(home) == ["first", "second", "third"]


def test_a_config_file_that_changed_is_a_changed_program(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = home / "values.yaml"
    config.write_text("word: one\n")
    spec = home / "spec.yaml"
    run = f"run: {{argv: [sh, -c, 'echo {{{{config.word}}}} >> {home}/trace; test -e {home}/go']}}"
    spec.write_text(
        "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: sample}\n"
        f"config: {{word: zero, more: x}}\nstates:\n  only: {{{run}, terminal: true}}\n"
    )
    first = invoke(
        capsys, "run", spec, "--config", config, "--var", "more=y", "--run-id", "r", "--on-timeout", "detach",
        "--retries", "0", *FAST,
    )  # fmt: skip
    assert first.code == 1
    config.write_text("word: two\n")
    (home / "go").touch()
    told = invoke(capsys, "retry", "r", *FAST)
    assert told.code == 0 and f"{spec} has changed since run r began" in told.err
    assert trace(home) == ["one", "one"], "retry goes on with what is stored, and says so"


def test_an_amended_run_is_known_as_such_by_all_that_look_at_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = pipeline(home, third="exit 3")
    (home / "go").touch()
    assert invoke(capsys, "run", spec, "--run-id", "r", *FAST).code == 1
    pipeline(home, third="true")
    done = invoke(capsys, "resume", "r", "--amend", spec, *FAST)
    assert done.code == 0, done
    assert trace(home) == ["first", "second", "third", "third"]
    status = invoke(capsys, "status", "r").out
    assert "  amended 2" in status and "~ third" in status
    data = json.loads(invoke(capsys, "status", "r", "--json").out)
    (change,) = data["amendments"]
    assert change["after"] == data["blobs"]["program"] != change["before"]
    assert [each["node"] for each in change["changes"]] == ["third"]
    assert f"Its program was amended once at {change['at']} by {spec}." in invoke(capsys, "why", "r").out
    assert "run-amended" in invoke(capsys, "events", "r").out
    assert invoke(capsys, "runs", "fsck", "r").code == 0
    os.unlink(spec)
    assert invoke(capsys, "resume", "r", "--rerun-from", "third", *FAST).code == 0
    assert trace(home)[4:] == ["third"]


def test_a_changed_finished_stage_is_refused_by_name(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = pipeline(home, third="exit 3")
    (home / "go").touch()
    assert invoke(capsys, "run", spec, "--run-id", "r", *FAST).code == 1
    other = pipeline(home, second="echo changed", name="other.yaml")
    refused = invoke(capsys, "resume", "r", "--amend", other, *FAST)
    assert refused.code == 2 and "the wave second has finished, and is another one in it" in refused.err
    assert "goes on with" not in refused.err.replace("cannot go on with", "")
    assert f"npac run {other}" in refused.err
    assert trace(home) == ["first", "second", "third"] and api.status("r").amendments == []


def test_a_wave_under_way_may_not_change_until_it_is_cancelled(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = pipeline(home)
    killed_in_second(home, spec)
    pipeline(home, second="echo changed")
    refused = invoke(capsys, "resume", "r", "--amend", spec, *FAST)
    assert refused.code == 2 and "second of run r is under way (job 2), and it is changed" in refused.err
    assert f"npac cancel r, and when it has ended: npac resume r --amend {spec}" in refused.err
    assert invoke(capsys, "cancel", "r", *FAST).code == 4, "a changed spec keeps nobody from cancelling"
    (home / "go").touch()
    assert invoke(capsys, "resume", "r", "--amend", spec, *FAST).code == 0
    assert trace(home) == ["first", "second", "second", "third"]


def test_giving_the_same_amendment_again_goes_on(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = pipeline(home, third="exit 3")
    (home / "go").touch()
    assert invoke(capsys, "run", spec, "--run-id", "r", *FAST).code == 1
    pipeline(home, third="exit 4")
    assert invoke(capsys, "resume", "r", "--amend", spec, *FAST).code == 1
    again = invoke(capsys, "resume", "r", "--amend", spec, *FAST)
    assert again.code == 1 and "there is nothing to amend" in again.err
    assert len(api.status("r").amendments) == 1


def test_a_variable_can_be_amended_and_those_given_at_first_still_hold(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = home / "spec.yaml"
    script = f"echo {{{{config.a}}}}{{{{config.b}}}} >> {home}/trace; exit {{{{config.b}}}}"
    run = f"run: {{argv: [sh, -c, '{script}']}}"
    spec.write_text(
        "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: sample}\n"
        f"config: {{a: '0', b: '0'}}\nstates:\n  only: {{{run}, terminal: true}}\n"
    )
    started = invoke(capsys, "run", spec, "--var", "a=1", "--var", "b=2", "--run-id", "r", *FAST)
    assert started.code == 1
    assert invoke(capsys, "resume", "r", "--var", "b=0", *FAST).code == 2, "only with --amend"
    assert invoke(capsys, "resume", "r", "--amend", spec, "--var", "b=0", *FAST).code == 0
    assert trace(home) == ["12", "10"]
    # What it was amended with is what a later look compares with.
    assert invoke(capsys, "resume", "r", "--rerun-from", "only", *FAST).code == 0


def test_a_build_is_compared_and_amended_like_a_spec(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, build, other = pipeline(home), home / "build", home / "other"
    invoke(capsys, "compile", spec, "-o", build)
    killed_in_second(home, build)
    (home / "go").touch()
    pipeline(home, third="echo changed")
    invoke(capsys, "compile", spec, "-o", other)
    invoke(capsys, "compile", spec, "-o", build)
    refused = invoke(capsys, "resume", "r", *FAST)
    assert refused.code == 2 and f"{build} has changed since run r began" in refused.err
    assert invoke(capsys, "resume", "r", "--amend", other, *FAST).code == 0
    assert api.status("r").target == str(other)


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "NPA_SRC_S3_URI"])
def test_another_environment_would_link_otherwise_and_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    spec = pipeline(home)
    value = "http://127.0.0.1:9" if variable == "AWS_ENDPOINT_URL" else "s3://bucket/source"
    if variable == "AWS_ENDPOINT_URL":
        monkeypatch.setenv(variable, value)
    killed_in_second(home, spec)
    (home / "go").touch()
    monkeypatch.setenv(variable, value + "1")
    refused = invoke(capsys, "resume", "r", *FAST)
    assert refused.code == 2 and "would be linked otherwise now" in refused.err and value in refused.err
    assert invoke(capsys, "resume", "r", "--amend", spec, *FAST).code == 2, "nor is it amended"
    monkeypatch.delenv(variable)
    assert invoke(capsys, "resume", "r", *FAST).code == 0, "what is not set says nothing; nothing is on S3"


def test_of_two_resumes_at_once_one_works(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = pipeline(home)
    killed_in_second(home, spec)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    drivers = [
        subprocess.Popen(
            command("resume", "r", *FAST),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    until = time.monotonic() + 60
    while sum(driver.poll() is not None for driver in drivers) < 2:
        assert time.monotonic() < until
        time.sleep(0.02)
    refused = [driver for driver in drivers if driver.poll() is not None]
    for driver in refused:
        assert driver.returncode == 2 and "alive" in driver.communicate()[1]
    (home / "go").touch()
    (working,) = (driver for driver in drivers if driver not in refused)
    assert working.communicate(timeout=60)[0].startswith("r: succeeded") and working.returncode == 0
    assert trace(home) == ["first", "second", "third"]
    assert invoke(capsys, "runs", "fsck", "r").code == 0


def test_of_two_amendments_at_once_one_works(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = pipeline(home, third="exit 3")
    (home / "go").touch()
    assert invoke(capsys, "run", spec, "--run-id", "r", *FAST).code == 1
    (home / "go").unlink()
    others = [pipeline(home, third=f"echo {n}; sleep 1", name=f"{n}.yaml") for n in (1, 2)]
    drivers = [
        subprocess.Popen(
            command("resume", "r", "--amend", other, *FAST),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for other in others
    ]
    ends = [(driver.communicate(timeout=60), driver.returncode) for driver in drivers]
    assert sorted(code for _, code in ends) == [0, 2], ends
    assert trace(home) == ["first", "second", "third", "third"]
    assert len(api.status("r").amendments) == 1


def test_a_bound_on_gpu_hours_is_an_option_of_runs(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = pipeline(home)
    (home / "go").touch()
    assert invoke(capsys, "run", spec, "--run-id", "r", "--max-gpu-hours", "2.5", *FAST).code == 0
    assert api.status("r").options["max_gpu_hours"] == 2.5
    assert invoke(capsys, "resume", "r", "--rerun-from", "3", *FAST).code == 0
    assert api.status("r").options["max_gpu_hours"] == 2.5
