"""The readable form of a program, in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from npac.build.pretty import pretty_text
from npac.ir.codec import NODE, STEP, program_to_json
from npac.ir.program import Program


def program_view(program: Program) -> Iterator[bytes]:
    """Give ``program.json``: sorted keys, indented by two; no piece holds more than one node or step."""
    outline = program_to_json(replace(program, steps=(), nodes=()))
    lists = {"nodes": (NODE, program.nodes), "steps": (STEP, program.steps)}
    mark = "{\n"
    for key in sorted(outline):
        yield f"{mark}  {pretty_text(key)}: ".encode()
        mark = ",\n"
        form, items = lists.get(key, (None, ()))
        if form is None or not items:
            yield pretty_text(outline[key], 2).encode()
            continue
        for at, item in enumerate(items):
            yield f"{',' if at else '['}\n    {pretty_text(form.encode(item), 4)}".encode()
        yield b"\n  ]"
    yield b"\n}\n"
