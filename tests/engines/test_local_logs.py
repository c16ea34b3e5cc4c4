"""Logs: followed while they grow, drained at the end, in bounded memory."""

from __future__ import annotations

import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from npac.engines.local.logs import PIECE, Tail, present
from npac.launch.ports import EngineError


def test_follow_shows_lines_as_they_come_and_ends_with_the_job(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine()
    script = f"echo one; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo two; printf three"
    job = bench.launch(engine, bench.task(script))
    seen: list[str] = []
    reader = threading.Thread(target=lambda: seen.extend(engine.logs(job, follow=True)))
    reader.start()
    bench.wait_until(lambda: "".join(seen) == "one\n", "the first line")
    assert reader.is_alive()
    (tmp_path / "go").touch()
    reader.join(20)
    assert not reader.is_alive()
    assert "".join(seen) == "one\ntwo\nthree"
    assert bench.row(engine, job).terminal


def test_follow_waits_for_a_job_that_has_not_started(bench: Any, tmp_path: Path) -> None:
    engine = bench.engine(slots=1)
    first = bench.launch(engine, bench.task(f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"))
    second = bench.launch(engine, bench.task("echo at last"))
    seen: list[str] = []
    reader = threading.Thread(target=lambda: seen.extend(engine.logs(second, follow=True)))
    reader.start()
    bench.wait_status(engine, first, "RUNNING")
    assert bench.log(engine, second) == ""
    (tmp_path / "go").touch()
    reader.join(20)
    assert "".join(seen) == "at last\n"


def test_a_flood_is_read_in_pieces(bench: Any) -> None:
    engine = bench.engine()
    size = 40 * 1024 * 1024
    job = bench.launch(engine, bench.task(f"head -c {size} /dev/zero | tr '\\0' x"))
    assert bench.finish(engine, job).status == "SUCCEEDED"
    tracemalloc.start()
    try:
        total = 0
        for piece in engine.logs(job, follow=True):
            assert len(piece) <= PIECE
            total += len(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == size
    assert peak < 4 * 1024 * 1024


def test_what_is_not_there_is_said(bench: Any) -> None:
    engine = bench.engine()
    job = bench.launch(engine, bench.task("echo"))
    with pytest.raises(EngineError, match="no job '77'"):
        engine.logs("77")
    with pytest.raises(EngineError, match="no job '\\.\\./1'"):
        engine.logs("../1")
    with pytest.raises(EngineError, match="no task 'x'") as caught:
        engine.logs(job, task="x")
    assert "work" in caught.value.remedy
    assert engine.job("77") is None
    assert engine.job("x") is None


def test_bytes_that_are_no_text_and_lines_without_end(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"a\xff\xc3")
    assert "".join(present([Tail(str(file))])) == "a\ufffd\ufffd"
    file.write_bytes("é\nlast".encode())
    assert "".join(present([Tail(str(file), "> ")])) == "> é\n> last\n"
    file.write_bytes(b"y" * (3 * PIECE) + b"\n")
    text = "".join(present([Tail(str(file), "> ")]))
    assert text.count("y") == 3 * PIECE
    assert all(line.startswith("> ") for line in text.splitlines())
