"""Measuring whole processes side by side: time by the clock, and peak memory.

Machines drift: they warm up, and others use them.  So the contenders of a comparison take turns
(A B C, A B C, …), what is reported are medians, and a ratio is the median of the ratios inside each
turn, not the ratio of two medians.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
CORPUS = Path(os.environ.get("NPAC_CORPUS") or ROOT / ".." / "shared" / "corpus")

NPAC = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from npac.cli.main import entry; entry()"
FLOOR = """\
import sys
import click, yaml
for path in sys.argv[1:]:
    with open(path, "rb") as stream:
        yaml.compose(stream, Loader=yaml.CSafeLoader)
"""

# Every contender may keep its bytecode, as an installed program does.
_ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PYTHONDONTWRITEBYTECODE", "FORCE_COLOR")
}


@dataclass(frozen=True, slots=True)
class Contender:
    """A command that takes part; ``allowed`` are the exit codes that are no failure."""

    name: str
    command: Sequence[str]
    allowed: tuple[int, ...] = (0,)
    new: Path | None = None
    """A folder that is removed before each run."""

    def on_new(self, folder: Path) -> Contender:
        """Give the same command, for which ``folder`` is not there yet."""
        return replace(self, new=folder)


@dataclass(slots=True)
class Measured:
    """What a contender's runs took, a value for each turn.

    ``seconds`` are those of the clock, ``cpu_seconds`` those of the processor (which other work on the
    machine disturbs less), ``mebibytes`` the peak of resident memory.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    mebibytes: list[float] = field(default_factory=list)

    def add(self, seconds: float, cpu_seconds: float, mebibytes: float) -> None:
        """Note one run."""
        self.seconds.append(seconds)
        self.cpu_seconds.append(cpu_seconds)
        self.mebibytes.append(mebibytes)

    @property
    def time(self) -> float:
        """Median seconds."""
        return median(self.seconds)

    @property
    def cpu(self) -> float:
        """Median seconds of the processor."""
        return median(self.cpu_seconds)

    @property
    def memory(self) -> float:
        """Median of the peak memory, in MiB."""
        return median(self.mebibytes)

    def times(self, other: Measured) -> float:
        """How many times as long as the other it took."""
        return median(mine / theirs for mine, theirs in zip(self.seconds, other.seconds, strict=True))

    def memory_times(self, other: Measured) -> float:
        """How many times the memory of the other it took."""
        return self.memory / other.memory


def npac(*arguments: str, name: str = "npac", allowed: tuple[int, ...] = (0,)) -> Contender:
    """Give the ``npac`` of this checkout with some arguments."""
    return Contender(name, [sys.executable, "-c", NPAC, *arguments], allowed)


def floor(paths: Sequence[Path]) -> Contender:
    """Give the floor: a Python process that imports click and reads the same files with the C loader."""
    return Contender("floor F", [sys.executable, "-c", FLOOR, *map(str, paths)])


def program(name: str, *arguments: str, allowed: tuple[int, ...] = (0,)) -> Contender | None:
    """Give a program that is installed beside this Python; None when it is not."""
    path = Path(sys.executable).with_name(name)
    return Contender(name, [str(path), *arguments], allowed) if path.exists() else None


def measure(contenders: Sequence[Contender], turns: int) -> list[Measured]:
    """Run the contenders in turns, after one turn that is not counted, and give what each took.

    Raises RuntimeError when a command fails.
    """
    measured = [Measured(contender.name) for contender in contenders]
    for turn in range(turns + 1):
        for contender, result in zip(contenders, measured, strict=True):
            taken = _run(contender)
            if turn:
                result.add(*taken)
    return measured


def once(contender: Contender) -> Measured:
    """Run a contender a single time, for what takes so long that its start no longer counts."""
    measured = Measured(contender.name)
    measured.add(*_run(contender))
    return measured


def _run(contender: Contender) -> tuple[float, float, float]:
    if contender.new is not None:
        shutil.rmtree(contender.new, ignore_errors=True)
    begin = time.perf_counter()
    process = subprocess.Popen(
        contender.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, env=_ENVIRONMENT
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = code = os.waitstatus_to_exitcode(status)
    if code not in contender.allowed:
        raise RuntimeError(f"{contender.name} ended with {code}: {' '.join(contender.command)[:300]}")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10  # bytes there, KiB elsewhere
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit


def specs() -> tuple[str, list[Path]]:
    """Give the specs to measure with and what they are called: the corpus, or the shipped workflows."""
    found = sorted((CORPUS / "specs").glob("*.yaml"))
    if found:
        return f"{len(found)} corpus specs", found
    found = sorted(
        path for path in (ROOT / "workflows").rglob("*.yaml") if not path.name.endswith(".test.yaml")
    )
    return f"{len(found)} shipped workflows", found


def middle(paths: Sequence[Path]) -> Path:
    """Give the file of middling size."""
    return sorted(paths, key=lambda path: path.stat().st_size)[len(paths) // 2]


def print_heading(title: str) -> None:
    """Print what is measured, when, and on what."""
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    machine = f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}"
    print(f"{title}\n{when}, {machine}, {os.cpu_count()} CPUs\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; the first column is text, the others are numbers."""
    table = [list(columns), *map(list, rows)]
    widths = [max(len(row[at]) for row in table) for at in range(len(columns))]
    for index, row in enumerate(table):
        cells = [
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
        if not index:
            print("  ".join("-" * width for width in widths))
    print()


def milliseconds(seconds: float) -> str:
    """Give a time as text in milliseconds."""
    return f"{seconds * 1000:,.1f} ms" if seconds < 10 else f"{seconds:,.2f} s"
