"""A walk of the lowered program does what the naive interpreter of the language does.

``NPAC_WALK_EXAMPLES`` sets how many random specs are tried (300 when it is not set).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import cycle
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from npac.catalog import load_catalog
from npac.diagnostics.diagnostic import Severity
from npac.flow.counters import loop_bound
from npac.flow.graph import Kind
from npac.flow.passes import live_variables
from npac.ir.errors import LinkError
from npac.ir.program import LOOP_BACK, PROMOTE, Gate, Program
from npac.ir.verifier import verify
from npac.lower.specialise import _Worklist
from npac.pipeline import Settings, run_passes
from npac.text.source import SourceFile
from tests.lower.interpreter import Event, Read, interpret
from tests.lower.specs import Case, cases
from tests.lower.trace import settled, trace

RUN_ID = "demo"
EXAMPLES = int(os.environ.get("NPAC_WALK_EXAMPLES", "300"))
CALM = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))


def _answers(decisions: tuple[bool, ...]) -> Callable[[object], str]:
    """Answer gates in the order in which they are read; from the last decision on, begin again."""
    given_in_turn: Iterator[bool] = cycle(decisions)
    return lambda _: PROMOTE if next(given_in_turn) else LOOP_BACK


def _writers(program: Program, decide: Callable[[object], str], events: list[Event]) -> str:
    """Say which gate does not know the state that wrote its decision; empty when all do."""
    gates: list[Gate] = []

    def answer(gate: Gate) -> str:
        gates.append(gate)
        return decide(gate)

    trace(program, answer, RUN_ID)
    reads = [event for event in events if isinstance(event, Read)]
    for gate, read in zip(gates, reads, strict=True):
        if read.writer is not None and read.writer not in gate.writers:
            return f"gate {gate.id} does not name its writer {read.writer}"
    return ""


def lowered(text: str) -> Program:
    """Compile a generated spec, which has no errors."""
    source = SourceFile("generated.yaml", text)
    unit = run_passes(source, Settings(load_catalog()), until="lower")
    errors = [item.message for item in unit.findings if item.severity is Severity.ERROR]
    assert errors == [], text
    assert unit.program is not None
    return unit.program


def difference(program: Program, case: Case) -> str:
    """Say how a program and its spec differ on one path; empty when they do not."""
    problems = verify(program)
    if problems:
        return problems[0]
    wanted = interpret(case.text, _answers(case.decisions), RUN_ID)
    try:
        found = trace(program, _answers(case.decisions), RUN_ID)
    except LinkError as error:
        return str(error)
    for place, (ours, theirs) in enumerate(zip(settled(found), settled(wanted), strict=False)):
        if ours != theirs:
            return f"event {place}: the walk gives {ours}, the language {theirs}"
    if len(settled(found)) != len(settled(wanted)):
        return f"the walk has {len(settled(found))} events, the language gives {len(settled(wanted))}"
    return _writers(program, _answers(case.decisions), wanted)


@settings(CALM, max_examples=EXAMPLES)
@given(cases())
def test_walk_equals_interpretation(case: Case) -> None:
    program = lowered(case.text)
    for turn in range(min(3, len(case.decisions))):
        turned = Case(case.text, case.decisions[turn:] + case.decisions[:turn])
        assert difference(program, turned) == "", case.text


# --- the property notices what it should


def _key_of(kept: Callable[[_Worklist, int, str], bool]) -> Any:
    def key(self: _Worklist, at: int, live: dict[str, Any], opens: Any, checks: Any) -> object:
        return (at, tuple(value for name, value in live.items() if kept(self, at, name)), opens, checks)

    return key


def _gate_reads_are_no_uses(patch: pytest.MonkeyPatch) -> None:
    known: dict[int, tuple[Any, list[frozenset[str]]]] = {}

    def kept(worklist: _Worklist, at: int, name: str) -> bool:
        flow = worklist.flow
        if id(worklist) not in known:

            def uses(point: int) -> frozenset[str]:
                return frozenset() if worklist.graph.points[point].kind is Kind.GATE else flow.uses(point)

            live = live_variables(worklist.graph, flow.order, uses, flow.defines)
            known.clear()
            known[id(worklist)] = (worklist, live)
        return name in known[id(worklist)][1][at]

    patch.setattr(_Worklist, "_key", _key_of(kept))


def _only_counters_are_live(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Worklist, "_key", _key_of(lambda _, __, name: name.startswith("loop.")))


def _counters_are_not_in_the_key(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Worklist, "_key", _key_of(lambda _, __, name: not name.startswith("loop.")))


def _last_gate_is_folded_away(patch: pytest.MonkeyPatch) -> None:
    whole = _Worklist._node

    def node(self: _Worklist, at: int, env: Any, opens: Any, checks: Any) -> int:
        point = self.graph.points[at]
        until = point.kind is Kind.GATE and point.role == "until"
        if until and int(env[f"loop.{point.state}"]) == loop_bound(self.flow, point.state):
            again = next(
                self.graph.points[follow]
                for follow in point.successors
                if self.graph.points[follow].kind is Kind.NEXT_ITERATION
            )
            return self._reach(again.successors[1], env)
        return whole(self, at, env, opens, checks)

    patch.setattr(_Worklist, "_node", node)


SHORTCUTS = (
    _gate_reads_are_no_uses,
    _only_counters_are_live,
    _counters_are_not_in_the_key,
    _last_gate_is_folded_away,
)


@pytest.mark.parametrize("shortcut", SHORTCUTS, ids=lambda item: item.__name__.strip("_"))
def test_a_shortcut_in_lowering_is_noticed(
    shortcut: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    shortcut(monkeypatch)
    case = find(
        cases(),
        lambda item: difference(lowered(item.text), item) != "",
        settings=settings(CALM, max_examples=3_000, phases=[Phase.generate]),
        random=Random(1),
    )
    assert difference(lowered(case.text), case)
    monkeypatch.undo()
    assert difference(lowered(case.text), case) == ""
