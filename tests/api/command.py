"""The command line, run inside the test's process or in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from npac.cli.main import entry

ROOT = Path(__file__).resolve().parents[2]


class Outcome(NamedTuple):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


def invoke(capsys: pytest.CaptureFixture[str], *argv: str | os.PathLike[str]) -> Outcome:
    """Run ``npac ARGV`` in this process."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        entry([os.fspath(word) for word in argv])
    captured = capsys.readouterr()
    if "a fault of npac itself" in captured.err:
        pytest.fail(captured.err)  # whole, which the report of a comparison would not be
    code = ended.value.code
    return Outcome(code if isinstance(code, int) else 1, captured.out, captured.err)


def spawn(
    *argv: str | os.PathLike[str],
    cwd: Path | None = None,
    input: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Run ``npac ARGV`` as a process of its own, with nothing of this environment but what it needs."""
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT), **(env or {})}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from npac.cli.main import entry; entry()",
            *(os.fspath(word) for word in argv),
        ],
        cwd=cwd,
        input=input,
        capture_output=True,
        env=environment,
        timeout=120,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
