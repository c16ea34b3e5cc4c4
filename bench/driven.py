"""One driver in a process of its own that measures itself: started by ``bench_run.py``.

    driven.py run SPEC RUN-ID ENGINE [LAST-WAVE]
    driven.py resume RUN-ID ENGINE

prints one JSON object on its last line of output.  The processor's time and the memory are this process's
own, not those of the jobs.  ``LAST-WAVE`` makes the driver leave when that wave has ended, as SIGTERM does.

The engine ``instant`` is made here: each of its jobs has succeeded when it is first looked at, so that what
is measured over ten thousand waves is the driver and its ledger and nothing else.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from npac import api, engines
from npac.launch.ports import SUCCEEDED, Capabilities, JobRow, LaunchRequest, TaskRow
from npac.runtime.options import RunOptions
from npac.runtime.progress import Silent
from npac.runtime.view import WaveView

_KEPT = 4
_EVERY = 25
"""Waves between two samples."""


class InstantEngine:
    """Jobs that do nothing at once; remembers the last few, as nothing asks for earlier ones."""

    def __init__(self) -> None:
        self._rows: dict[str, JobRow] = {}
        self._made = 0

    def capabilities(self) -> Capabilities:
        return Capabilities("instant", True, False, False, "instant-engine")

    def launch(
        self,
        documents: Sequence[Mapping[str, Any]],
        name: str,
        launch_id: str,
        secrets: Mapping[str, str],
    ) -> LaunchRequest:
        self._made += 1
        job = f"{os.getpid()}-{self._made}"
        tasks = tuple(TaskRow(str(one.get("name", name)), SUCCEEDED, 0) for one in documents)
        now = time.time()
        self._rows[job] = JobRow(job, name, launch_id, SUCCEEDED, now, now, now, "", tasks)
        if len(self._rows) > _KEPT:
            del self._rows[next(iter(self._rows))]
        return LaunchRequest(job, job)

    def jobs(self) -> Sequence[JobRow]:
        return list(self._rows.values())

    def jobs_of(self, launch_id: str, name: str) -> Sequence[JobRow]:
        return [row for row in self._rows.values() if row.launch_id == launch_id or row.name == name]

    def job(self, job_id: str) -> JobRow | None:
        return self._rows.get(job_id)

    def cancel(self, job_id: str) -> None:
        raise AssertionError("a job that has ended is not cancelled")

    def logs(self, job_id: str, *, task: str = "", follow: bool = False) -> Iterator[str]:
        return iter(())


class Meter(Silent):
    """Samples this process and its ledger each time that so many waves have ended."""

    def __init__(self, folder: Path, last: int) -> None:
        self.samples: list[dict[str, float]] = []
        self.begun = self.first = 0.0
        self.cpu_begun = self.cpu_first = 0.0
        self._folder = folder
        self._last = last
        self._ended = 0

    def wave_started(self, wave: WaveView) -> None:
        if not self.first:
            self.first, self.cpu_first = time.perf_counter(), cpu()

    def wave_ended(self, wave: WaveView) -> None:
        self._ended += 1
        if self._ended % _EVERY == 0:
            self.samples.append(
                {"waves": self._ended, "cpu": cpu(), "rss": rss(), "ledger": size(self._folder)}
            )
        if self._ended == self._last:
            os.kill(os.getpid(), signal.SIGTERM)


def cpu() -> float:
    """Give the seconds of the processor that this process alone has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def rss() -> int:
    """Give this process's resident memory in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def size(folder: Path) -> int:
    """Give the bytes of all files below a folder."""
    return sum(
        os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names
    )


def main(arguments: list[str]) -> None:
    """Drive a run and print what it took."""
    what, *rest = arguments
    run_id, engine = rest[1:3] if what == "run" else rest
    last = int(rest[3]) if what == "run" and len(rest) > 3 else 0
    meter = Meter(Path(os.environ["NPAC_HOME"], "runs", run_id), last)
    made = engines.create

    def create(name: str, options: Mapping[str, Any]) -> Any:
        return InstantEngine() if name == "instant" else made(name, options)

    engines.create = create
    options = RunOptions(poll_seconds=1.0)
    begun, cpu_begun = time.perf_counter(), cpu()
    if what == "run":
        result = api.run(
            rest[0], run_id=run_id, engine=engine, progress=meter, run_options=options, handle_signals=True
        )
    else:
        result = api.resume(run_id, progress=meter, run_options=options, handle_signals=True)
    print(
        json.dumps(
            {
                "state": result.state,
                "exit_code": result.exit_code,
                "seconds": time.perf_counter() - begun,
                "cpu": cpu() - cpu_begun,
                "to_first_wave": meter.first - begun,
                "cpu_to_first_wave": meter.cpu_first - cpu_begun,
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "ledger": size(Path(os.environ["NPAC_HOME"], "runs", run_id)),
                "samples": meter.samples,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1:])
