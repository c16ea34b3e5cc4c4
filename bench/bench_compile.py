"""``npac compile`` beside the floor, and what large programs take.  Run it with ``make bench``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from generated import chain, group, loop, write
from measure import (
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
)


def main() -> None:
    """Measure, and print one table for each comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=15, help="turns of the comparison (default 15)")
    turns = parser.parse_args().turns
    print_heading("npac compile")
    against_floor(turns)
    large()


def against_floor(turns: int) -> None:
    """Compare the compilation of one spec, to the screen and to a build, with reading the file."""
    one = middle(specs()[1])
    with TemporaryDirectory() as folder:
        results = measure(
            [
                floor([one]),
                npac("check", str(one), name="npac check"),
                npac("compile", str(one), name="npac compile, to the screen"),
                npac("compile", str(one), "-o", folder, name="npac compile, to a build"),
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


def large() -> None:
    """Compile large programs, once each; they go to the screen, so that no disk is measured."""
    rows = []
    with TemporaryDirectory() as folder:
        for number, (title, steps, lines) in enumerate(LARGE):
            path = write(Path(folder, f"{number}.yaml"), lines)
            result = once(npac("compile", str(path)))
            rows.append(
                [
                    title,
                    f"{path.stat().st_size / (1 << 20):.1f} MiB",
                    milliseconds(result.time),
                    f"{result.time / steps * 1e6:,.0f} µs",
                    f"{result.memory:,.0f} MiB",
                ]
            )
    print_table(["a program of", "spec", "time", "a step", "memory"], rows)


if __name__ == "__main__":
    main()
