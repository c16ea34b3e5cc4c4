"""``needs`` orders nothing; it must hold anyway, and must not turn in a circle."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.circles import circles
from npac.flow.flow import Flow

CODES = (
    ("NPA327", "needs-cycle", Severity.ERROR, "needs form a cycle"),
    ("NPA328", "needs-not-run", Severity.WARNING, "a needed state has not run on every path"),
)
"""What this rule reports: code, name, severity and a summary."""

_MOST = 8
"""Names that are shown at either end of a long circle."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report cycles of needs, and needs that are not met on every path."""
    having = [name for name, state in flow.spec.states.items() if state.needs]
    rings = circles(having, lambda name: _needs(flow, name))
    for circle in rings:
        yield _circle(flow, circle)
    ring = {name: at for at, circle in enumerate(rings) for name in circle}
    if flow.graph is None or flow.dominators is None:
        return
    for name, state in flow.spec.states.items():
        at = flow.graph.begin[name]
        if not flow.reached(at):
            continue
        for need in state.needs:
            if need.value not in flow.spec.states or need.value == name:
                continue
            if name in ring and ring[name] == ring.get(need.value):
                continue
            done = flow.graph.done[need.value]
            if flow.dominators.dominates(done, at) and not _same_group(flow, name, need.value):
                continue
            path = flow.ways.around(at, (done,))
            way = f": {' -> '.join(path)}" if path and len(path) > 1 else ""
            message = f"{name!r} needs {need.value!r}, which has not run on every path to it{way}"
            help_text = "needs orders nothing: let a next or a sequence put it first, or remove it"
            yield finding("needs-not-run", message, need.span, help_text)


def _same_group(flow: Flow, name: str, need: str) -> bool:
    parent = flow.structure.parent.get(name)
    return (
        parent is not None
        and flow.structure.parent.get(need) == parent
        and flow.spec.states[parent].parallel is not None
    )


def _circle(flow: Flow, circle: tuple[str, ...]) -> Diagnostic:
    """Report a circle at the need that closes it."""
    need = next(item for item in flow.spec.states[circle[-2]].needs if item.value == circle[-1])
    names = circle if len(circle) <= 2 * _MOST else (*circle[:_MOST], "...", *circle[-_MOST:])
    message = "needs lead in a circle: " + " -> ".join(names)
    return finding("needs-cycle", message, need.span, "remove one of them")


def _needs(flow: Flow, name: str) -> list[str]:
    return [need.value for need in flow.spec.states[name].needs if need.value in flow.spec.states]
