"""A bench on which real jobs run: engines in temporary folders, seen to their end whatever a test does."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from npac.engines.local import processes
from npac.engines.local.engine import LocalEngine
from npac.engines.local.queue import Queue
from npac.launch.ports import JobRow

_PATIENCE = 30.0


def _dead(supervisor: tuple[int, int, str]) -> bool:
    return not processes.alive(*supervisor)


class Bench:
    """Makes engines and watches their jobs; every wait has a deadline."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engines: list[LocalEngine] = []
        self._launches = itertools.count(1)

    def engine(self, name: str = "engine", *, slots: int | None = 4, pretend: bool = False) -> LocalEngine:
        engine = LocalEngine(self.folder / name, slots=slots, pretend=pretend)
        self.engines.append(engine)
        return engine

    def launch(
        self,
        engine: LocalEngine,
        *documents: Mapping[str, Any],
        launch_id: str = "",
        secrets: Mapping[str, str] | None = None,
    ) -> str:
        key = launch_id or f"launch-{next(self._launches)}"
        return engine.launch(documents, "job", key, secrets or {}).job_id

    def task(self, run: str | None, **more: Any) -> dict[str, Any]:
        return {"name": "work", "run": run, **more}

    def row(self, engine: LocalEngine, job: str) -> JobRow:
        row = engine.job(job)
        assert row is not None
        return row

    def wait_until(self, holds: Callable[[], bool], what: str, *, seconds: float = _PATIENCE) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
            time.sleep(0.01)

    def wait_for(self, path: Path) -> str:
        """Wait for a line in a file; gives the file's text."""
        self.wait_until(lambda: path.exists() and path.read_text().endswith("\n"), f"a line in {path.name}")
        return path.read_text()

    def wait_status(self, engine: LocalEngine, job: str, *statuses: str) -> JobRow:
        def holds() -> bool:
            return self.row(engine, job).status in statuses

        self.wait_until(holds, f"job {job} in {statuses}, it is {self.row(engine, job)}")
        return self.row(engine, job)

    def finish(self, engine: LocalEngine, job: str) -> JobRow:
        self.wait_until(lambda: self.row(engine, job).terminal, f"the end of job {job}")
        return self.row(engine, job)

    def log(self, engine: LocalEngine, job: str, **options: Any) -> str:
        return "".join(engine.logs(job, **options))

    def supervisor(self, engine: LocalEngine, job: str) -> int:
        with Queue(engine.root) as queue:
            found = queue.job(int(job))
        assert found is not None
        return found.supervisor[0]

    def living(self, engine: LocalEngine, job: str = "") -> list[int]:
        """Give the processes that carry the engine's (or one job's) marker."""
        marker = f"{engine.capabilities().instance}.{job}{'.' if job else ''}"
        return [one.pid for one in processes.find(marker, ())]

    def close(self) -> None:
        for engine in self.engines:
            if not Path(engine.root).exists():
                continue
            for row in engine.jobs():
                if not row.terminal:
                    engine.cancel(row.id)
            for row in engine.jobs():
                self.finish(engine, row.id)
            with Queue(engine.root) as queue:
                supervisors = [job.supervisor for job in queue.jobs()]
            for one in supervisors:
                self.wait_until(partial(_dead, one), "the end of a supervisor")
            assert self.living(engine) == []


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    try:
        yield bench
    finally:
        bench.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB; the test is skipped where none can be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True)
    if made.returncode:
        pytest.skip("needs the right to mount a small file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
