"""No instruction of a job runs before its process is on record."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from npac.engines.local import processes
from npac.engines.local.spawn import spawn


def _script(folder: Path) -> Path:
    script = folder / "run.sh"
    script.write_text(f"echo ran > {folder}/ran\n")
    return script


def test_a_process_that_cannot_be_recorded_never_runs(tmp_path: Path) -> None:
    seen: list[int] = []

    def record(pid: int, start: int) -> None:
        seen.append(pid)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        spawn(
            "/bin/bash",
            str(_script(tmp_path)),
            directory=str(tmp_path),
            environment={},
            log=str(tmp_path / "log"),
            umask=0o022,
            record=record,
        )
    assert len(seen) == 1
    assert processes.stat(seen[0]) is None
    assert not (tmp_path / "ran").exists()


def test_a_process_whose_starter_dies_first_never_runs(bench: Any, tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from npac.engines.local.spawn import spawn\n"
        "def record(pid, start):\n"
        "    print(pid, start, flush=True)\n"
        "    os._exit(0)\n"
        "spawn('/bin/bash', sys.argv[1], directory=sys.argv[2], environment={},\n"
        "      log=sys.argv[2] + '/log', umask=0o022, record=record)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(_script(tmp_path)), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    pid, start = map(int, done.stdout.split())
    bench.wait_until(lambda: not processes.alive(pid, start, processes.boot_id()), "the child's end")
    assert not (tmp_path / "ran").exists()


def test_a_program_that_cannot_be_executed_says_so_in_the_log(tmp_path: Path) -> None:
    pid, _ = spawn(
        "/nonexistent/bash",
        str(_script(tmp_path)),
        directory=str(tmp_path),
        environment={},
        log=str(tmp_path / "log"),
        umask=0o022,
        record=lambda pid, start: None,
    )
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 127
    assert (tmp_path / "log").read_text().startswith("/nonexistent/bash could not be started: ")
