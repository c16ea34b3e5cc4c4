"""What ended jobs of a run have left is removed; what is anybody else's is not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npac import api
from tests.api.command import ROOT, invoke
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]

FAST = ("--poll-seconds", "0.05")


def spec(folder: Path) -> Path:
    """Write a spec whose task leaves much behind: files, a log's name, links, a folder that is read-only."""
    target = folder / "precious"
    target.mkdir(exist_ok=True)
    (target / "file").write_text("kept")
    lines = (
        f"echo told; echo $$ > {folder}/out; echo junk > big; echo no > not-a.log; "
        f"ln -s {target} link; ln -s {target}/file other; "
        "mkdir -p ro/below; echo x > ro/below/x; chmod 500 ro/below"
    )
    return write(folder, f"  only: {sh(lines, f'terminal: true, outputs: [{{uri: file://{folder}/out}}]')}\n")


def left(home: Path, job: int) -> list[str]:
    """Give the files below a job's folder."""
    root = home / "home" / "engines" / "local" / "jobs" / str(job)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


def test_all_but_the_logs_of_one_run_goes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = spec(home)
    for run in ("r", "other"):
        assert invoke(capsys, "run", path, "--run-id", run, *FAST).code == 0
    others = left(home, 2)
    assert any(name.endswith("big") for name in left(home, 1)) and any(
        name.endswith("big") for name in others
    )
    cleaned = invoke(capsys, "clean", "r")
    assert cleaned.code == 0 and cleaned.out.startswith("r: removed what 1 job had left ("), cleaned
    kept = left(home, 1)
    assert kept and all(name.endswith(".log") for name in kept) and not any("not-a" in name for name in kept)
    assert "told" in invoke(capsys, "logs", "r").out
    assert left(home, 2) == others, "nothing of another run"
    assert (home / "precious" / "file").read_text() == "kept", "links are not followed"
    assert (home / "out").exists()

    assert invoke(capsys, "clean", "r", "--logs").code == 0
    assert left(home, 1) == []
    again = invoke(capsys, "clean", "r", "--logs")
    assert (again.code, again.out) == (0, "r: removed what 1 job had left (0 bytes)\n")
    assert api.status("r").state == "succeeded" and invoke(capsys, "runs", "fsck", "r").code == 0
    # The engine is as good as before.
    assert invoke(capsys, "run", path, "--run-id", "next", *FAST).code == 0


def test_a_job_that_runs_is_left_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wait = f"touch {home}/began; while ! test -e {home}/go; do sleep 0.05; done"
    path = write(home, f"  only: {sh(wait, 'terminal: true')}\n")
    words = ("run", str(path), "--run-id", "r", *FAST)
    driver = subprocess.Popen(
        [sys.executable, "-c", "from npac.cli.main import entry; entry()", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while not (home / "began").exists():
            assert time.monotonic() < until and driver.poll() is None
            time.sleep(0.02)
        before = left(home, 1)
        cleaned = invoke(capsys, "clean", "r", "--logs")
        assert cleaned.code == 0 and "job 1 was left alone: it has not ended" in cleaned.out
        assert set(before) <= set(left(home, 1))
    finally:
        (home / "go").touch()
    assert driver.wait(60) == 0


def test_a_run_that_is_not_there_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = invoke(capsys, "clean", "r")
    assert missing.code == 2 and "there is no run r" in missing.err
