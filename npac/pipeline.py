"""The compiler on one screen: the passes from text to program, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from npac.catalog.model import Catalog
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import MAX_STEPS, Flow, build_flow
from npac.flow.overrides import Overrides
from npac.ir.program import Program
from npac.rules import RULES
from npac.syntax.ast import Spec
from npac.syntax.spec_parser import parse_spec
from npac.text.source import SourceFile

MAX_NODES = 250_000


@dataclass(frozen=True, slots=True)
class Settings:
    """All that a compilation depends on besides the spec's text."""

    catalog: Catalog
    overrides: Overrides = Overrides()
    max_steps: int = MAX_STEPS
    max_nodes: int = MAX_NODES
    pins: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Unit:
    """One spec on its way through the passes; each pass fills in its part and adds findings."""

    source: SourceFile
    settings: Settings
    spec: Spec | None = None
    flow: Flow | None = None
    program: Program | None = None
    findings: list[Diagnostic] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Say whether nothing at error level was found so far."""
        return all(item.severity < Severity.ERROR for item in self.findings)


class Pass(NamedTuple):
    """One step of the compiler.  ``needs_sound`` passes run only on what has no error so far."""

    name: str
    contract: str
    run: Callable[[Unit], None]
    needs_sound: bool = False


def _parse(unit: Unit) -> None:
    parsed = parse_spec(unit.source)
    unit.spec = parsed.spec
    unit.findings += parsed.findings


def _resolve(unit: Unit) -> None:
    if unit.spec is not None:
        settings = unit.settings
        unit.flow = build_flow(
            unit.spec, settings.catalog, settings.overrides, max_steps=settings.max_steps, pins=settings.pins
        )
        unit.findings += unit.flow.findings


def _check(unit: Unit) -> None:
    if unit.flow is not None:
        for rule in RULES:
            unit.findings += rule(unit.flow)


def _lower(unit: Unit) -> None:
    from npac.lower.lower import lower
    from npac.lower.specialise import TooManyNodes

    if unit.flow is not None:
        try:
            unit.program = lower(unit.flow, max_nodes=unit.settings.max_nodes)
        except TooManyNodes as error:
            unit.findings.append(error.finding)


def _settle(unit: Unit) -> None:
    from npac.lower.obligations import unmet

    unit.findings = unmet(unit.findings)


PASSES: tuple[Pass, ...] = (
    Pass("parse", "text to syntax tree; every fault of form is found", _parse),
    Pass("resolve", "names, config and steps resolved; the flow graph built", _resolve),
    Pass("check", "every semantic rule", _check),
    Pass("lower", "the flow graph specialised into a program; loops unrolled", _lower, True),
    Pass("settle", "what a check only notes, and a build cannot do without, becomes an error", _settle, True),
)


def run_passes(source: SourceFile, settings: Settings, *, until: str) -> Unit:
    """Run the passes up to and including ``until`` and give what they made."""
    unit = Unit(source, settings)
    for step in PASSES:
        if step.needs_sound and not unit.sound:
            break
        step.run(unit)
        if step.name == until:
            break
    return unit
