"""``npac run`` and what shows a run: what people read, and what is refused before anything is launched."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from npac import api
from npac.cli.progress import Lines
from npac.running import open_ledger
from tests.api.command import invoke
from tests.cli.runs_of import failing, home, sh, write

__all__ = ["home"]

FAST = ("--poll-seconds", "0.05")


def test_each_wave_is_one_line_and_the_end_names_the_last_state(home: Path, capsys) -> None:
    spec = write(home, f"  first: {sh('true', 'next: give-up')}\n  give-up: {sh('true', 'terminal: true')}\n")
    done = invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    assert done.code == 0, done.err
    lines = done.err.splitlines()
    assert len(lines) == 3 and len(set(lines)) == 3
    assert re.fullmatch(r"0:00:\d\d  wave 1  first  succeeded in \d+\.\d s \(job 1\)", lines[1])
    assert done.out.splitlines()[0] == "r: succeeded at give-up"
    assert not re.search("PENDING|STARTING|RUNNING|running", done.err)


def test_with_verbose_every_change_of_a_job_is_shown(home: Path, capsys) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    done = invoke(capsys, "run", spec, "--run-id", "r", "--verbose", *FAST)
    assert "wave 1  first  running" in done.err
    assert "job 1 SUCCEEDED" in done.err


def test_a_failure_shows_the_ends_of_the_logs_and_each_reason_once(home: Path, capsys) -> None:
    done = invoke(capsys, "run", failing(home), "--run-id", "r", *FAST)
    assert done.code == 1
    assert "    line-of-one\n" in done.err and "no-such-command" in done.err
    assert "    two-12\n" in done.err and "    two-3\n" in done.err and "two-2\n" not in done.err
    assert done.out.splitlines()[0] == (
        "r: failed: both: one ended FAILED with exit code 127 (command not found); "
        "two ended FAILED with exit code 3"
    )
    for command in ("status", "why"):
        shown = invoke(capsys, command, "r").out
        assert shown.count("one ended FAILED") == shown.count("two ended FAILED") == 1, shown
    again = invoke(capsys, "retry", "r", *FAST)
    assert "stored with" not in again.err, "nothing has changed"


def test_the_folders_of_outputs_are_made(home: Path, capsys) -> None:
    invoke(capsys, "run", failing(home), "--run-id", "r", *FAST)
    assert api.status("r").waves["first"].state == "succeeded"
    (home / "file").touch()
    uri = f"file://{home}/file/below/x"
    spec = write(home, f"  first: {sh('true', f'outputs: [{{uri: {uri!r}}}], terminal: true')}\n", "b.yaml")
    done = invoke(capsys, "run", spec, "--run-id", "b", *FAST)
    assert (done.code, api.status("b").code) == (1, "OUTPUT_FOLDER")
    assert f"the folder {home}/file/below for {uri} could not be made" in done.out
    assert "A file stands where a folder must be" in done.out
    assert not api.status("b").waves


def refusals(home: Path) -> dict[str, tuple[Path, tuple[str, ...], str]]:
    """Give by name: a spec, arguments, and words of the refusal."""
    plain = write(home, f"  first: {sh('true', 'terminal: true')}\n", "plain.yaml")
    needy = write(
        home,
        "  first: {run: {argv: ['true']}, requires: {secrets: [NPAC_NEEDED]}, terminal: true}\n",
        "needy.yaml",
    )
    strange = {
        name: write(home, f"  first: {sh('true', f'outputs: [{{uri: {uri!r}}}], terminal: true')}\n", name)
        for name, uri in (("host.yaml", "file://other/a/b"), ("bucket.yaml", "s3://-/b"))
    }
    return {
        "secret": (plain, ("--secret-env", "NPAC_NONE"), "NPAC_NONE"),
        "needed secret": (needy, (), "NPAC_NEEDED"),
        "engine": (plain, ("--engine", "steam"), "steam"),
        "host": (strange["host.yaml"], (), "the host 'other'"),
        "bucket": (strange["bucket.yaml"], (), "no store takes such a name"),
    }


@pytest.mark.parametrize("name", ["secret", "needed secret", "engine", "host", "bucket"])
def test_a_run_that_is_refused_leaves_its_id_free(home: Path, capsys, name: str) -> None:
    spec, arguments, words = refusals(home)[name]
    done = invoke(capsys, "run", spec, "--run-id", "r", *arguments, *FAST)
    assert done.code in (1, 2) and words in done.err, done
    assert not (home / "home" / "runs" / "r").exists()
    free = invoke(capsys, "run", home / "plain.yaml", "--run-id", "r", *FAST)
    assert free.code == 0, free.err


def test_shared_outputs_leave_the_id_free(home: Path, capsys) -> None:
    uri = f"file://{home}/art/x"
    spec = write(home, f"  first: {sh('exec sleep 600', f'outputs: [{{uri: {uri!r}}}], terminal: true')}\n")
    detach = ("--max-wait", "0.3", "--on-timeout", "detach", *FAST)
    assert invoke(capsys, "run", spec, "--run-id", "r", *detach).code == 3
    second = invoke(capsys, "run", spec, "--run-id", "s", *detach)
    assert second.code == 2 and "run r is not finished and writes" in second.err
    assert not (home / "home" / "runs" / "s").exists()
    assert invoke(capsys, "cancel", "r", *FAST).code == 4


def test_an_engine_that_cannot_be_read_leaves_the_id_free(home: Path, capsys) -> None:
    (home / "home" / "engines").mkdir(parents=True)
    (home / "home" / "engines" / "local").write_text("no folder")
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    assert invoke(capsys, "run", spec, "--run-id", "r", *FAST).code == 2
    assert not (home / "home" / "runs" / "r").exists()


def test_s3_without_boto3_is_refused_before_the_launch(home: Path, capsys, monkeypatch) -> None:
    uri = "s3://bucket-1/{{run.id}}/x"
    spec = write(home, f"  first: {sh('touch ran', f'outputs: [{{uri: {uri!r}}}], terminal: true')}\n")
    for name in ("boto3", "botocore", "botocore.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    done = invoke(capsys, "run", spec, "--run-id", "r", *FAST)
    assert done.code == 2
    assert "s3://bucket-1/r/x cannot be looked at: s3:// needs boto3" in done.err
    assert done.err.count("pip install boto3") == 1
    assert not (home / "ran").exists() and not (home / "home" / "runs" / "r").exists()


@pytest.mark.parametrize("change", ["changed", "lacking", "extra"])
def test_a_build_that_is_not_what_was_compiled_is_not_run(home: Path, capsys, change: str) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    assert invoke(capsys, "compile", spec, "-o", home / "build").code == 0
    view = next((home / "build" / "waves").iterdir())
    if change == "changed":
        view.write_text(view.read_text() + "# more\n")
    elif change == "lacking":
        view.unlink()
    else:
        shutil.copy(view, view.with_name("999-more.yaml"))
    assert invoke(capsys, "verify", home / "build").code == 1
    done = invoke(capsys, "run", home / "build", "--run-id", "r", *FAST)
    assert done.code == 2 and "is not what was compiled" in done.err and "waves/" in done.err
    assert not (home / "home" / "runs" / "r").exists()


def test_runs_are_a_table_in_the_order_of_time(home: Path, capsys) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    for name in ("zebra", "ant"):
        assert invoke(capsys, "run", spec, "--run-id", name, *FAST).code == 0
    from npac.running import ledger_root

    ledger_root(None).create("empty")
    lines = invoke(capsys, "runs").out.splitlines()
    assert lines[0].split() == ["RUN", "STATE", "WORKFLOW", "BEGUN", "LAST", "EVENT"]
    assert [line.split()[0] for line in lines[1:]] == ["empty", "zebra", "ant"]
    assert "given up before launch" in lines[1]
    assert re.search(r"  \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", lines[2])
    assert {line.index("sample") for line in lines[2:]} == {lines[0].index("WORKFLOW")}


def test_a_detached_run_is_cancelled_and_named_so(home: Path, capsys) -> None:
    spec = write(home, f"  first: {sh('exec sleep 600', 'terminal: true')}\n")
    left = invoke(capsys, "run", spec, "--run-id", "r", "--max-wait", "0.3", "--on-timeout", "detach", *FAST)
    assert left.code == 3, left
    done = invoke(capsys, "cancel", "r", *FAST)
    assert done.code == 4
    assert "resumed" not in done.err and "cancelling r" in done.err
    assert re.search(r"wave 1  first  cancelled after", done.err), done.err
    shown = invoke(capsys, "status", "r").out
    assert "first  cancelled" in shown and "first  failed" not in shown
    assert open_ledger("r", None).events()[-1].type == "run-ended"
    resumed = invoke(capsys, "resume", "r", *FAST)
    assert (resumed.code, resumed.out.splitlines()[-1]) == (4, "  next: npac retry r")


def test_identical_specs_have_no_difference(home: Path, capsys) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    done = invoke(capsys, "diff", spec, spec)
    assert (done.code, done.out) == (0, "no difference\n")


def test_message_and_remedy_are_printed_once_each(home: Path, capsys) -> None:
    error = api.NpacError("it is not there", remedy="Put it there.", where="a.yaml")
    assert (str(error), error.remedy) == ("a.yaml: it is not there", "Put it there.")
    assert error.in_one_line() == "a.yaml: it is not there. Put it there."
    for command in ("check", "compile"):
        done = invoke(capsys, command, "lacking.yaml")
        with pytest.raises(api.NpacError) as caught:
            api.check("lacking.yaml")
        assert done.code == 2
        assert done.err == f"error: {caught.value}\n  help: {caught.value.remedy}\n"


class Terminal:
    """A standard error that says it is a terminal, and keeps what is written."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        """Say that lines can be replaced."""
        return True

    def write(self, text: str) -> int:
        """Keep ``text``."""
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Do nothing: all is kept at once."""


def test_on_a_terminal_what_runs_is_shown_and_replaced(home: Path, monkeypatch) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    lines = Lines()
    result = api.run(spec, run_id="r", progress=lines)
    lines.close()
    assert result.state == "succeeded"
    shown, ended = terminal.text.split("\n")[1].split("\r\x1b[K")
    assert shown.endswith("wave 1  first  running") and "succeeded in" in ended
    assert terminal.text.endswith("(job 1)\n")
