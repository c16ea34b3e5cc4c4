"""From a case to what would run: the spec compiled, linked, and walked as the case decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from npac.backends.errors import BackendError
from npac.backends.skypilot.documents import LaunchValues, link_documents, unlinked
from npac.checking import Checked
from npac.diagnostics.diagnostic import Severity
from npac.errors import NpacError
from npac.ir.errors import LinkError
from npac.ir.link_record import LinkRecord
from npac.ir.linking import link_program
from npac.ir.program import Gate, Member, Program, Step, Wave, label
from npac.ir.walk import assume, walk
from npac.spectest.model import Case, Suite, Text
from npac.syntax.nearest import nearest

_SPLIT = re.compile(r"~[0-9a-f]{8,}\Z")


@dataclass(frozen=True, slots=True)
class Refused:
    """The spec was refused: it has errors (``checked``), or it cannot be linked."""

    message: str
    checked: Checked | None = None

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes that were found at error level, sorted, each once."""
        findings = self.checked.findings if self.checked is not None else []
        return tuple(sorted({item.code.id for item in findings if item.severity >= Severity.ERROR}))


@dataclass(frozen=True, slots=True)
class Sound:
    """The spec compiled as a case says, and the link record for the case's run id."""

    program: Program
    checked: Checked
    link: LinkRecord


Compile: TypeAlias = "Callable[[str, Case], Sound | Refused]"
"""Compiles the spec at a path for a case.  Raises :class:`NpacError` for the outside world."""


class Undecided(Exception):
    """The walk reached a gate for which the case gives no decision."""

    def __init__(self, gate: Gate) -> None:
        super().__init__(f"the walk reads the gate {gate.id}, for which the case gives no decision")
        self.gate = gate
        self.unknown: list[tuple[Text, str]] = []
        """Gates that the case names and the program does not have."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One step that runs on the walk."""

    step: Step
    wave: Wave
    member: Member
    place: int
    """Index into the members of its wave."""
    path: str
    """``outer[2]/state``; a group's member stands below its group."""


@dataclass(slots=True)
class Walked:
    """What runs for the decisions of a case, everything linked."""

    program: Program
    link: LinkRecord
    checked: Checked
    waves: list[Wave]
    gates: list[tuple[Gate, str]]
    """The gates that were read, each with its decision."""
    unused: list[tuple[Text, str]]
    """Decisions that the case gives and the walk does not read, with the reason."""
    _documents: dict[tuple[str, int], list[dict[str, Any]]] = field(default_factory=dict)

    def visits(self) -> list[Visit]:
        """Give the steps in the order in which they run."""
        return [
            Visit(self.program.steps[member.step], wave, member, place, path(wave, self.program, place))
            for wave in self.waves
            for place, member in enumerate(wave.members)
        ]

    def task(self, visit: Visit) -> Mapping[str, Any]:
        """Give the SkyPilot task of a visit, linked for a first attempt.  Raises :class:`NpacError`."""
        batch = next(at for at, batch in enumerate(visit.wave.batches) if visit.place in batch)
        key = (visit.wave.id, batch)
        if key not in self._documents:
            launch = LaunchValues(attempt=1, fence=1, launch_id="<launch.id>", number=visit.wave.number)
            try:
                trees = unlinked(self.program, visit.wave, batch)
                self._documents[key] = link_documents(trees, self.link, launch)
            except (BackendError, LinkError) as error:
                raise NpacError(f"{visit.path} has no SkyPilot document: {error}") from error
        tasks = self._documents[key]
        return tasks[-len(visit.wave.batches[batch]) :][visit.wave.batches[batch].index(visit.place)]


def path(wave: Wave, program: Program, place: int | None = None) -> str:
    """Give the path of a wave without the mark that tells its copies apart, or that of one member."""
    own = _SPLIT.sub("", wave.id)
    if place is None or not wave.group:
        return own
    return f"{own}/{program.steps[wave.members[place].step].state}"


def title(wave: Wave, program: Program) -> str:
    """Give a wave for people: its path, and the members of a parallel group."""
    if not wave.group:
        return path(wave, program)
    members = ", ".join(program.steps[member.step].state for member in wave.members)
    return f"{path(wave, program)}: [{members}]"


def names(wave: Wave, program: Program) -> tuple[str, ...]:
    """Give the names by which a test may call a wave."""
    return (label(wave, program), path(wave, program), wave.id)


def unknown_state(name: str, found: Walked) -> str:
    """Say that a name, or a part of a path, is that of no state or group; empty when all of it is known."""
    unit = found.checked.unit
    if unit is not None and unit.spec is not None:
        known = set(unit.spec.states)
    else:
        known = {step.state for step in found.program.steps}
    for part in _SPLIT.sub("", name).split("/"):
        state = part.partition("[")[0]
        if state not in known:
            return f"the spec has no state {state}{hint(state, known)}"
    return ""


def unknown_gate(name: str, program: Program) -> str:
    """Say that the program has no gate of this name; empty when it has."""
    known = {known for gate in program.gates() for known in _gate_names(gate)}
    if name in known:
        return ""
    gates = ", ".join(sorted({gate.state for gate in program.gates()})) or "none"
    return f"the program has no gate {name!r}; its gates: {gates}{hint(name, known)}"


def hint(name: str, known: Iterable[str]) -> str:
    """Give the end of a sentence that names what a misspelt name may have meant; empty for nothing near."""
    near = nearest(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


class Walker:
    """Walks the cases of one suite; cases that are given the same are compiled once."""

    def __init__(self, suite: Suite, compile: Compile) -> None:
        self.suite = suite
        self.compile = compile
        self._compiled: dict[object, Sound | Refused] = {}

    def walk(self, case: Case) -> Walked | Refused:
        """Compile, link and walk.

        Raises :class:`NpacError` for the outside world (a file that cannot be read) and
        :class:`Undecided` for a gate without a decision.
        """
        key = (case.vars, case.sets, case.config, case.catalogs, case.allow_new_vars, case.pins,
               case.accelerators, case.run_id)  # fmt: skip
        if key not in self._compiled:
            self._compiled[key] = self.compile(self.suite.spec, case)
        compiled = self._compiled[key]
        if isinstance(compiled, Refused):
            return compiled
        try:
            program = link_program(compiled.program, compiled.link)
        except LinkError as error:
            return Refused(str(error))
        decider = _Decider(case, program)
        try:
            nodes = walk(program, decider)
        except Undecided as error:
            error.unknown = decider.unknown()
            raise
        return Walked(
            program,
            compiled.link,
            compiled.checked,
            [node for node in nodes if isinstance(node, Wave)],
            decider.read,
            decider.unused(),
        )


def refused(checked: Checked) -> Refused:
    """Give the refusal of a spec that has errors."""
    errors = (item for item in checked.findings if item.severity >= Severity.ERROR)
    return Refused("\n".join(f"{item.code.id}: {item.message}" for item in errors), checked)


class _Decider:
    """Answers gates as a case says and keeps count; a gate that it says nothing about is an error."""

    def __init__(self, case: Case, program: Program) -> None:
        self.case = case
        self.program = program
        self.given = {item.gate.value: item for item in case.decide}
        self.visits: dict[str, int] = {}
        self.read: list[tuple[Gate, str]] = []
        assumption = case.assume.value if case.assume is not None else ""
        self.rest = (
            assume(program.default_assumption if assumption == "default" else assumption)
            if assumption
            else None
        )

    def __call__(self, gate: Gate) -> str:
        decision = self._answer(gate)
        self.read.append((gate, decision))
        return decision

    def _answer(self, gate: Gate) -> str:
        for name in _gate_names(gate):
            if name in self.given:
                at = self.visits.get(name, 0)
                self.visits[name] = at + 1
                answers = self.given[name].answers
                return answers[min(at, len(answers) - 1)].value
        if self.rest is None:
            raise Undecided(gate)
        return self.rest(gate)

    def unused(self) -> list[tuple[Text, str]]:
        """Give what the case decides and the walk did not ask."""
        found = self.unknown()
        unknown = {text.value for text, _ in found}
        for name, given in self.given.items():
            visits = self.visits.get(name, 0)
            if name in unknown:
                continue
            if visits == 0:
                found.append((given.gate, f"the walk never reads the gate {name!r}"))
            elif visits < len(given.answers):
                found.append(
                    (
                        given.answers[visits],
                        f"the walk reads the gate {name!r} {visits} time(s), "
                        f"and {len(given.answers)} decisions are given",
                    )
                )
        return found

    def unknown(self) -> list[tuple[Text, str]]:
        """Give the gates that the case names and the program does not have."""
        said = ((given.gate, unknown_gate(name, self.program)) for name, given in self.given.items())
        return [(text, message) for text, message in said if message]


def _gate_names(gate: Gate) -> tuple[str, ...]:
    own = _SPLIT.sub("", gate.id)
    return (gate.id, own, f"{gate.state}@{gate.role}", gate.state)
