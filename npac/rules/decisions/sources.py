"""Every decision that is read has a place, and every writer declares its place as an output."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.ir.values import Value

CODES = (
    ("NPA401", "no-decision-source", Severity.ERROR, "nothing says where a decision is read from"),
    ("NPA402", "decision-from-config", Severity.WARNING, "a loop's decision comes from no state of its body"),
    ("NPA403", "decision-not-an-output", Severity.ERROR, "a decision is written where no output is declared"),
)
"""What this rule reports: code, name, severity and a summary."""

_HELP = "give an output a schema label with the word decision, or set config.decision_uri"

_ROUTER_HELP = (
    'say where: params: {decision_uri: "{{state.NAME.uri}}"}, NAME being the state that writes it '
    "(or set config.decision_uri)"
)


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report gates that read from nowhere, loops without a writer, and writers without an output."""
    for name, state in flow.spec.states.items():
        step = flow.steps.by_state[name]
        if state.loop is not None and state.loop.until is not None and not state.parallel:
            at = state.loop.until.span
            if decision_place(flow, name, "until") is None:
                message = f"the loop {name!r} has until, and nothing says where its decision is read from"
                help_text = (
                    "mark the body's last direct child that decides with writesDecision: true, "
                    "or set config.decision_uri"
                )
                yield finding("no-decision-source", message, at, help_text)
            elif state.sequence is not None and flow.gate_writer(name, "until") is None:
                message = (
                    f"no direct child of the loop {name!r} writes a decision; "
                    "it is read from config.decision_uri"
                )
                yield finding(
                    "decision-from-config",
                    message,
                    at,
                    "mark the child that decides with writesDecision: true",
                )
        exits = flow.structure.exits.get(name)
        if exits is not None and exits.decides and decision_place(flow, name, "transitions") is None:
            message = f"{name!r} routes by a decision, and nothing says where it is read from"
            help_text = _HELP if state.works else _ROUTER_HELP
            yield finding("no-decision-source", message, state.key_span("transitions"), help_text)
        if state.writes_decision and state.works:
            outputs = [item.uri for item in step.outputs]
            if not step.decision_uri:
                message = f"{name!r} writes a decision, and nothing says where"
                yield finding("no-decision-source", message, state.key_span("writesDecision"), _HELP)
            elif step.decision_uri not in outputs:
                message = f"{name!r} writes its decision to decision_uri, which is not among its outputs"
                help_text = 'declare it: outputs: [{uri: "{{config.decision_uri}}", schema: ...}]'
                yield finding("decision-not-an-output", message, state.key_span("writesDecision"), help_text)


def decision_place(flow: Flow, state: str, role: str) -> Value | None:
    """Give the URI at which a gate reads its decision; None when nothing, or an empty text, says so."""
    writer = flow.gate_writer(state, role)
    uri = flow.steps.by_state[writer].decision_uri if writer is not None else flow.gate_uri(state, role)
    return uri or None
