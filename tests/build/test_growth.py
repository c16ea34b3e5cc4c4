"""Compiling takes time in proportion to the program, to the screen and to a folder."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from npac.api import build, compile, preview

HEAD = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: large}
config: {base: "s3://bucket/{{run.id}}"}
resources:
  default: {cloud: kubernetes, cpus: "4+", memory: 16Gi}
states:
"""
_TRIES = 4
_MOST = 9.0
"""Four times the program may take nine times as long: noise makes less of four, and a square is sixteen."""


def _work(name: str, *, folder: str = "", more: str = "") -> str:
    uri = f"{{{{config.base}}}}/{folder}{name}"
    return f'  {name}: {{run: {{argv: [acme, "{uri}"]}}, outputs: [{{uri: "{uri}", schema: part}}]{more}}}\n'


def _chain(count: int) -> Iterator[str]:
    for at in range(count):
        inputs = f", inputs: [{{uri: '{{{{state.s{at - 1}.uri}}}}', schema: part}}]" if at else ""
        follow = f", next: s{at + 1}" if at + 1 < count else ", terminal: true"
        yield _work(f"s{at}", more=inputs + follow)


def _group(count: int) -> Iterator[str]:
    members = ", ".join(f"m{at}" for at in range(count))
    yield f"  all: {{parallel: [{members}], maxConcurrency: 16, next: end}}\n  end: {{terminal: true}}\n"
    for at in range(count):
        yield _work(f"m{at}")


def _loop(body: str, *states: str) -> Callable[[int], Iterator[str]]:
    def make(count: int) -> Iterator[str]:
        yield f"  again: {{{body}, loop: {{max: {count}}}, next: end}}\n  end: {{terminal: true}}\n"
        yield from states

    return make


def _decided(count: int) -> Iterator[str]:
    loop = f"loop: {{max: {count}, until: promote_checkpoint}}"
    yield f"  again: {{sequence: [try, judge], next: end, {loop}}}\n  end: {{terminal: true}}\n"
    yield _work("try", folder="{{loop.again}}/")
    yield (
        "  judge: {run: {argv: [judge, '{{loop.again}}']}, writesDecision: true, outputs: "
        "[{uri: '{{config.base}}/{{loop.again}}/d.json', schema: npa.workflow.decision.v1}]}\n"
    )


def _groups(count: int) -> Iterator[str]:
    for at in range(count):
        outputs = f"[{{uri: '{{{{config.base}}}}/g{at}', schema: part}}]"
        follow = f"next: g{at + 1}" if at + 1 < count else "terminal: true"
        yield f"  g{at}: {{sequence: [s{at}], outputs: {outputs}, {follow}}}\n"
        yield _work(f"s{at}")


SHAPES: dict[str, tuple[int, Callable[[int], Iterator[str]]]] = {
    "a chain": (40, _chain),
    "a group in batches": (40, _group),
    "a loop": (40, _loop("sequence: [s]", _work("s", folder="{{loop.again}}/"))),
    "a loop of many states": (
        10,
        _loop(
            f"sequence: [{', '.join(f's{at}' for at in range(5))}]",
            *(_work(f"s{at}", folder="{{loop.again}}/") for at in range(5)),
        ),
    ),
    "a loop of groups": (
        15,
        _loop(
            "sequence: [all]",
            "  all: {parallel: [a, b, c]}\n",
            *(_work(name, folder="{{loop.again}}/") for name in "abc"),
        ),
    ),
    "a loop in a loop": (
        10,
        _loop(
            "sequence: [inner]",
            "  inner: {sequence: [s], loop: {max: 5}}\n",
            _work("s", folder="{{loop.again}}/{{loop.inner}}/"),
        ),
    ),
    "a loop that is left by decision": (25, _decided),
    "groups with outputs": (40, _groups),
}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where there is such a place: what a disk takes is measured elsewhere."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="npac-growth-", dir=memory) as folder:
        yield Path(folder)


def _spec(folder: Path, name: str, count: int) -> Path:
    path = folder / f"{count}.yaml"
    path.write_text(HEAD + "".join(SHAPES[name][1](count)), encoding="utf-8")
    return path


def _screen(spec: Path, run_id: str | None) -> None:
    for _ in preview(compile(spec), run_id=run_id):
        pass


def _folder(spec: Path, run_id: str | None) -> None:
    out = spec.with_suffix("")
    compiled = compile(spec)
    build(compiled, out, run_id=run_id)
    build(compiled, out, run_id=run_id)  # over itself
    shutil.rmtree(out)


def _seconds(action: Callable[[Path, str | None], None], spec: Path, run_id: str | None) -> float:
    gc.collect()
    begin = time.process_time()  # what other processes do does not count
    action(spec, run_id)
    return time.process_time() - begin


CASES: list[tuple[str, Callable[[Path, str | None], None], str | None]] = [
    (name, action, None) for name in SHAPES for action in (_screen, _folder)
]
CASES += [(name, _folder, "run-1") for name in ("a chain", "a loop that is left by decision")]


@pytest.mark.parametrize(("name", "action", "run_id"), CASES)
def test_four_times_the_program_takes_about_four_times_as_long(
    place: Path, name: str, action: Callable[[Path, str | None], None], run_id: str | None
) -> None:
    size = SHAPES[name][0]
    small, large = _spec(place, name, size), _spec(place, name, 4 * size)
    _seconds(action, small, run_id)  # imports
    ratios: list[float] = []
    while len(ratios) < _TRIES:
        before = min(_seconds(action, small, run_id) for _ in range(2))
        ratios.append(_seconds(action, large, run_id) / before)
        if ratios[-1] < _MOST:
            return
    pytest.fail(
        f"{name}: four times the program took {', '.join(f'{ratio:.1f}' for ratio in ratios)} times as long"
    )
