"""``needs`` orders nothing; it must hold anyway, and must not turn in a circle."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.flow import Flow


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report cycles of needs, and needs that are not met on every path."""
    cycle = _cycle(flow)
    if cycle:
        need = next(item for item in flow.spec.states[cycle[0]].needs if item.value == cycle[1])
        message = "needs lead in a circle: " + " -> ".join(cycle)
        yield finding("needs-cycle", message, need.span, "remove one of them")
        return
    if flow.graph is None or flow.dominators is None:
        return
    for name, state in flow.spec.states.items():
        at = flow.graph.begin[name]
        if not flow.reached(at):
            continue
        for need in state.needs:
            if need.value not in flow.spec.states or need.value == name:
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


def _cycle(flow: Flow) -> list[str] | None:
    color: dict[str, int] = {}
    for start in flow.spec.states:
        if start in color:
            continue
        path: list[str] = []
        stack: list[tuple[str, list[str]]] = [(start, _needs(flow, start))]
        color[start] = 1
        path.append(start)
        while stack:
            name, waiting = stack[-1]
            if not waiting:
                stack.pop()
                path.pop()
                color[name] = 2
                continue
            follow = waiting.pop()
            mark = color.get(follow)
            if mark is None:
                color[follow] = 1
                path.append(follow)
                stack.append((follow, _needs(flow, follow)))
            elif mark == 1:
                return [*path[path.index(follow) :], follow]
    return None


def _needs(flow: Flow, name: str) -> list[str]:
    return [need.value for need in flow.spec.states[name].needs if need.value in flow.spec.states]
