"""``npac check`` beside the floor and other checkers, and how it grows.  Run it with ``make bench``.

The floor F is a Python process that imports click and reads the same files with the C YAML loader: what
is above it is npac's own.  check-jsonschema (with npac's schema) and yamllint take part when they are
installed beside this Python: ``pip install check-jsonschema yamllint``.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from generated import chain, dense, write
from measure import (
    ROOT,
    floor,
    measure,
    middle,
    milliseconds,
    npac,
    print_heading,
    print_table,
    program,
    specs,
)

SIZES = (1, 100, 1_000, 10_000)

DENSE = {
    "states of work": "  s{i}: {run: {argv: [x]}, next: s{j}}\n",
    "states of nothing": "  s{i}: {next: s{j}}\n",
    "unknown next": "  s{i}: {run: {argv: [a]}, next: t{i}}\n",
    "states never reached": "  s{i}: {run: {argv: [a]}, terminal: true}\n",
    "malformed tokens": (
        "  s{i}: {run: {argv: ['{{confg.k{i}}}', '{{config.k{i} | bas}}', '{{config.a']}, next: s{j}}\n"
    ),
}
"""The shapes of spec that take longest for their size."""


def main() -> None:
    """Measure, and print one table for each comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=15, help="turns of each comparison (default 15)")
    turns = parser.parse_args().turns
    print_heading("npac check")
    name, paths = specs()
    one = middle(paths)
    against_others(f"one spec ({one.name})", [one], turns)
    against_others(name, paths, turns)
    growth(max(3, turns // 3))
    megabytes(max(3, turns // 5))


def against_others(title: str, paths: list[Path], turns: int) -> None:
    """Compare npac check with the floor and the other checkers over some files."""
    names = [str(path) for path in paths]
    schema = str(ROOT / "schemas" / "npac.workflow.schema.json")
    contenders = [floor(paths), npac("check", *names, name="npac check")]
    for other in (
        program("check-jsonschema", "--schemafile", schema, *names),
        # its findings about style are no failure
        program("yamllint", *names, allowed=(0, 1)),
    ):
        if other is not None:
            contenders.append(other)
    results = measure(contenders, turns)
    base, ours = results[0], results[1]
    rows = [
        [
            result.name,
            milliseconds(result.time),
            f"{result.times(base):.2f} F",
            f"{result.times(ours):.2f}",
            milliseconds(result.cpu),
            f"{result.memory:.1f} MiB",
            f"{result.memory_times(base):.2f} F",
        ]
        for result in results
    ]
    print_table([title, "time", "times", "npac = 1", "cpu", "memory", "times"], rows)


def growth(turns: int) -> None:
    """Compare chains of more and more states, by the processor's time; one state stands for the start."""
    with TemporaryDirectory() as folder:
        checks = [npac("check", str(write(Path(folder, f"{size}.yaml"), chain(size)))) for size in SIZES]
        # what a hundred states add is little beside the start, and takes more turns to tell from noise
        results = measure(checks[:2], 4 * turns) + measure(checks[2:], turns)
    start, hundred = results[0].cpu, (results[1].cpu - results[0].cpu) / (SIZES[1] - 1)
    rows = []
    for size, result in zip(SIZES, results, strict=True):
        row = [f"{size:,}", milliseconds(result.time), milliseconds(result.cpu)]
        if size > 1:
            own = (result.cpu - start) / (size - 1)
            row += [f"{own * 1e6:,.0f} µs", f"{own / hundred:.2f}"]
        else:
            row += ["", ""]
        rows.append([*row, f"{result.memory:.1f} MiB"])
    columns = ["states in a chain", "time", "cpu", "a state, less the start", "to 100 states", "memory"]
    print_table(columns, rows)


def megabytes(turns: int) -> None:
    """Measure specs of 1 MB that are as dense as specs can be, beside reading them."""
    rows = []
    with TemporaryDirectory() as folder:
        for name, state in DENSE.items():
            path = write(Path(folder, "dense.yaml"), dense(1_000_000, state))
            base, ours = measure([floor([path]), npac("check", str(path), allowed=(0, 1))], turns)
            rows.append(
                [
                    name,
                    milliseconds(base.time),
                    milliseconds(ours.time),
                    f"{ours.times(base):.2f} F",
                    f"{ours.memory:.1f} MiB",
                ]
            )
    print_table(["1 MB of", "floor F", "npac check", "times", "memory"], rows)


if __name__ == "__main__":
    main()
