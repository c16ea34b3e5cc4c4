"""Names of states must name states, and a group's members are reached through their group only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related, Severity
from npac.flow.flow import Flow
from npac.rules.control.reach import going_round, way_round
from npac.text.yaml_nodes import Scalar

CODES = (
    ("NPA301", "unknown-state", Severity.ERROR, "a state does not exist"),
    ("NPA302", "member-as-target", Severity.ERROR, "a group's member is named from outside"),
)
"""What this rule reports: code, name, severity and a summary."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report unknown states, and members named by ``initial``, ``next`` or ``goto`` from outside."""
    spec = flow.spec
    turning = {edge: circle for circle in flow.circles for edge in pairwise(circle)}
    if spec.initial is not None:
        yield from _known(flow, spec.initial, "initial")
        yield from _outside(flow, spec.initial, "initial", None)
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
        exits = [("next", state.next), *(("goto", transition.goto) for transition in state.transitions)]
        for key, target in exits:
            if target is not None:
                edge = (name, flow.structure.outermost(target.value))
                yield from _outside(flow, target, key, turning.get(edge))


def _known(flow: Flow, target: Scalar, key: str) -> Iterator[Diagnostic]:
    if target.value in flow.spec.states:
        return
    near = flow.steps.evaluator.states.nearest(target.value)
    help_text = f"did you mean {near[0]!r}?" if near else "states: " + ", ".join(islice(flow.spec.states, 12))
    message = f"{key} names the state {target.value!r:.120}, which does not exist"
    yield finding("unknown-state", message, target.span, help_text)


def _outside(flow: Flow, target: Scalar, key: str, circle: tuple[str, ...] | None) -> Iterator[Diagnostic]:
    """Report a member that is named from outside; ``circle`` is what naming its group would close."""
    parent = flow.structure.parent.get(target.value)
    if parent is None:
        return
    related = (Related(f"{target.value!r} is a member of {parent!r}", flow.spec.states[parent].name.span),)
    message = f"{key} names {target.value!r}, which is a member of the group {parent!r}"
    group = flow.structure.outermost(parent)
    help_text = f"name the group: {group}"
    if circle is not None:
        help_text = (
            f"a group is entered at its beginning, and {key}: {group} would lead in a circle: "
            f"{way_round(circle)}; {going_round(flow, circle)}"
        )
    yield finding("member-as-target", message, target.span, help_text, related=related)
