"""The compiler on one screen: the passes from text to program, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from npac.catalog.model import Catalog
from npac.diagnostics.collector import limited
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import MAX_STEPS, Flow, build_flow
from npac.flow.overrides import Overrides
from npac.rules import RULES
from npac.syntax.ast import Spec
from npac.syntax.spec_parser import parse_spec
from npac.text.source import SourceFile

if TYPE_CHECKING:
    from npac.ir.program import Program

MAX_NODES = 250_000
SECRETS = frozenset(("secret-in-plain-text", "maybe-secret"))
"""Findings whose places hold a secret value: none is left out, since these places are never shown."""


class Settings(NamedTuple):
    """All that a compilation depends on besides the spec's text."""

    catalog: Catalog
    overrides: Overrides = Overrides()
    max_steps: int = MAX_STEPS
    max_nodes: int = MAX_NODES
    pins: Mapping[str, str] = MappingProxyType({})


class Unit:
    """One spec on its way through the passes; each pass fills in its part and adds findings."""

    __slots__ = ("findings", "flow", "program", "settings", "source", "spec")

    def __init__(self, source: SourceFile, settings: Settings) -> None:
        self.source = source
        self.settings = settings
        self.spec: Spec | None = None
        self.flow: Flow | None = None
        self.program: Program | None = None
        self.findings: list[Diagnostic] = []

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
            unit.findings += limited(_apart(unit.flow, rule(unit.flow)), but=SECRETS)
        if any(item.severity > Severity.NOTE for item in unit.findings):
            from npac.rules.consequences import first_causes

            unit.findings = first_causes(unit.flow, unit.findings)


def _apart(flow: Flow, given: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Give what a rule found, with what it says at one place of several states said once."""
    found = list(given)
    if len(found) > len({(item.code.id, item.span) for item in found}):
        from npac.rules.shared import put_together

        found = put_together(flow.spec.states, found)
    for at, item in enumerate(found):
        # a place beside a finding that is the finding's own shows nothing more
        if item.related and any(other.span == item.span for other in item.related):
            related = tuple(other for other in item.related if other.span != item.span)
            found[at] = item._replace(related=related)
    return found


def _lower(unit: Unit) -> None:
    from npac.lower.lower import lower
    from npac.lower.texts import BoundMet

    if unit.flow is not None:
        try:
            unit.program = lower(unit.flow, max_nodes=unit.settings.max_nodes)
        except BoundMet as error:
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
