"""Secrets reach the task and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

_SECRET = "kept-5f1b0c-to-itself"


def _turned() -> str:
    """Give the secret in a shape that does not betray it to a search."""
    return _SECRET.upper()


def _command_lines() -> bytes:
    found = b""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                found += Path("/proc", entry, "cmdline").read_bytes() + b"\n"
            except OSError:
                continue
    return found


def _holding(root: str) -> list[str]:
    found = []
    for folder, _, files in os.walk(root):
        for file in files:
            path = Path(folder, file)
            if path.is_fifo():
                continue
            if _SECRET.encode() in path.read_bytes():
                found.append(str(path))
    return found


def test_secrets_are_nowhere_but_in_the_task(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine(slots=1)
    gate = bench.launch(engine, bench.task(f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"))
    check = f'[ "$(printf %s "$TOKEN" | tr a-z A-Z)" = "{_turned()}" ] && [ "$OWN" = "$TOKEN" ]'
    task = bench.task(
        f"{check} || exit 9; echo up > {tmp_path}/up; while [ ! -e {tmp_path}/end ]; do sleep 0.02; done",
        setup=f"{check} || exit 8",
        secrets={"OWN": _SECRET},
    )
    job = bench.launch(engine, task, secrets={"TOKEN": _SECRET})
    # While it waits in the queue, while it runs, and after its end.
    bench.wait_status(engine, gate, "RUNNING")
    assert bench.row(engine, job).status == "PENDING"
    assert _holding(engine.root) == []
    assert _SECRET.encode() not in _command_lines()
    (tmp_path / "go").touch()
    bench.wait_for(tmp_path / "up")
    assert _holding(engine.root) == []
    assert _SECRET.encode() not in _command_lines()
    supervisor = bench.supervisor(engine, job)
    assert _SECRET.encode() not in Path(f"/proc/{supervisor}/environ").read_bytes()
    (tmp_path / "end").touch()
    row = bench.finish(engine, job)
    assert row.status == "SUCCEEDED", row
    assert _holding(engine.root) == []
