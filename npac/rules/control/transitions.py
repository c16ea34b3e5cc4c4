"""Transitions: conditions that can be read, targets that are reached, an exit when none is taken."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related, Severity
from npac.flow.flow import Flow
from npac.flow.structure import condition_holds, dead_transitions
from npac.syntax.ast import State, Transition
from npac.syntax.conditions import Condition, parse_condition
from npac.text.yaml_nodes import Scalar

CODES = (
    ("NPA312", "transition-never-routes", Severity.WARNING, "a transition is never followed"),
    ("NPA313", "child-transitions", Severity.ERROR, "a sequence's child outside any loop has transitions"),
    ("NPA319", "no-fall-through", Severity.ERROR, "transitions can be exhausted and no next follows"),
    ("NPA321", "bad-condition", Severity.ERROR, "an if is not a config key"),
    ("NPA322", "quoted-false", Severity.WARNING, "a quoted false value counts as true"),
)
"""What this rule reports: code, name, severity and a summary."""

_LOOKS_FALSE = frozenset(("false", "no", "n", "0", "off", "null", "none"))


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report bad conditions, transitions that never route, and exits that are missing."""
    for name, state in flow.spec.states.items():
        for transition in state.transitions:
            if transition.condition is not None:
                yield from _condition(flow, transition, transition.condition)
        parent = flow.structure.parent.get(name)
        if parent is None:
            if not state.terminal and state.parallel is None:
                yield from _dead(state)
            exits = flow.structure.exits[name]
            if exits.decides and exits.exhausted:
                message = f"no transition of {name!r} is taken for some decision, and it has no next"
                help_text = "add next: NAME, or a transition for the other decision"
                yield finding("no-fall-through", message, state.key_span("transitions"), help_text)
            elif (
                state.transitions
                and exits.promote is None
                and not (exits.decides or state.terminal or state.next is not None)
                and all(item.goto is not None for item in state.transitions)
            ):
                message = f"every transition of {name!r} has an if that is false, and it has no next"
                yield finding("no-fall-through", message, state.key_span("transitions"), "add next: NAME")
        elif state.transitions and flow.spec.states[parent].sequence is not None:
            yield from _child(flow, state, parent)


def _condition(flow: Flow, transition: Transition, scalar: Scalar) -> Iterator[Diagnostic]:
    parsed = parse_condition(scalar.value)
    if not isinstance(parsed, Condition):
        yield finding("bad-condition", f"if cannot be read: {parsed.message}", scalar.span, parsed.help)
        return
    flow.config.read.add(parsed.key)
    entry = flow.config.entries.get(parsed.key)
    span = scalar.inner(parsed.start, parsed.end)
    if entry is None:
        near = flow.config.names.nearest(parsed.key)
        help_text = f"did you mean {near[0]!r}?" if near else "declare it in config"
        yield finding("unknown-config-key", f"there is no config key {parsed.key!r}", span, help_text)
        return
    node = entry.node
    if not isinstance(node, Scalar) or node.value.lower() not in _LOOKS_FALSE:
        return
    if condition_holds(flow.config, transition):
        message = f"the config key {parsed.key!r} is the text {node.value!r}, which counts as true"
        related = (Related("it decides this transition", scalar.span),)
        yield finding(
            "quoted-false",
            message,
            node.span,
            "write false, without quotes, if that is meant",
            related=related,
        )


def _dead(state: State) -> Iterator[Diagnostic]:
    for transition, before in dead_transitions(state):
        if transition.goto is None:
            continue
        message = f"the transition to {transition.goto.value!r:.120} is never taken: one before it always is"
        related = (Related("this one is", before.span),)
        help_text = "put the one that asks for more first, or remove it"
        yield finding("transition-never-routes", message, transition.goto.span, help_text, related=related)


def _child(flow: Flow, state: State, parent: str) -> Iterator[Diagnostic]:
    name = state.name.value
    loop = flow.structure.loop_around(flow.spec, name)
    related = (Related(f"{name!r} is a member of {parent!r}", flow.spec.states[parent].name.span),)
    if loop is None:
        message = f"{name!r} is a sequence's child, and outside a loop a child's transitions mean nothing"
        help_text = "move the transitions to the sequence, or make the child a state of its own"
        yield finding("child-transitions", message, state.key_span("transitions"), help_text, related=related)
        return
    exit_name = flow.spec.states[loop].next
    for transition in state.transitions:
        yield from _body_goto(flow, transition, loop, exit_name.value if exit_name is not None else None)


def _body_goto(flow: Flow, transition: Transition, loop: str, leaves_to: str | None) -> Iterator[Diagnostic]:
    goto = transition.goto
    if goto is None or goto.value not in flow.spec.states or goto.value in (loop, leaves_to):
        return
    if flow.structure.encloses(loop, goto.value):
        return
    loop_state = flow.spec.states[loop]
    outer = flow.structure.parent.get(loop)
    if leaves_to is None and outer is not None and goto.value == flow.structure.after(loop):
        return
    severity = Severity.ERROR if flow.spec.runtime_mode else None
    related = (Related(f"the loop {loop!r}", loop_state.name.span),)
    message = f"goto {goto.value!r} inside the body of the loop {loop!r} never routes"
    leaves = leaves_to or "what follows the loop"
    help_text = f"a goto here means go on ({loop} or a member of it) or leave ({leaves})"
    yield finding(
        "transition-never-routes", message, goto.span, help_text, related=related, severity=severity
    )
