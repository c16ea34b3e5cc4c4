"""What running costs beside the jobs: the driver's own processor time, its memory, and its ledger's growth.

    a wave on the embedded engine     the driver's processor time, jobs and their supervisors not counted
    ten thousand waves                on an engine whose jobs end at once: memory and ledger, wave by wave
    a ledger of 10,000 events         resumed: from the command to its next wave

Machines are slower when others use them, in processor time too.  So a fixed piece of work, the *unit*, is
done over and over beside each measurement, and a result is given in milliseconds and in units: the first
depends on the moment, the second hardly.  ``quiet`` is what it comes to at the pace of the fastest unit seen.

Ledgers are kept on the disk for the embedded engine and for resume, and in memory for the ten thousand waves.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from generated import trivial, write
from measure import milliseconds, print_heading, print_table

DRIVEN = Path(__file__).with_name("driven.py")
EVENTS = 10_000
_MEMORY = Path("/dev/shm")


class Unit:
    """Does the fixed piece of work beside a block, again and again, and notes how long each took."""

    def __init__(self) -> None:
        self.taken: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Unit:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        while True:
            begun = time.thread_time()
            found: dict[str, int] = {}
            for number in range(20_000):
                found[str(number % 997)] = found.get(str(number % 991), 0) + number
            self.taken.append(time.thread_time() - begun)
            if self._over.wait(0.4):
                return


def main() -> None:
    """Measure, and print a table for each of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--waves", type=int, default=1_000, help="waves on the embedded engine (default 1000)"
    )
    parser.add_argument(
        "--many", type=int, default=10_000, help="waves of the instant engine (default 10000)"
    )
    given = parser.parse_args()
    print_heading("npac run")
    print(f"load: {' '.join(f'{one:.1f}' for one in os.getloadavg())}\n")
    embedded(given.waves)
    many(given.many)
    resumed()


def driven(home: Path, *arguments: str) -> tuple[dict[str, Any], list[float]]:
    """Let a driver run in a process of its own; gives what it measured, and the units beside it."""
    environment = {**os.environ, "NPAC_HOME": str(home)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with Unit() as unit:
        done = subprocess.run(
            [sys.executable, str(DRIVEN), *arguments], env=environment, stdout=subprocess.PIPE, check=True
        )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result, unit.taken


def embedded(waves: int) -> None:
    """Run a loop of commands that do nothing on the embedded engine."""
    with TemporaryDirectory() as folder:
        spec = write(Path(folder, "spec.yaml"), trivial(waves))
        result, units = driven(Path(folder, "home"), "run", str(spec), "bench", "local")
    demand(result, "succeeded")
    each = result["samples"]
    half = len(each) // 2
    rows = [figures(f"all {waves:,}", (result["cpu"] - result["cpu_to_first_wave"]) / waves, units)]
    if half > 1:
        rows.append(figures("of these, the first half", rate(each[: half + 1], "cpu"), units))
        rows.append(figures("of these, the second half", rate(each[half:], "cpu"), units))
    print_table(["a wave on the embedded engine", "driver's CPU", "units", "quiet"], rows)
    print(f"{result['seconds'] / waves * 1000:,.0f} ms a wave by the clock, its job and supervisor in it\n")


def many(waves: int) -> None:
    """Run as many waves as there can be in a program, on the engine whose jobs end at once."""
    with TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        spec = write(Path(folder, "spec.yaml"), trivial(waves))
        result, units = driven(Path(folder, "home"), "run", str(spec), "bench", "instant")
    demand(result, "succeeded")
    each = result["samples"]
    rows = []
    parts = 5
    for part in range(parts):
        some = each[part * len(each) // parts : (part + 1) * len(each) // parts]
        rows.append(
            [
                f"{some[0]['waves']:,} to {some[-1]['waves']:,}",
                *figures("", rate(some, "cpu"), units)[1:],
                f"{some[-1]['rss'] / (1 << 20):.1f} MiB",
                f"{rate(some, 'rss') / 1024:.2f} KiB",
                f"{some[-1]['ledger'] / (1 << 20):.1f} MiB",
                f"{rate(some, 'ledger') / 1024:.2f} KiB",
            ]
        )
    print_table(
        ["waves", "CPU a wave", "units", "quiet", "memory", "more a wave", "ledger", "more a wave"], rows
    )


def resumed() -> None:
    """Leave a run whose ledger has 10,000 events, and take it up again."""
    waves = EVENTS // 7  # so many events has a wave that goes well
    with TemporaryDirectory() as folder:
        spec = write(Path(folder, "spec.yaml"), trivial(waves + 5))
        home = Path(folder, "home")
        left, _ = driven(home, "run", str(spec), "bench", "instant", str(waves))
        demand(left, "running")
        result, units = driven(home, "resume", "bench", "instant")
    demand(result, "succeeded")
    rows = [
        [
            f"{EVENTS:,}",
            milliseconds(result["to_first_wave"]),
            *figures("", result["cpu_to_first_wave"], units)[1:],
        ]
    ]
    print_table(
        ["resume of a ledger of so many events", "time to the next wave", "CPU", "units", "quiet"], rows
    )


def figures(name: str, seconds: float, units: list[float]) -> list[str]:
    """Give a processor time as it was, in units, and at the pace of the fastest unit."""
    unit = median(units)
    return [name, milliseconds(seconds), f"{seconds / unit:.2f}", milliseconds(seconds / unit * min(units))]


def rate(samples: list[dict[str, float]], what: str) -> float:
    """Give how much more of something there is with each wave, over these samples."""
    first, last = samples[0], samples[-1]
    return (last[what] - first[what]) / max(1.0, last["waves"] - first["waves"])


def demand(result: dict[str, Any], state: str) -> None:
    """Refuse to report on a run that did not go as it was meant to."""
    if result["state"] != state:
        raise RuntimeError(f"the run is {result['state']}, not {state}")


if __name__ == "__main__":
    main()
