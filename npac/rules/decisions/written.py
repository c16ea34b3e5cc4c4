"""A decision is written on every path before it is read."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.flow.graph import Kind
from npac.flow.symbolic import hole_names, written
from npac.ir.values import Hole, Value
from npac.rules.decisions.sources import decision_place


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report gates that some path reaches without a writer of their very URI."""
    graph = flow.graph
    if graph is None:
        return
    for point in graph.points:
        if point.kind is not Kind.GATE or not flow.reached(point.index):
            continue
        uri = decision_place(flow, point.state, point.role)
        if uri is None:
            continue
        path = _unwritten_path(flow, point.index, uri)
        if path is None:
            continue
        state = flow.spec.states[point.state]
        at = state.key_span("loop" if point.role == "until" else "transitions")
        severity = Severity.ERROR if flow.spec.runtime_mode else None
        if len(path) > 8:
            path = [*path[:3], "...", *path[-4:]]
        message = (
            f"{point.state!r} reads the decision at {written(uri)}, and no state with writesDecision "
            f"writes it on this path: {' -> '.join(path)}"
        )
        help_text = (
            "mark the state that writes it with writesDecision: true and declare that URI as its output"
        )
        yield finding("decision-not-written", message, at, help_text, severity=severity)


def _unwritten_path(flow: Flow, target: int, uri: Value) -> list[str] | None:
    """Give the states on a path to ``target`` on which nobody has written ``uri``; None if there is none.

    Beginning another iteration of a loop that the URI names, or running again a state that it
    names, makes it another URI.
    """
    graph = flow.graph
    assert graph is not None
    names: set[str] = set()
    hole_names(uri, names)
    loops = {name.removeprefix("loop.") for name in names if name.startswith("loop.")}
    states = {name.removeprefix("state.").rpartition(".")[0] for name in names if name.startswith("state.")}
    begin = (graph.entry, False)
    came: dict[tuple[int, bool], tuple[int, bool] | None] = {begin: None}
    queue = [begin]
    for at, done in queue:
        if at == target and not done:
            return _path(flow, came, (at, done))
        point = graph.points[at]
        after = done
        if point.kind is Kind.WAVE:
            ran = (
                flow.structure.members.get(point.state)
                if flow.spec.states[point.state].parallel
                else (point.state,)
            )
            if any(name in states for name in ran or ()):
                after = False
            for name in ran or ():
                if flow.spec.states[name].writes_decision and _writes(flow, name, uri):
                    after = True
        elif point.kind is Kind.SET_LOOP and point.state in loops:
            after = False
        for index, follow in enumerate(point.successors):
            renewed = point.kind is Kind.NEXT_ITERATION and index == 0 and point.state in loops
            key = (follow, False if renewed else after)
            if key not in came:
                came[key] = (at, done)
                queue.append(key)
    return None


def _writes(flow: Flow, name: str, uri: Value) -> bool:
    """Say whether the decision of ``name`` goes to ``uri``, which may be its own output's token."""
    step = flow.steps.by_state[name]
    if isinstance(uri, Hole) and uri.name.startswith(f"state.{name}."):
        number = uri.name.rpartition(".")[2]
        if uri.name == f"state.{name}.{number}" and step.outputs[int(number) - 1].uri == step.decision_uri:
            return True
    return step.decision_uri == uri


def _path(
    flow: Flow, came: dict[tuple[int, bool], tuple[int, bool] | None], last: tuple[int, bool]
) -> list[str]:
    assert flow.graph is not None
    names: list[str] = []
    at: tuple[int, bool] | None = last
    while at is not None:
        point = flow.graph.points[at[0]]
        if point.state and (not names or names[-1] != point.state):
            names.append(point.state)
        at = came[at]
    names.reverse()
    return names
