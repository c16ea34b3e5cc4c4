"""Running again a wave that has finished, and all that followed it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from npac.ir.program import Program, Wave, label
from npac.runtime.amending import in_flight
from npac.runtime.needs import walked
from npac.runtime.options import Refused
from npac.runtime.view import RunView


@dataclass(frozen=True, slots=True)
class Rewind:
    """Where a run goes back to; see the event ``run-rewound``."""

    node: str
    set_aside: tuple[str, ...]
    unchecked: tuple[str, ...]


def rewind(view: RunView, program: Program, wanted: str) -> Rewind:
    """Say what runs again from a wave on, which is named by its node id, its number, its label or a state.

    Raises :class:`Refused` for a wave that has not begun, for a name that several have, and while a
    job of what is to run again has not ended.
    """
    path, frontier = walked(view, program)
    way = [*path, frontier]
    at = way.index(_find(view, program, way, wanted))
    last = view.waves.get(frontier)
    if last is not None and last.last.in_flight:
        command = f"npac resume {view.run_id} --rerun-from {shlex.quote(way[at])}"
        raise in_flight(view, last, command, "would have to run again")
    begun = [id for id in way[at:] if id in view.waves or id in view.decisions]
    return Rewind(way[at], tuple(begun), tuple(way[at:]))


def _find(view: RunView, program: Program, way: list[str], wanted: str) -> str:
    index = program.index()
    begun = [node for id in way if id in view.waves and isinstance(node := index[id], Wave)]
    if any(node.id == wanted for node in begun):
        return wanted
    found = [
        node.id
        for node in begun
        if wanted in (str(node.number), label(node, program), *view.waves[node.id].states)
    ]
    if len(found) == 1:
        return found[0]
    known = found or [node.id for node in begun]
    listed = ", ".join(f"{view.waves[id].number} {id}" for id in known[:8]) + (
        ", …" if len(known) > 8 else ""
    )
    if found:
        raise Refused(
            f"several waves of run {view.run_id} are called {wanted}: {listed}",
            remedy="Name one of them by its number or its node",
        )
    raise Refused(
        f"run {view.run_id} has begun no wave {wanted!r} on the path that it has taken",
        remedy=f"Its waves so far: {listed or 'none yet'}",
    )
