"""Names of states must name states, and a group's members are reached through their group only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related
from npac.flow.flow import Flow
from npac.text.yaml_nodes import Scalar


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report unknown states, and members named by ``initial``, ``next`` or ``goto`` from outside."""
    spec = flow.spec
    if spec.initial is not None:
        yield from _known(flow, spec.initial, "initial")
        yield from _outside(flow, spec.initial, "initial")
    for name, state in spec.states.items():
        for need in state.needs:
            yield from _known(flow, need, "needs")
        for key, members in (("sequence", state.sequence), ("parallel", state.parallel)):
            for member in members or ():
                yield from _known(flow, member, key)
        if state.next is not None:
            yield from _known(flow, state.next, "next")
        for transition in state.transitions:
            if transition.goto is not None:
                yield from _known(flow, transition.goto, "goto")
        if name in flow.structure.parent:
            continue
        if state.next is not None:
            yield from _outside(flow, state.next, "next")
        for transition in state.transitions:
            if transition.goto is not None:
                yield from _outside(flow, transition.goto, "goto")


def _known(flow: Flow, target: Scalar, key: str) -> Iterator[Diagnostic]:
    if target.value in flow.spec.states:
        return
    near = flow.steps.evaluator.states.nearest(target.value)
    help_text = f"did you mean {near[0]!r}?" if near else "states: " + ", ".join(islice(flow.spec.states, 12))
    message = f"{key} names the state {target.value!r:.120}, which does not exist"
    yield finding("unknown-state", message, target.span, help_text)


def _outside(flow: Flow, target: Scalar, key: str) -> Iterator[Diagnostic]:
    parent = flow.structure.parent.get(target.value)
    if parent is None:
        return
    related = (Related(f"{target.value!r} is a member of {parent!r}", flow.spec.states[parent].name.span),)
    message = f"{key} names {target.value!r}, which is a member of the group {parent!r}"
    yield finding(
        "member-as-target",
        message,
        target.span,
        f"name the group: {flow.structure.outermost(parent)}",
        related=related,
    )
