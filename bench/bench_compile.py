"""``npac compile`` beside the floor, and what large programs take.  Run it with ``make bench``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from generated import chain, commands, group, loop, write
from measure import (
    Contender,
    Measured,
    floor,
    measure,
    middle,
    milliseconds,
    npac,
    once,
    print_heading,
    print_table,
    specs,
)

LARGE: tuple[tuple[str, int, Iterator[str]], ...] = (
    ("a chain of 10,000 states", 10_000, chain(10_000)),
    ("a chain of 100,000 states", 100_000, chain(100_000)),
    ("a group of 10,000, 64 at a time", 10_000, group(10_000, 64)),
    ("1,000 iterations of 20 states", 20_000, loop(1_000, 20)),
    ("1,000 iterations of 20 commands", 20_000, commands(1_000, 20)),
    ("10,000 iterations of a command", 10_000, commands(10_000, 1)),
)
"""What it is, how many tasks are run, and the spec."""


def main() -> None:
    """Measure, and print one table for each comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=15, help="turns of the comparison (default 15)")
    parser.add_argument(
        "--most", type=int, default=100_000, help="largest program, in tasks (default 100000)"
    )
    given = parser.parse_args()
    print_heading("npac compile")
    against_floor(given.turns)
    large(given.most)


def against_floor(turns: int) -> None:
    """Compare the compilation of one spec, to the screen and to a build, with reading the file."""
    one = middle(specs()[1])
    with TemporaryDirectory() as folder:
        results = measure(
            [
                floor([one]),
                npac("check", str(one), name="npac check"),
                npac("compile", str(one), name="npac compile, to the screen"),
                _build(one, Path(folder, "new"), "npac compile, to a new build", new=True),
                _build(one, Path(folder, "same"), "npac compile, to the same build again", new=False),
            ],
            turns,
        )
    base = results[0]
    rows = [
        [
            result.name,
            milliseconds(result.time),
            f"{result.times(base):.2f} F",
            f"{result.memory:.1f} MiB",
            f"{result.memory_times(base):.2f} F",
        ]
        for result in results
    ]
    print_table([f"one spec ({one.name})", "time", "times", "memory", "times"], rows)


def _build(spec: Path, folder: Path, name: str, *, new: bool) -> Contender:
    contender = npac("compile", str(spec), "-o", str(folder), name=name)
    return contender.on_new(folder) if new else contender


def large(most: int) -> None:
    """Compile large programs, once each: to the screen, where no disk is measured, and to a build."""
    rows = []
    for title, tasks, lines in LARGE:
        if tasks > most:
            continue
        with TemporaryDirectory() as folder:
            path = write(Path(folder, "large.yaml"), lines)
            size = f"{path.stat().st_size / (1 << 20):.1f} MiB"
            shown = once(npac("compile", str(path)))
            rows.append([title, size, *_figures("screen", shown, tasks)])
            built = once(npac("compile", str(path), "-o", str(Path(folder, "build"))))
            rows.append(["", "", *_figures("build", built, tasks)])
    print_table(["a program of", "spec", "to", "time", "CPU", "CPU of a task", "memory"], rows)


def _figures(where: str, result: Measured, tasks: int) -> list[str]:
    return [
        where,
        milliseconds(result.time),
        milliseconds(result.cpu),
        f"{result.cpu / tasks * 1e6:,.0f} µs",
        f"{result.memory:,.0f} MiB",
    ]


if __name__ == "__main__":
    main()
