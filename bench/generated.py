"""Specs of any size, made for measuring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

HEAD = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: generated}
config:
  bucket: some-bucket
  epochs: "3"
  base: "s3://{{config.bucket}}/{{run.id}}"
resources:
  default: {cloud: kubernetes, cpus: "4+", memory: 16Gi}
"""


def chain(count: int) -> Iterator[str]:
    """Give a chain: each state reads what the one before wrote."""
    yield HEAD
    yield "initial: s0\nstates:\n"
    for number in range(count):
        yield from _work(f"s{number}")
        if number:
            yield f"    inputs: [{{uri: '{{{{state.s{number - 1}.uri}}}}', schema: example.part.v1}}]\n"
        yield f"    next: s{number + 1}\n" if number + 1 < count else "    terminal: true\n"


def group(count: int, at_once: int) -> Iterator[str]:
    """Give one parallel group of ``count`` members, ``at_once`` of them in a batch."""
    yield HEAD
    yield f"initial: all\nstates:\n  all:\n    maxConcurrency: {at_once}\n    next: end\n    parallel:\n"
    for number in range(count):
        yield f"      - m{number}\n"
    yield "  end: {terminal: true}\n"
    for number in range(count):
        yield from _work(f"m{number}")


def loop(iterations: int, count: int) -> Iterator[str]:
    """Give a loop over a sequence of ``count`` states that write a place of their own each time."""
    yield HEAD
    yield "initial: again\nstates:\n  again:\n"
    yield f"    loop: {{max: {iterations}}}\n    next: end\n    sequence:\n"
    for number in range(count):
        yield f"      - s{number}\n"
    yield "  end: {terminal: true}\n"
    for number in range(count):
        yield from _work(f"s{number}", "{{loop.again}}/")


def commands(iterations: int, count: int) -> Iterator[str]:
    """Give a loop over ``count`` states whose commands name the iteration: no two documents are alike."""
    yield HEAD
    yield "initial: again\nstates:\n  again:\n"
    yield f"    loop: {{max: {iterations}}}\n    next: end\n    sequence:\n"
    for number in range(count):
        yield f"      - s{number}\n"
    yield "  end: {terminal: true}\n"
    for number in range(count):
        yield from _work(f"s{number}", "{{loop.again}}/", ', --round, "{{loop.again}}"')


def trivial(iterations: int) -> Iterator[str]:
    """Give a loop over one command that does nothing: as many waves as iterations."""
    yield "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: trivial}\n"
    yield "resources:\n  default: {cloud: kubernetes, cpus: 1+, memory: 1Gi}\n"
    yield "initial: again\nstates:\n  again:\n"
    yield f"    loop: {{max: {iterations}}}\n    next: end\n    sequence: [nothing]\n"
    yield "  end: {terminal: true}\n  nothing:\n    run: {argv: ['true']}\n"


def dense(size: int, state: str, end: str = "") -> Iterator[str]:
    """Give about ``size`` bytes of states, each made from ``state``: {i} is its number, {j} the next one."""
    yield "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: dense}\nstates:\n"
    number = 0
    while size > 200:
        line = state.replace("{i}", str(number)).replace("{j}", str(number + 1))
        yield line
        size -= len(line)
        number += 1
    yield f"  s{number}: {{terminal: true}}\n{end}"


def write(path: Path, lines: Iterable[str]) -> Path:
    """Write a spec to a file and give its path."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return path


def _work(name: str, folder: str = "", words: str = "") -> Iterator[str]:
    yield (
        f"  {name}:\n"
        "    run:\n"
        f'      argv: [python3, -m, trainer, --part, {name}, --epochs, "{{{{config.epochs}}}}"{words}]\n'
        f'    outputs: [{{uri: "{{{{config.base}}}}/{folder}{name}.json", schema: example.part.v1}}]\n'
    )
