"""A sequence's child works or is a group: one that only routes does nothing there."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related, Severity
from npac.flow.flow import Flow
from npac.syntax.language import PARALLEL, PLAIN, SEQUENCE, STATE, WORK

_OTHERWISE = (STATE.on(WORK) | STATE.on(SEQUENCE) | STATE.on(PARALLEL)) - STATE.on(PLAIN) | {
    "next",
    "terminal",
}


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Warn of children with transitions only, inside a loop; outside one the transitions are an error."""
    for name, state in flow.spec.states.items():
        parent = flow.structure.parent.get(name)
        if parent is None or flow.spec.states[parent].sequence is None or "transitions" not in state.keys:
            continue
        # a child with a next or terminal, one with keys of work, and one outside any loop is an error by that
        if state.works or any(key in state.keys for key in _OTHERWISE):
            continue
        if flow.structure.loop_around(flow.spec, name) is None:
            continue
        related = (Related(f"{name!r} is a member of {parent!r}", flow.spec.states[parent].name.span),)
        message = (
            f"{name!r} runs nothing, and its transitions do not route inside the sequence {parent!r}: "
            "it does nothing there"
        )
        help_text = "give it a run or a toolRef, or put the transitions on the child that decides"
        at = state.key_span("transitions")
        yield finding("no-work", message, at, help_text, related=related, severity=Severity.WARNING)
