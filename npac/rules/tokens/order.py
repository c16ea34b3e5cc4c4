"""A loop or state token is read only where its loop or state has run on every path."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related, Severity
from npac.flow.flow import Flow
from npac.flow.graph import FlowGraph, Kind
from npac.flow.symbolic import FlowUse
from npac.syntax.templates import parse_template

CODES = (
    ("NPA209", "state-not-run", Severity.ERROR, "a state token is read before its state has run"),
    ("NPA211", "loop-not-run", Severity.ERROR, "a loop token is read before its loop has begun"),
    ("NPA212", "sibling-value", Severity.ERROR, "a member of a parallel group reads another member"),
)
"""What this rule reports: code, name, severity and a summary."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report loop and state tokens that may be read too early, and members that read a sibling."""
    if flow.graph is None or flow.dominators is None:
        return
    for use in flow.steps.evaluator.uses:
        if flow.reached(flow.graph.begin[use.reader]):
            yield from _use(flow, use)


def _use(flow: Flow, use: FlowUse) -> Iterator[Diagnostic]:
    assert flow.graph is not None and flow.dominators is not None
    spec = flow.spec
    reader = flow.graph.work.get(use.reader, flow.graph.begin[use.reader])
    if spec.states[use.reader].sequence is not None:
        reader = _opening(flow.graph, use.reader)
    related = (Related(f"{use.name!r} is defined here", spec.states[use.name].name.span),)
    if use.scope == "loop":
        begin = flow.graph.loop_begin.get(use.name)
        if begin is not None and flow.dominators.dominates(begin, reader):
            return
        path = flow.ways.around(reader, (begin,)) if begin is not None else None
        yield _early(flow, "loop-not-run", f"the loop {use.name!r} has not begun", use, path, related)
        return
    parent = flow.structure.parent.get(use.reader)
    beside = parent is not None and parent == flow.structure.parent.get(use.name) and use.name != use.reader
    if parent is not None and beside and spec.states[parent].parallel:
        message = f"{use.reader!r} reads {use.name!r}, which runs beside it in the group {parent!r}"
        help_text = "members of a parallel group run at one time; read it after the group"
        yield finding("sibling-value", message, use.span, help_text, related=related)
        return
    done = flow.graph.done[use.name]
    if done != reader and flow.dominators.dominates(done, reader):
        return
    path = flow.ways.around(reader, (done,))
    remedy = _remedy(flow, use)
    yield _early(flow, "state-not-run", f"the state {use.name!r} has not run", use, path, related, remedy)


def _remedy(flow: Flow, use: FlowUse) -> str:
    """Say what to do where a state token is read too early."""
    own = use.name == use.reader
    around = _loops(flow, use.name)
    shared = [name for name in _loops(flow, use.reader) if name in around]
    if shared:
        # What is meant is the iteration before, and the first one has none.
        loop = shared[-1]
        return (
            f"in the first iteration of {loop!r} it has not run before: give the command {{{{loop.{loop}}}}} "
            "and let it read the file of the iteration before, or let a state before the loop write what the "
            "first iteration reads"
            + (f"; for the file that it writes itself, {_as_in_outputs(flow, use)}" if own else "")
        )
    if own:
        return (
            f"{use.name!r} is the state that writes this, and a state token stands for what was written "
            f"before: {_as_in_outputs(flow, use)}"
        )
    return ""


def _as_in_outputs(flow: Flow, use: FlowUse) -> str:
    """Say what a state's own command is to write instead of the token for its own output."""
    token = next((token for token in parse_template(use.span.text).tokens if token.scope == "state"), None)
    digits = token.path.rpartition(".output_")[2] if token is not None else ""
    index = int(digits) - 1 if digits.isdecimal() and len(digits) < 7 else 0
    outputs = flow.spec.states[use.name].outputs
    uri = outputs[index].uri.node.value if index < len(outputs) else ""
    said = f", {uri}" if 0 < len(uri) <= 160 and "\n" not in uri else ""
    return f"in its own command write the URI out as its outputs do{said}"


def _loops(flow: Flow, name: str) -> tuple[str, ...]:
    """Give the loops in which a state is, the outermost first, its own included."""
    around = flow.structure.enclosing_loops(flow.spec, name)
    return (*around, name) if flow.spec.states[name].loop is not None else around


def _opening(graph: FlowGraph, group: str) -> int:
    """Give the point at which a sequence opens: its own loop has begun there, its members have not run."""
    at = graph.begin[group]
    while graph.points[at].kind is not Kind.OPEN:
        at = graph.points[at].successors[0]
    return at


def _early(
    flow: Flow,
    code: str,
    what: str,
    use: FlowUse,
    path: list[str] | None,
    related: tuple[Related, ...],
    remedy: str = "",
) -> Diagnostic:
    way = " -> ".join(path) if path else use.reader
    message = f"{what} on every path to {use.reader!r}"
    if code == "state-not-run" and use.name == use.reader:
        message = f"{use.reader!r} reads its own output, which it has not written when it begins"
    help_text = remedy or f"on this path it has not: {way}; lead it through {use.name!r} first"
    return finding(code, message, use.span, help_text, related=related)
