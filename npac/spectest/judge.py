"""Comparing what a case expects with what would run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npac.diagnostics.diagnostic import Severity
from npac.ir.values import show
from npac.spectest.judge_steps import step_failures
from npac.spectest.judge_texts import Failure, match_problem
from npac.spectest.model import (
    AnyWaves,
    Case,
    Expected,
    GateExpected,
    Number,
    Refusal,
    WaveEntry,
    WaveExpected,
)
from npac.spectest.walking import Refused, Walked, names, title, unknown_gate, unknown_state
from npac.text.source import Span


@dataclass(frozen=True, slots=True)
class _Gate:
    state: str
    uri: str
    decision: str

    def __str__(self) -> str:
        return f"{self.uri} (of {self.state}, {self.decision})"


def judge(case: Case, found: Walked | Refused) -> list[Failure]:
    """Give what does not hold of a case, in the order of the test file; empty when it passes."""
    if isinstance(found, Refused):
        return list(_refused(case, found))
    expected = case.expected
    if expected.error is not None:
        return [not_refused(expected.error)]
    failures = [Failure(text.span, message) for text, message in found.unused]
    failures += _waves(expected, found)
    for step in expected.steps:
        failures += step_failures(step, found)
    failures += _never(expected, found)
    failures += _gates(expected, found)
    failures += _warnings(expected, found)
    return sorted(failures, key=lambda failure: failure.span.start)


def not_refused(wanted: Refusal) -> Failure:
    """Say that a spec which should be refused is not."""
    said = ", ".join(code.value for code in wanted.codes) or "an error"
    return Failure(wanted.span, "the spec is not refused", said, "a program without errors")


def _refused(case: Case, found: Refused) -> Iterator[Failure]:
    wanted = case.expected.error
    if wanted is None:
        yield Failure(case.name.span, "the spec is refused", "a program", found.message, found.checked)
        return
    codes = tuple(sorted({code.value for code in wanted.codes}))
    if codes and codes != found.codes:
        got = found.message if found.codes else f"no code; {found.message}"
        yield Failure(wanted.span, "other errors are found", ", ".join(codes), got, found.checked)
    if wanted.message is not None:
        problem = match_problem(wanted.message, found.message)
        if problem is not None:
            yield Failure(problem.span, "the error says something else", problem.expected, found.message)


def _waves(expected: Expected, found: Walked) -> Iterator[Failure]:
    wanted = expected.waves
    got = [title(wave, found.program) for wave in found.waves]
    if isinstance(wanted, Number):
        if wanted.value != len(got):
            message = "the walk has another number of waves"
            yield Failure(wanted.span, message, str(wanted.value), f"{len(got)}:\n" + _lines(got))
    elif wanted is not None:
        bad = _first_bad_wave(wanted, found)
        if bad is not None:
            at = wanted[bad].span if bad < len(wanted) else expected.waves_at
            assert at is not None
            message = (
                f"the walk has other waves, from entry {bad + 1} on"
                if bad < len(wanted)
                else "the walk has more waves"
            )
            yield Failure(at, message, _lines(_expected_lines(wanted, bad, found)), _lines(got))
            yield from _unknown(wanted, found)
        else:
            yield from _batches(wanted, found)


def _unknown(wanted: Sequence[WaveEntry], found: Walked) -> Iterator[Failure]:
    """Name the entries that no walk of this spec could fit."""
    for entry in wanted:
        if isinstance(entry, WaveExpected):
            named = [(entry.name, entry.span)] if entry.name else []
            for name, span in (*named, *((member.value, member.span) for member in entry.members)):
                if message := unknown_state(name, found):
                    yield Failure(span, message)


def _lines(items: Sequence[str]) -> str:
    return "\n".join(items) if items else "nothing"


def _expected_lines(wanted: Sequence[WaveEntry], bad: int, found: Walked) -> list[str]:
    """Give the expected waves; those that fit are written like what came, so that only others differ."""
    lines = [_said(item) for item in wanted]
    for place, entry in enumerate(wanted[:bad]):
        if isinstance(entry, AnyWaves):
            break
        lines[place] = title(found.waves[place], found.program)
    return lines


def _said(entry: WaveEntry) -> str:
    if isinstance(entry, AnyWaves):
        return "..."
    members = ", ".join(member.value for member in entry.members)
    if not entry.members:
        return entry.name
    return f"{entry.name}: [{members}]" if entry.name else f"[{members}]"


def _first_bad_wave(wanted: Sequence[WaveEntry], found: Walked) -> int | None:
    """Give the entry at which the waves cease to fit; the number of entries when waves are left over.

    ``...`` takes as few waves as it can, except at the end, where it takes all.
    """
    states: set[int] = {0}
    loose = False
    for place, entry in enumerate(wanted):
        if isinstance(entry, AnyWaves):
            states = set(range(min(states), len(found.waves) + 1))
            loose = True
            continue
        states = {at + 1 for at in states if at < len(found.waves) and _is_wave(entry, found, at)}
        if not states:
            return place
    if len(found.waves) in states:
        return None
    # With an ellipsis before them, the last entries are what does not fit.
    return len(wanted) - 1 if loose else len(wanted)


def _is_wave(entry: WaveExpected, found: Walked, at: int) -> bool:
    wave = found.waves[at]
    if entry.name and entry.name not in names(wave, found.program):
        return False
    states = [found.program.steps[member.step].state for member in wave.members]
    if entry.members and [member.value for member in entry.members] != states:
        return False
    # A state's name alone means a serial wave, a group's name its whole group.
    return not entry.members or bool(wave.group) or len(states) == 1


def _batches(wanted: Sequence[WaveEntry], found: Walked) -> Iterator[Failure]:
    for entry in wanted:
        if isinstance(entry, AnyWaves) or entry.batches is None:
            continue
        for at, wave in enumerate(found.waves):
            if _is_wave(entry, found, at) and len(wave.batches) != entry.batches.value:
                message = f"{title(wave, found.program)} is cut into another number of batches"
                yield Failure(entry.batches.span, message, str(entry.batches.value), str(len(wave.batches)))
                break


def _never(expected: Expected, found: Walked) -> Iterator[Failure]:
    visits = found.visits()
    for text in expected.never:
        name = text.value
        ran = [visit.path for visit in visits if name in (visit.step.state, visit.path, visit.wave.group)]
        if ran:
            yield Failure(text.span, f"{name} runs", "it never runs", _lines(ran))
        elif message := unknown_state(name, found):
            yield Failure(text.span, message)


def _gates(expected: Expected, found: Walked) -> Iterator[Failure]:
    wanted = expected.gates
    got = [_Gate(gate.state, show(gate.uri), decision) for gate, decision in found.gates]
    shown = _lines([str(gate) for gate in got])
    if isinstance(wanted, Number):
        if wanted.value != len(got):
            message = "the walk reads another number of gates"
            yield Failure(wanted.span, message, str(wanted.value), f"{len(got)}:\n{shown}")
        return
    for place, entry in enumerate(wanted or ()):
        if place >= len(got):
            yield Failure(entry.span, f"the walk reads only {len(got)} gate(s)", "one more gate", shown)
            return
        yield from _gate(entry, got[place], place + 1, found)
    if wanted is not None and len(got) > len(wanted):
        assert expected.gates_at is not None
        message = "the walk reads more gates"
        yield Failure(expected.gates_at, message, f"{len(wanted)} gate(s)", f"{len(got)}:\n{shown}")


def _gate(entry: GateExpected, gate: _Gate, number: int, found: Walked) -> Iterator[Failure]:
    if entry.uri is not None:
        problem = match_problem(entry.uri, gate.uri)
        if problem is not None:
            yield Failure(problem.span, f"gate {number} reads another URI", problem.expected, gate.uri)
    if entry.state is not None and entry.state.value != gate.state:
        unknown = unknown_gate(entry.state.value, found.program)
        message = unknown or f"gate {number} is of another state"
        yield Failure(entry.state.span, message, entry.state.value, gate.state)
    if entry.decision is not None and entry.decision.value != gate.decision:
        message = f"gate {number} is given another decision"
        yield Failure(entry.decision.span, message, entry.decision.value, gate.decision)


def _warnings(expected: Expected, found: Walked) -> Iterator[Failure]:
    if expected.warnings is None:
        return
    assert expected.warnings_at is not None
    got = [item for item in found.checked.findings if item.severity is Severity.WARNING]
    codes = sorted({item.code.id for item in got})
    wanted = sorted({text.value for text in expected.warnings})
    if codes != wanted:
        shown = _lines([f"{item.code.id}: {item.message}" for item in got])
        at: Span = expected.warnings_at
        yield Failure(at, "other warnings are found", ", ".join(wanted) or "none", shown, found.checked)
