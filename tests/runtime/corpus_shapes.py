"""Programs of published specs whose steps do nothing but write what they declare."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from npac import api
from npac.ir.codec import program_from_json, program_to_json
from npac.ir.program import Program, Step, ToolSetup
from npac.ir.values import link
from npac.ledger.stores.file import path_of
from tests.corpus.place import given, spec_path
from tests.runtime.programs import Bench


def shape(bench: Bench, name: str, promote_after: int) -> Program:
    """Give the program of a published spec with its artifacts in files and its own commands left out.

    Each step leaves a trace and writes each of its outputs; a decision loops back until it was written
    ``promote_after`` times by its state since it last promoted.  What triggers wait for is there.
    """
    path = spec_path(name)
    if not path.exists():
        pytest.skip(f"the published specs are not here ({path})")
    program = api.compile(path, given(name)).program
    text = json.dumps(program_to_json(program)).replace("s3://", f"file://{bench.work}/")
    program = program_from_json(json.loads(text))
    for wave in program.waves():
        for trigger in wave.triggers:
            folder = Path(path_of(_filled(trigger.uri)))
            folder.mkdir(parents=True, exist_ok=True)
            for number in range(trigger.min_objects):
                (folder / f"object-{number}").write_text("here")
    return replace(program, steps=tuple(_plain(bench, step, promote_after) for step in program.steps))


def _filled(uri: object) -> str:
    return link(uri, {"run.id": "run"})  # type: ignore[arg-type]


def _plain(bench: Bench, step: Step, promote_after: int) -> Step:
    lines = [bench.count(step.state)]
    for output in step.outputs:
        uri = _filled(output.uri)
        place = path_of(uri)
        if output.kind == "directory":
            place = os.path.join(place, "part")
        quoted = shlex.quote(place)
        lines.append(f"mkdir -p {shlex.quote(os.path.dirname(place))}")
        if step.writes_decision and uri == _filled(step.decision_uri):
            mine = f"{bench.work}/decided-{step.state}"
            lines += [
                f"echo x >> {mine}",
                f"said=loop_back; [ $(($(wc -l < {mine}) % {promote_after})) != 0 ] || said=promote",
                f'echo "{{\\"decision\\": \\"$said\\"}}" > {quoted}',
            ]
        else:
            lines.append(f"date +%s%N > {quoted}")
    return Step(
        step.state,
        shell="\n".join(lines),
        inputs=step.inputs,
        outputs=step.outputs,
        writes_decision=step.writes_decision,
        decision_uri=step.decision_uri,
        setup=ToolSetup(),
    )
