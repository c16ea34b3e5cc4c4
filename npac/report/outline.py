"""What a drawing shows of a spec besides its program."""

from __future__ import annotations

from npac.flow.flow import Flow
from npac.ir.program import PROMOTE
from npac.report.drawing import Outline
from npac.text.yaml_nodes import Map, Scalar, Seq


def outline(flow: Flow | None) -> Outline:
    """Give what a spec says and its program does not keep; nothing for raw SkyPilot YAML."""
    if flow is None or flow.graph is None:
        return Outline()
    begin = flow.graph.begin
    unreached = tuple(name for name in flow.spec.states if not flow.reached(begin[name]))
    return Outline(_descriptions(flow), _ends(flow), unreached)


def _descriptions(flow: Flow) -> dict[str, str]:
    states = flow.spec.top.entries["states"][1] if "states" in flow.spec.top.entries else None
    found: dict[str, str] = {}
    if isinstance(states, Map):
        items = [(name, state) for name, (_, state) in states.entries.items()]
    elif isinstance(states, Seq):
        items = []
        for state in states.items:
            name = state.entries.get("name") if isinstance(state, Map) else None
            if name is not None and isinstance(name[1], Scalar):
                items.append((name[1].value, state))
    else:
        items = []
    for title, state in items:
        entry = state.entries.get("description") if isinstance(state, Map) else None
        if entry is not None and isinstance(entry[1], Scalar):
            found[title] = " ".join(entry[1].value.split())
    return found


def _ends(flow: Flow) -> dict[tuple[str, str], str]:
    """Name the terminal states without work, by the states and decisions that lead to them."""
    states, exits = flow.spec.states, flow.structure.exits

    def idle_end(name: str | None) -> str:
        """Follow states that neither work nor decide; give the terminal one at which that ends."""
        seen: set[str] = set()
        while name is not None and name not in seen:
            seen.add(name)
            state = states[name]
            if state.works or state.is_group or name not in exits or exits[name].decides:
                return ""
            if state.terminal:
                return name
            name = exits[name].promote
        return ""

    found: dict[tuple[str, str], str] = {}
    for name, leads in exits.items():
        ways = [("", leads.promote)]
        if leads.decides:
            ways = [(PROMOTE, leads.promote), ("loop_back", leads.loop_back)]
        for decision, target in ways:
            if end := idle_end(target):
                found[name, decision] = end
    if flow.spec.initial is not None and (end := idle_end(flow.spec.initial.value)):
        found["", ""] = end
    return found
