"""A state works, groups, routes or ends, and has only the keys that go with that."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related, Severity
from npac.flow.flow import Flow
from npac.syntax.ast import State
from npac.syntax.language import PARALLEL, PLAIN, SEQUENCE, STATE, WORK

CODES = (
    ("NPA305", "key-not-for-group", Severity.ERROR, "a key has no meaning here"),
    ("NPA329", "trigger-without-work", Severity.ERROR, "a trigger on a state that does no work"),
)
"""What this rule reports: code, name, severity and a summary."""

_SEQUENCE = STATE.on(SEQUENCE)
_PARALLEL = STATE.on(PARALLEL)
_PARALLEL_ONLY = tuple(key for key in STATE.names if STATE.keys[key].on == (PARALLEL,) and key != "parallel")
_WORK_ONLY = tuple(
    key
    for key in STATE.names
    if key in STATE.on(WORK) - STATE.on(PLAIN) and key not in ("run", "toolRef", "trigger")
)


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report states with two kinds of work, with none, and keys that have no meaning on them."""
    for state in flow.spec.states.values():
        yield from _state(state)


def _state(state: State) -> Iterator[Diagnostic]:
    name, keys = state.name.value, state.keys
    if "sequence" in keys and "parallel" in keys:
        yield _two(state, "sequence", "parallel")
        return
    if "sequence" in keys or "parallel" in keys:
        kind = "sequence" if "sequence" in keys else "parallel"
        allowed = _SEQUENCE if kind == "sequence" else _PARALLEL
        for key in ("run", "toolRef"):
            if key in keys:
                yield _two(state, kind, key)
        for key, scalar in keys.items():
            if key in allowed or key in ("run", "toolRef") or (key == "loop" and kind == "parallel"):
                continue
            message = f"{name!r} is a {kind} group, and {key} has no meaning on one"
            yield finding("key-not-for-group", message, scalar.span, _elsewhere(key))
        return
    for key in _PARALLEL_ONLY:
        if key in keys:
            message = f"{key} has a meaning only on a parallel group, and {name!r} is none"
            yield finding("key-not-for-group", message, keys[key].span, "remove it, or add parallel: [...]")
    if "run" in keys and "toolRef" in keys:
        yield _two(state, "run", "toolRef")
    if state.works or "run" in keys or "toolRef" in keys:
        return
    if "trigger" in keys:
        message = f"{name!r} has a trigger but runs nothing"
        help_text = "put the trigger on the state whose work waits for the objects"
        yield finding("trigger-without-work", message, keys["trigger"].span, help_text)
    for key in _WORK_ONLY:
        if key in keys:
            message = f"{name!r} runs nothing, and {key} has no meaning without work"
            yield finding(
                "key-not-for-group", message, keys[key].span, "give it a run or a toolRef, or remove the key"
            )
    if not state.terminal and "transitions" not in keys and "next" not in keys:
        message = (
            f"the state {name!r} does nothing: "
            "it has no run, toolRef, sequence, parallel, transitions or next"
        )
        yield finding("no-work", message, state.name.span, "give it work, or make it terminal: true")


def _elsewhere(key: str) -> str:
    """Say where a key belongs that stands on a group and has no meaning there."""
    if key in _PARALLEL_ONLY:
        return f"{key} goes with parallel: [...]; remove it"
    if key not in _SEQUENCE:
        return f"move {key} to a member, or remove it"
    # what a sequence can have, and neither a parallel group nor its members
    if key == "terminal":
        return "lead on to a terminal state: next: NAME"
    return f"put {key} on the state that follows the group: next: NAME"


def _two(state: State, first: str, second: str) -> Diagnostic:
    a, b = sorted((state.keys[first], state.keys[second]), key=lambda key: key.start)
    message = f"the state {state.name.value!r} has both {a.value} and {b.value}; it can do one kind of work"
    related = (Related("the other one is here", a.span),)
    return finding("two-commands", message, b.span, f"keep {a.value} or {b.value}", related=related)
