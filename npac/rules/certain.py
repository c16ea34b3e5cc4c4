"""Which ways through a spec are certain although some of its text could not be read."""

from __future__ import annotations

from collections.abc import Iterable

from npac.flow.flow import Flow
from npac.flow.graph import Kind
from npac.rules.unread import ANY, LEADING, Unread


class Certain(Unread):
    """What could not be read, and what of the flow graph is known all the same."""

    def __init__(self, flow: Flow) -> None:
        super().__init__(flow)
        self._doubtful: frozenset[int] | None = None
        self._gates: dict[tuple[str, str], int] = {}
        self._led: set[str] | None = None

    def gate(self, state: str, role: str) -> int | None:
        """Give the point of a state's gate."""
        graph = self.flow.graph
        if graph is None:
            return None
        if not self._gates:
            self._gates = {
                (point.state, point.role): point.index for point in graph.points if point.kind is Kind.GATE
            }
        return self._gates.get((state, role))

    def way(self, target: int, avoid: Iterable[int]) -> bool:
        """Say whether some path leads to a point past none of ``avoid``, and past nothing that is in doubt.

        What could not be read may add ways; it takes none of these away.
        """
        doubtful = self._points()
        if not doubtful:
            return True
        around = doubtful.union(avoid) - {target}
        return self.flow.ways.around(target, around) is not None

    def may_lead_to(self, state: str) -> bool:
        """Say whether something that could not be read may lead to a state, or to one before it."""
        if self._led is None:
            self._led = self._closure()
        return state in self._led

    def _points(self) -> frozenset[int]:
        if self._doubtful is not None:
            return self._doubtful
        flow = self.flow
        graph, parent = flow.graph, flow.structure.parent
        # a group that closes a chain of groups has a member that is left out of the graph
        found = {graph.begin[ring[-1]] for ring in flow.structure.cycles} if graph is not None else set()
        for name, lost in self.states.items() if graph is not None else ():
            assert graph is not None
            group = parent.get(name)
            if name not in graph.begin or (
                group is not None and flow.spec.states[group].parallel is not None
            ):
                continue
            if name in graph.begin and not lost.isdisjoint(("sequence", "parallel", ANY)):
                found.add(graph.begin[name])
            elif (
                name in graph.done
                and group is None
                and not lost.isdisjoint(("next", "transitions", "terminal"))
            ):
                found.add(graph.done[name])
        self._doubtful = frozenset(found)
        return self._doubtful

    def _closure(self) -> set[str]:
        spec = self.flow.spec
        if self.leads_anywhere:
            return set(spec.states)
        lost = [name for name, keys in self.states.items() if not keys.isdisjoint((*LEADING, ANY))]
        found = self.words.intersection(spec.states) if lost else set()
        stack = list(found)
        while stack:
            name = stack.pop()
            state = spec.states[name]
            targets = [*state.members, state.next, *(item.goto for item in state.transitions)]
            for target in targets:
                if target is not None and target.value in spec.states and target.value not in found:
                    found.add(target.value)
                    stack.append(target.value)
        return found
