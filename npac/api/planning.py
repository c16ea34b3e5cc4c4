"""Planning specs and builds: the steps and waves of one path or of the whole program, as data and as text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from npac.api.checking import DEFAULTS, Options, PathLike, through
from npac.api.compiling import compile_target, program_of, valid_run_id
from npac.checking import Checked
from npac.errors import NpacError
from npac.syntax.nearest import nearest

if TYPE_CHECKING:
    from npac.ir.program import Node, Program
    from npac.report.analysis import Analysis


ANY_RUN = "RUN-ID"
"""The run id of a plan for no run in particular."""


class Planned(NamedTuple):
    """The program of a spec or a build, and the path that was chosen through it.

    ``checked`` is what a check of the spec gave; None for a build, which was checked when it was made.
    ``assume`` is the assumption as it was understood, ``decided`` whether single gates were decided.
    ``path`` are the nodes walked, from the entry to the end; None when nothing was assumed or decided,
    which means the whole program.
    """

    program: Program
    checked: Checked | None
    run_id: str
    assume: str = ""
    path: tuple[Node, ...] | None = None
    decided: bool = False
    pins: Mapping[str, str] = {}
    """Images as written, and what takes their place when the plan is run; so for ``accelerators``."""
    accelerators: Mapping[str, str] = {}

    def as_data(self) -> dict[str, Any]:
        """Give the plan as data: ``steps`` and ``waves`` of the path, else ``nodes`` and ``edges``."""
        from npac.ir.canonical import digest
        from npac.ir.plan import graph_data, plan_data

        answer = {
            "workflow": self.program.workflow,
            "run_id": self.run_id,
            "assume": self.assume,
            "digest": digest(self.program),
            **({"pins": dict(self.pins)} if self.pins else {}),
            **({"accelerators": dict(self.accelerators)} if self.accelerators else {}),
        }
        if self.path is None:
            return {**answer, **graph_data(self.program, self._late())}
        return {**answer, **plan_data(self.program, self.path, self._late())}

    def analysis(self) -> Analysis:
        """Say what the plan asks of the world: its longest chain, accelerators, secrets, inputs."""
        from npac.report.analysis import analyse

        return analyse(self.program, self._late(), self.path)

    def as_json(self) -> str:
        """Give the plan and, as ``analysis``, its analysis as JSON text, without a line feed at its end."""
        import json

        data = {**self.as_data(), "analysis": self.analysis().as_data()}
        return json.dumps(data, indent=2, ensure_ascii=False)

    def as_text(self, width: int | None = None) -> str:
        """Give the plan as text for people, in lines of at most ``width`` columns; None shortens nothing."""
        from npac.ir.canonical import digest
        from npac.report.plan_text import Head, plan_text

        program = self.program
        replaced = (*self.pins.items(), *self.accelerators.items())
        head = Head(program.workflow, self.run_id, digest(program), self.assume, self.decided, replaced)
        return plan_text(program, self.path, self.analysis(), self._late(), head, width)

    def _late(self) -> dict[str, str]:
        return {"run.id": self.run_id}


def plan(
    path: PathLike,
    options: Options = DEFAULTS,
    *,
    run_id: str | None = None,
    assume: str | None = None,
    decide: Mapping[str, Sequence[str]] | None = None,
    data: bytes | None = None,
) -> dict[str, Any]:
    """Plan a spec, a build or raw SkyPilot YAML: the steps and waves of one path, or the whole program.

    ``run_id`` is the run to plan for; where it is left out, the one that a linked build was made for, and
    ``RUN-ID`` for anything else.
    ``assume`` is ``promote_checkpoint``, ``loop_back`` or ``default``; ``decide`` maps a gate (its
    state, or its id) to the decisions that it gives, visit by visit, the last one repeated.  Without
    either the whole program is given as ``nodes`` and ``edges``.  Raises like :func:`compile`, but
    operator inputs may be empty.
    """
    return planned(path, options, run_id=run_id, assume=assume, decide=decide, data=data).as_data()


def planned(
    path: PathLike,
    options: Options = DEFAULTS,
    *,
    run_id: str | None = None,
    assume: str | None = None,
    decide: Mapping[str, Sequence[str]] | None = None,
    data: bytes | None = None,
) -> Planned:
    """Plan like :func:`plan`, and give the program and the chosen nodes themselves."""
    from npac.ir.walk import walk

    if data is None and os.path.isdir(path):
        item = _of_build(path, options, run_id)
    else:
        checked = through(path, options, data, "lower")
        item = Planned(
            program_of(path, checked),
            checked,
            ANY_RUN if run_id is None else run_id,
            pins=options.pins or {},
            accelerators=options.accelerators or {},
        )
    valid_run_id(item.run_id)
    if assume is None and not decide:
        return item
    assumption = _assumption(item.program, assume)
    nodes = walk(item.program, _decider(item.program, assumption, decide or {}))
    return item._replace(assume=assumption, path=tuple(nodes), decided=bool(decide))


def _of_build(folder: PathLike, options: Options, run_id: str | None) -> Planned:
    """Give the whole program of a build, which must be in every file what was compiled.

    Raises :class:`NpacError` for what is no build, and for options that only count for specs.
    """
    from npac import running

    if options.vars or options.sets or options.config or options.catalogs:
        raise NpacError(
            f"{os.fspath(folder)} is a build, whose values and tools were settled when it was compiled",
            remedy="Leave --var, --set, --config and --catalog out, or plan the spec with them.",
        )
    program, _, pins, accelerators = running.load_target(folder, options, compile_target, whole=True)
    if run_id is None:
        run_id = _linked_for(folder)
    return Planned(program, None, run_id, pins=pins, accelerators=accelerators)


def _linked_for(folder: PathLike) -> str:
    """Give the run id that the build in ``folder`` was linked for; :data:`ANY_RUN` for an unlinked one."""
    from pathlib import Path

    from npac.build.errors import BuildError
    from npac.build.reader import read_link, read_manifest

    place = Path(folder)
    try:
        link = read_link(place, read_manifest(place))
    except BuildError as error:
        raise NpacError(error.message, remedy=error.remedy) from error
    return link.run_id if link is not None else ANY_RUN


def parse_decisions(items: Sequence[str]) -> dict[str, list[str]]:
    """Read texts ``GATE=D1,D2`` as what :func:`planned` takes as ``decide``.  Raises :class:`NpacError`."""
    found: dict[str, list[str]] = {}
    for item in items:
        gate, equals, text = item.partition("=")
        if not equals or not gate or not text:
            raise NpacError(
                f"--decide {item!r} is not GATE=DECISION",
                remedy="Write --decide refine=loop_back,promote.",
            )
        found[gate] = text.split(",")
    return found


_ALIASES = {
    "promote": "promote_checkpoint",
    "promote_checkpoint": "promote_checkpoint",
    "loop_back": "loop_back",
    "loop_back_to_inner_loop": "loop_back",
}


def _assumption(program: Program, assume: str | None) -> str:
    if assume is None or assume == "default":
        return program.default_assumption
    if assume not in _ALIASES:
        raise NpacError(
            f"{assume!r} is no decision",
            remedy="Assume promote_checkpoint, loop_back or default.",
        )
    return _ALIASES[assume]


def _decider(program: Program, assumption: str, decide: Mapping[str, Sequence[str]]) -> Any:
    from npac.ir.program import Gate
    from npac.ir.walk import assume as assume_all

    gates = program.gates()
    known = (
        {gate.state for gate in gates} | {gate.id for gate in gates} | {f"{g.state}@{g.role}" for g in gates}
    )
    for name, decisions in decide.items():
        if name not in known:
            states = ", ".join(sorted({gate.state for gate in gates})) or "none"
            near = nearest(name, known, 1)
            meant = f"Did you mean {near[0]}? " if near else ""
            raise NpacError(f"the program has no gate {name!r}", remedy=f"{meant}Its gates: {states}.")
        for decision in decisions:
            if decision not in _ALIASES:
                raise NpacError(
                    f"{decision!r} is no decision",
                    remedy="Write promote_checkpoint or loop_back.",
                )
    visits: dict[str, int] = {}
    rest = assume_all(assumption)

    def answer(gate: Gate) -> str:
        for name in (gate.id, f"{gate.state}@{gate.role}", gate.state):
            decisions = decide.get(name)
            if decisions:
                at = visits.get(name, 0)
                visits[name] = at + 1
                return _ALIASES[decisions[min(at, len(decisions) - 1)]]
        return rest(gate)

    return answer
