"""Commands with closed, full and unread standard streams."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.command import ROOT
from tests.api.specs import BROKEN, PLAIN

COMMAND = [sys.executable, "-c", "from npac.cli.main import entry; entry()"]


def shell(line: str, cwd: Path) -> tuple[int, str, str]:
    """Run a line of bash in which ``npac`` is this one; give its code, output and errors."""
    npac = f'npac() {{ {shlex.join(COMMAND)} "$@"; }}; set -o pipefail'
    done = subprocess.run(
        ["bash", "-c", f"{npac}\n{line}"],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "NPAC_HOME": str(cwd / "home")},
    )
    for fault in ("Traceback", "Exception ignored", "fault of npac"):
        assert fault not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(PLAIN, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(BROKEN, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["check", "compile", "plan"])
def test_closed_streams_change_no_code(here: Path, command: str, closed: str) -> None:
    assert shell(f"npac {command} good.yaml {closed}", here)[0] == 0
    assert shell(f"npac {command} bad.yaml {closed}", here)[0] == 1


@pytest.mark.parametrize("command", ["check good.yaml", "explain NPA302", "--help", "--version", "schema"])
def test_output_that_cannot_be_written_is_no_success(here: Path, command: str) -> None:
    code, _, err = shell(f"npac {command} >/dev/full", here)
    assert (code, err) == (2, "error: the output cannot be written: No space left on device\n")
    assert shell(f"npac {command} >/dev/full 2>&1", here)[0] == 2


def test_what_was_found_counts_more_than_that_it_cannot_be_written(here: Path) -> None:
    code, _, err = shell("npac check bad.yaml >/dev/full", here)
    assert code == 1
    assert "the output cannot be written" in err


def test_errors_that_cannot_be_written_are_lost(here: Path) -> None:
    assert shell("npac check good.yaml 2>/dev/full", here)[0] == 0
    assert shell("npac compile bad.yaml 2>/dev/full", here)[0] == 1
    assert shell("npac check absent.yaml 2>/dev/full", here)[0] == 2


def test_who_stops_reading_is_no_fault_and_no_finding(here: Path) -> None:
    assert shell("npac check good.yaml | true", here)[0] in (0, 141)
    assert shell("npac check bad.yaml | true", here)[0] in (1, 141)
    for command in ("schema", "--help", "explain NPA302", "check --help"):
        code, _, err = shell(f"npac {command} | true", here)
        assert (code, err) == (141, "")


@pytest.mark.parametrize("streams", [">/dev/full", ">/dev/full 2>&1", ">&- 2>&- <&-", "2>/dev/full"])
def test_a_run_ends_as_it_ends_whoever_reads_it(here: Path, streams: str) -> None:
    assert shell(f"npac run good.yaml --run-id r {streams}", here)[0] == 0
    code, out, _ = shell("npac status r", here)
    assert code == 0 and "r: succeeded" in out


def test_a_run_goes_on_when_its_reader_leaves(here: Path) -> None:
    assert shell("npac run good.yaml --run-id r 2>&1 | true", here)[0] == 0
    assert "r: succeeded" in shell("npac status r", here)[1]


def test_a_closed_standard_input_is_said(here: Path) -> None:
    code, _, err = shell("npac check - <&-", here)
    assert code == 2
    assert "standard input cannot be read: it is closed" in err


def test_an_endless_standard_input_is_not_read_to_its_end(here: Path) -> None:
    code, _, err = shell("npac check - </dev/zero", here)
    assert code == 2
    assert "standard input cannot be read: it is larger than 64 MiB" in err


def test_a_file_never_takes_the_place_of_a_closed_stream(here: Path) -> None:
    line = (
        f"{shlex.quote(sys.executable)} -c 'import os; from npac.cli.streams import prepare; prepare();"
        ' made = os.open("made", os.O_CREAT | os.O_WRONLY); assert made > 2;'
        ' assert all(os.get_inheritable(n) for n in range(3)); print(1); os.system("echo 2; echo 3 >&2")\''
    )
    assert shell(f"{line} >&- 2>&- <&-", here) == (0, "", "")
    assert (here / "made").read_bytes() == b""
