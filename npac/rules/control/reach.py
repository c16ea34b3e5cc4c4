"""Every state is reached, every path ends at a terminal state, and none turns in a circle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related, Severity
from npac.flow.flow import Flow
from npac.flow.structure import counts_as_true, dead_transitions, exit_scalar
from npac.flow.switched import decided

CODES = (
    ("NPA323", "flow-cycle", Severity.ERROR, "next and transitions form a cycle"),
    ("NPA324", "no-terminal", Severity.ERROR, "no terminal state can be reached"),
    ("NPA325", "dead-end", Severity.WARNING, "a path ends at a state that is not terminal"),
    ("NPA326", "unreachable-state", Severity.WARNING, "nothing reaches a state"),
)
"""What this rule reports: code, name, severity and a summary."""

_MOST = 8
"""Edges that are shown beside the one that closes a circle."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report cycles, dead ends, unreachable states, and specs without a reachable terminal state."""
    spec = flow.spec
    for circle in flow.circles:
        yield from _circle(flow, circle, {})
    for switched in flow.switched:
        yield from _circle(flow, switched.circle, switched.values)
    if flow.graph is None or spec.initial is None or spec.initial.value not in spec.states:
        return
    if spec.initial.value in flow.structure.parent:
        return
    named = _named(flow, spec.initial.value)
    # what only a way out of a circle leads to is not lost, and neither is the end
    for name, state in spec.states.items() if not flow.circles else ():
        parent = flow.structure.parent.get(name)
        if name in named or (parent is not None and parent not in named):
            continue
        message = f"nothing leads to the state {name!r}"
        help_text = "name it in a next, a goto or a group, or remove it"
        yield finding("unreachable-state", message, state.name.span, help_text)
    reached = {name for name in spec.states if flow.reached(flow.graph.begin[name])}
    ends = [name for name in reached if spec.states[name].terminal and name not in flow.structure.parent]
    if not ends and any(_has_unknown_exit(flow, name) for name in named):
        return
    if not ends and not flow.circles:
        anywhere = [name for name, state in spec.states.items() if state.terminal]
        message = (
            "no terminal state can be reached from the first state" if anywhere else "no state is terminal"
        )
        yield finding(
            "no-terminal",
            message,
            spec.initial.span,
            "mark the state that ends the run: terminal: true; a parallel group leads to one by next",
        )
    for name in spec.states:
        if name in reached and name not in flow.structure.parent and not spec.states[name].terminal:
            yield from _dead_end(flow, name)


def _circle(flow: Flow, circle: tuple[str, ...], values: Mapping[str, bool]) -> Iterator[Diagnostic]:
    """Report a circle at the edge that closes it, with the others beside it.

    Nothing where an edge names the member of a group: that is an error of its own, which says what naming
    the group would lead to.  ``values`` are what config keys would have to be.
    """
    holds = decided(flow.config, values)
    edges = [
        (name, target, exit_scalar(flow.spec, flow.structure, name, target, holds))
        for name, target in pairwise(circle)
    ]
    if any(scalar is not None and scalar.value != target for _, target, scalar in edges):
        return
    last, _, closing = edges.pop()
    at = closing.span if closing is not None else flow.spec.states[last].name.span
    related = [
        Related(f"{name!r} leads to {target!r} here", scalar.span)
        for name, target, scalar in edges[:_MOST]
        if scalar is not None
    ]
    changed = [key for key, value in values.items() if counts_as_true(flow.config, key) is not value]
    for key in changed[:_MOST]:
        said = f"config.{key} decides an if, and an override may make it count as {str(values[key]).lower()}"
        related.append(Related(said, flow.config.entries[key].node.span))
    when = " and ".join(f"config.{key} counts as {str(values[key]).lower()}" for key in changed[:_MOST])
    message = f"next and transitions lead in a circle{f' when {when}' * bool(when)}: {way_round(circle)}"
    yield finding("flow-cycle", message, at, going_round(flow, circle), related=tuple(related))


def way_round(circle: tuple[str, ...]) -> str:
    """Give the names along a circle, of a long one its beginning and end."""
    names = circle if len(circle) <= 2 * _MOST else (*circle[:_MOST], "...", *circle[-_MOST:])
    return " -> ".join(names)


def going_round(flow: Flow, circle: tuple[str, ...]) -> str:
    """Say how to write what a circle was meant for."""
    spec = flow.spec
    loop = next((name for name in circle if spec.states[name].loop is not None), None)
    if loop is None or spec.states[loop].sequence is None:
        return "use a loop: a sequence with loop: {max: N, until: promote_checkpoint}"
    others = [name for name in dict.fromkeys(circle) if name != loop]
    if not others:
        return f"{loop} is a loop and goes round by itself: its next is where it leads when it has ended"
    listed = ", ".join(others[:_MOST]) + (", ..." if len(others) > _MOST else "")
    return (
        f"{loop} is a loop already: make {listed} a member of its sequence, where goto: {loop} goes on with "
        "its next iteration"
    )


def _has_unknown_exit(flow: Flow, name: str) -> bool:
    """Say whether an exit of a state cannot be read or names no state.

    That is an error of its own, and nobody knows where the exit was meant to lead.
    """
    state = flow.spec.states[name]
    if name in flow.structure.parent:
        return False
    exits = [item.goto for item in state.transitions]
    if "next" in state.keys:
        exits.append(state.next)
    unread = "transitions" in state.keys and not state.transitions
    return unread or any(target is None or target.value not in flow.spec.states for target in exits)


def _named(flow: Flow, initial: str) -> set[str]:
    """Give the states to which some chain of next, goto and groups leads, whatever config decides now."""
    found = {initial}
    stack = [initial]
    while stack:
        name = stack.pop()
        state = flow.spec.states[name]
        targets = [member.value for member in state.members]
        if name not in flow.structure.parent:
            dead = [id(item) for item, _ in dead_transitions(state)]
            taken = [item.goto for item in state.transitions if id(item) not in dead]
            exits = (state.next, *taken)
            # a member that is named from outside is an error of its own, and stands for its group
            targets += [flow.structure.outermost(target.value) for target in exits if target is not None]
        for target in targets:
            if target in flow.spec.states and target not in found:
                found.add(target)
                stack.append(target)
    return found


def _dead_end(flow: Flow, name: str) -> Iterator[Diagnostic]:
    assert flow.graph is not None
    exits = flow.structure.exits[name]
    state = flow.spec.states[name]
    if exits.promote is not None and exits.loop_back is not None:
        return
    if exits.exhausted or any(item.goto is None for item in state.transitions):
        return
    if "next" in state.keys and state.next is not None:
        return
    if state.transitions and exits.promote is None and exits.loop_back is None:
        return
    if not state.works and not state.is_group and not state.transitions:
        return
    message = f"the run ends at {name!r}, which is not terminal; it would count as succeeded there"
    help_text = "add next: NAME, or terminal: true if the run is meant to end here"
    yield finding("dead-end", message, state.name.span, help_text)
