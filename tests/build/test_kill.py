"""A compile that is killed leaves no build that verifies and is none, and the next compile mends it."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from npac.build.verify import verify_build
from tests.build.killing import files

ROOT = Path(__file__).resolve().parents[2]
POINTS, TIMED = 90, 40
"""Kills of one campaign: at places where the disk is touched, and after a random time."""
OLD = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: killed}
states:
  one: {run: {argv: [one]}, next: two}
  two: {run: {argv: [two]}, next: gone}
  gone: {run: {argv: [gone]}, terminal: true}
"""
NEW = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: killed}
states:
  one: {run: {argv: [one]}, next: two}
  two: {run: {argv: [two, more]}, next: added}
  added: {run: {argv: [added]}, terminal: true}
"""


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A folder for a campaign: in memory where there is such a place, for a kill is no loss of power."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path / "campaign"
        return
    folder = Path(tempfile.mkdtemp(prefix="npac-kill-", dir=memory))
    yield folder / "campaign"
    shutil.rmtree(folder)


@pytest.fixture
def specs(tmp_path: Path) -> tuple[Path, Path]:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(OLD)
    new.write_text(NEW)
    return old, new


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _campaign(
    root: Path, old: Path | str, new: Path, *, points: int, timed: int, weaken: str = ""
) -> tuple[int, list[dict[str, Any]]]:
    root.mkdir()
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.build.killing"),
            *(str(root), str(old), str(new), str(points), str(timed), weaken, str(seed)),
        ],
        env=_environment(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout)
    return answer["points"], answer["records"]


@pytest.mark.parametrize("over", ["nothing", "another build", "the same build"])
def test_no_kill_leaves_a_build_that_only_looks_whole(
    root: Path, specs: tuple[Path, Path], over: str
) -> None:
    old, new = specs
    choices: dict[str, Path | str] = {"nothing": "", "another build": old, "the same build": new}
    before = choices[over]
    points, records = _campaign(root, before, new, points=POINTS, timed=TIMED)
    by_point = [record for record in records if record["where"].startswith("point")]
    assert min(points, POINTS) - 2 <= len(by_point) <= POINTS
    assert len(records) == len(by_point) + TIMED
    assert all(record["code"] == -signal.SIGKILL for record in by_point)
    assert [record for record in records if record["good"] and not record["whole"]] == []
    assert [record for record in records if not record["healed"]] == []
    # The kills were everywhere: before anything was written, in the middle, and when all was done.
    if over != "the same build":
        assert {record["whole"] for record in records} >= {"", "new"}
        assert any(not record["good"] for record in records)
    if over == "another build":
        assert any(record["whole"] == "old" and record["good"] for record in records)


@pytest.mark.parametrize(("weaken", "fault"), [("no extras", "good"), ("no note", "healed")])
def test_the_campaign_finds_what_is_broken(
    root: Path, specs: tuple[Path, Path], weaken: str, fault: str
) -> None:
    """Without the check for extra files, and without the note of the files to come, kills do harm."""
    _, records = _campaign(root, specs[0], specs[1], points=40, timed=0, weaken=weaken)
    if fault == "good":
        assert any(record["good"] and not record["whole"] for record in records)
    else:
        assert any(not record["healed"] for record in records)


def test_the_command_itself_is_killed(tmp_path: Path, specs: tuple[Path, Path]) -> None:
    old, new = specs
    command = [sys.executable, "-c", "from npac.cli.main import entry; entry()", "compile"]
    whole = {}
    longest = 0.0
    for spec in specs:
        out = tmp_path / spec.stem
        start = time.monotonic()
        subprocess.run(
            [*command, str(spec), "-o", str(out)], check=True, env=_environment(), capture_output=True
        )
        longest = time.monotonic() - start
        whole[spec.stem] = files(out)
    out = tmp_path / "out"
    subprocess.run([*command, str(old), "-o", str(out)], check=True, env=_environment(), capture_output=True)
    draw = random.Random()
    for _ in range(8):
        process = subprocess.Popen(
            [*command, str(new), "-o", str(out)],
            env=_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Start-up takes most of the time; files are written at its end.
        time.sleep(draw.uniform(longest * 0.6, longest))
        process.kill()
        process.wait(timeout=60)
        if not verify_build(out):
            assert files(out) in whole.values()
        again = old if draw.random() < 0.5 else new
        subprocess.run(
            [*command, str(again), "-o", str(out)], check=True, env=_environment(), capture_output=True
        )
        assert verify_build(out) == [] and files(out) == whole[again.stem]
