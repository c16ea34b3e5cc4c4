"""A queue that is damaged is named, with what to do and what that costs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npac.engines.local.queue import damage
from npac.launch.ports import EngineError


def garbage(path: Path) -> None:
    path.write_text("garbage\n")


def torn(path: Path) -> None:
    with sqlite3.connect(path) as sql:
        sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sql.close()
    path.write_bytes(path.read_bytes()[:4096] + b"\xaa" * 16384)


def no_tables(path: Path) -> None:
    with sqlite3.connect(path) as sql:
        sql.execute("DROP TABLE task")
        sql.execute("DROP TABLE job")
    sql.close()


@pytest.mark.parametrize("harm", [garbage, torn, no_tables])
def test_a_damaged_queue_is_named_with_its_remedy(bench: Any, harm: Callable[[Path], None]) -> None:
    engine = bench.engine()
    queue = Path(engine.root) / "queue.sqlite"
    bench.finish(engine, bench.launch(engine, bench.task("true")))
    harm(queue)
    for left in ("queue.sqlite-wal", "queue.sqlite-shm"):
        (queue.parent / left).unlink(missing_ok=True)
    with pytest.raises(EngineError) as caught:
        bench.engine().jobs()
    assert str(caught.value).startswith(f"The local engine's queue {queue} is damaged: ")
    remedy = caught.value.remedy
    assert (
        f"move it away together with {queue.name}-wal" in remedy and "Jobs that run now are ended" in remedy
    )
    assert "permission" not in remedy and "room" not in remedy
    with pytest.raises(EngineError, match="is damaged"):
        engine.jobs()
    with pytest.raises(EngineError, match="is damaged") as caught:
        bench.launch(engine, bench.task("true"), launch_id="second")
    assert caught.value.phase == "never-sent"
    queue.rename(queue.with_suffix(".old"))
    fresh = bench.engine()
    assert list(fresh.jobs()) == []
    job = bench.launch(fresh, bench.task("true"), launch_id="third")
    assert bench.finish(fresh, job).status == "SUCCEEDED"


def test_what_is_locked_or_gone_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError) as caught:
        sqlite3.connect(f"file:{tmp_path}/none?mode=rw", uri=True)
    assert damage(caught.value) == ""
    assert damage(OSError("x")) == damage(sqlite3.OperationalError("database is locked")) == ""
