"""Planning specs: the steps and waves of one path or of the whole program, as data and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from npac.api.checking import DEFAULTS, Options, PathLike, through
from npac.api.compiling import program_of, valid_run_id
from npac.checking import Checked
from npac.errors import NpacError

if TYPE_CHECKING:
    from npac.ir.program import Node, Program
    from npac.report.analysis import Analysis


class Planned(NamedTuple):
    """A spec's program, and the path that was chosen through it.

    ``assume`` is the assumption as it was understood, ``decided`` whether single gates were decided.
    ``path`` are the nodes walked, from the entry to the end; None when nothing was assumed or decided,
    which means the whole program.
    """

    program: Program
    checked: Checked
    run_id: str
    assume: str = ""
    path: tuple[Node, ...] | None = None
    decided: bool = False

    def as_data(self) -> dict[str, Any]:
        """Give the plan as data: ``steps`` and ``waves`` of the path, else ``nodes`` and ``edges``."""
        from npac.ir.canonical import digest
        from npac.ir.plan import graph_data, plan_data

        answer = {
            "workflow": self.program.workflow,
            "run_id": self.run_id,
            "assume": self.assume,
            "digest": digest(self.program),
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
        head = Head(program.workflow, self.run_id, digest(program), self.assume, self.decided)
        return plan_text(program, self.path, self.analysis(), self._late(), head, width)

    def _late(self) -> dict[str, str]:
        return {"run.id": self.run_id}


def plan(
    path: PathLike,
    options: Options = DEFAULTS,
    *,
    run_id: str = "RUN-ID",
    assume: str | None = None,
    decide: Mapping[str, Sequence[str]] | None = None,
    data: bytes | None = None,
) -> dict[str, Any]:
    """Plan a spec: the steps and waves of one path, or the whole program.

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
    run_id: str = "RUN-ID",
    assume: str | None = None,
    decide: Mapping[str, Sequence[str]] | None = None,
    data: bytes | None = None,
) -> Planned:
    """Plan like :func:`plan`, and give the program and the chosen nodes themselves."""
    from npac.ir.walk import walk

    checked = through(path, options, data, "lower")
    program = program_of(path, checked)
    valid_run_id(run_id)
    if assume is None and not decide:
        return Planned(program, checked, run_id)
    assumption = _assumption(program, assume)
    nodes = walk(program, _decider(program, assumption, decide or {}))
    return Planned(program, checked, run_id, assumption, tuple(nodes), bool(decide))


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
            raise NpacError(f"the program has no gate {name!r}", remedy=f"Its gates: {states}.")
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
