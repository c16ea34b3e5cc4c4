"""The documents of real specs: those of the corpus, of ``workflows/``, and of specs with odd names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from npac.api import Options, compile
from npac.backends.skypilot.documents import LaunchValues, link_documents, unlinked
from npac.backends.skypilot.emit import to_yaml
from npac.backends.skypilot.names import member_name
from npac.ir.linking import LinkRecord
from npac.ir.program import Program, Wave
from npac.ir.walk import assume, walk
from tests.corpus.place import ASSUMPTIONS, given, names, spec_path
from tests.golden.cases import CASES, WORKFLOWS, specs_below
from tests.ir.programs import chain, group, single


class Compiled(NamedTuple):
    """One text that SkyPilot has to take, and what it must find in it: state and nodes of each task."""

    title: str
    text: str
    tasks: list[tuple[str, int]]


def batch_documents(program: Program, wave: Wave, batch: int, link: LinkRecord) -> list[dict[str, Any]]:
    trees = unlinked(program, wave, batch)
    made = link_documents(trees, link, LaunchValues(1, 1, "npa-launch-0", wave.number))
    # What a launch adds.
    for tree, document in zip(trees, made, strict=True):
        if tree.get("secret_names"):
            document["secrets"] = dict.fromkeys(tree["secret_names"], "x")
    return made


def batch_members(program: Program, wave: Wave, batch: int) -> list[tuple[str, int]]:
    steps = [program.steps[wave.members[index].step] for index in wave.batches[batch]]
    return [(step.state, step.num_nodes) for step in steps]


def of_program(name: str, program: Program, link: LinkRecord) -> Iterator[Compiled]:
    """Give the document of every batch, and every walk's serial waves as one pipeline."""
    single_tasks: dict[int, dict[str, Any]] = {}
    for wave in program.waves():
        for batch in range(len(wave.batches)):
            documents = batch_documents(program, wave, batch, link)
            yield Compiled(
                f"{name} {wave.id}.{batch}", to_yaml(documents), batch_members(program, wave, batch)
            )
            if len(wave.members) == 1:
                single_tasks[wave.number] = documents[0]
    seen: set[tuple[int, ...]] = set()
    for assumption in ASSUMPTIONS:
        decide = assume(program.default_assumption if assumption == "default" else assumption)
        waves = [node for node in walk(program, decide) if isinstance(node, Wave) and len(node.members) == 1]
        key = tuple(wave.number for wave in waves)
        if len(waves) < 2 or key in seen:
            continue
        seen.add(key)
        text = to_yaml([{"name": member_name(program.workflow)}, *(single_tasks[n] for n in key)])
        yield Compiled(f"{name} pipeline", text, [batch_members(program, wave, 0)[0] for wave in waves])


def link_of(options: Options) -> LinkRecord:
    return LinkRecord(
        "demo",
        source_uri="s3://bucket/npa-src/npa",
        endpoint_url="https://storage.example",
        pins=dict(options.pins or {}),
    )


@lru_cache(maxsize=1)
def of_corpus() -> tuple[Compiled, ...]:
    found: list[Compiled] = []
    for name in names():
        options = given(name)
        found += of_program(name, compile(spec_path(name), options).program, link_of(options))
    return tuple(found)


@lru_cache(maxsize=1)
def of_workflows() -> tuple[Compiled, ...]:
    given_vars = {case.spec: case.vars for case in CASES if case.run_id is None}
    found: list[Compiled] = []
    for spec in specs_below(WORKFLOWS):
        options = Options(vars=given_vars.get(spec, {}))
        found += of_program(spec, compile(WORKFLOWS / spec, options).program, link_of(options))
    return tuple(found)


NAMES = ("a", "a.b", "a-", "a...b", "a-_-b.", "x" * 96, "1..", "on", "007", "1e3", "A_B")


def odd_names() -> list[Compiled]:
    link = LinkRecord("demo")
    step = single().steps[0]
    steps = tuple(replace(step, state=name) for name in NAMES)
    return [
        *of_program("odd names", chain(*steps, workflow="odd...names"), link),
        *of_program("odd members", group(*steps, name="fan.out"), link),
    ]
