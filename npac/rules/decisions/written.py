"""A decision is written on every path before it is read."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.flow.graph import Kind, Point
from npac.flow.symbolic import hole_names, written
from npac.ir.values import Hole, Value
from npac.rules.decisions.sources import decision_place
from npac.rules.decisions.stale import stale

CODES = (
    (
        "NPA404",
        "decision-not-written",
        Severity.WARNING,
        "a decision is not written on every path to its gate",
    ),
    ("NPA406", "stale-decision", Severity.WARNING, "a loop's decision is not written in its iterations"),
)
"""What this rule reports: code, name, severity and a summary."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report gates that some path reaches without a writer of their very URI, and those that read it anew.

    The second are loops whose decision was written before, and not by any of their iterations.
    """
    graph = flow.graph
    if graph is None:
        return
    gates: list[tuple[Point, Value]] = []
    for point in graph.points:
        if point.kind is Kind.GATE and flow.reached(point.index):
            uri = decision_place(flow, point.state, point.role)
            if uri is not None:
                gates.append((point, uri))
    if not gates:
        return
    places = _Places(flow, list(dict.fromkeys(uri for _, uri in gates)))
    open_at = places.unwritten()
    sure: list[tuple[str, Value]] = []
    for point, uri in gates:
        if not open_at[point.index] >> places.number[uri] & 1:
            if point.role == "until":
                sure.append((point.state, uri))
            continue
        state = flow.spec.states[point.state]
        at = state.key_span("loop" if point.role == "until" else "transitions")
        severity = Severity.ERROR if flow.spec.runtime_mode else None
        path = places.path(point.index, uri)
        way = f"this path: {' -> '.join(path)}" if path else "some path to it"
        message = (
            f"{point.state!r} reads the decision at {written(uri)}, and no state with writesDecision "
            f"writes it on {way}"
        )
        help_text = (
            "mark the state that writes it with writesDecision: true and declare that URI as its output"
        )
        yield finding("decision-not-written", message, at, help_text, severity=severity)
    yield from stale(flow, sure)


class _Places:
    """The URIs that gates read, each a bit of a number, and what every point does to them.

    Beginning another iteration of a loop that a URI names, or running again a state that it names,
    makes it another URI, which nobody has written yet.
    """

    def __init__(self, flow: Flow, uris: list[Value]) -> None:
        self.flow = flow
        self.number = {uri: at for at, uri in enumerate(uris)}
        self.loops: dict[str, int] = {}
        self.states: dict[str, int] = {}
        self._own: dict[str, list[tuple[int, int]]] = {}
        self._bare = 0  # URIs that no point makes others
        for at, uri in enumerate(uris):
            names: set[str] = set()
            hole_names(uri, names)
            bare = True
            for name in names:
                scope, _, rest = name.partition(".")
                if scope in ("loop", "state"):
                    table = self.loops if scope == "loop" else self.states
                    key = rest if scope == "loop" else rest.rpartition(".")[0]
                    table[key] = table.get(key, 0) | 1 << at
                    bare = False
            self._bare |= bare << at
            if isinstance(uri, Hole) and uri.name.startswith("state."):
                owner, _, number = uri.name.removeprefix("state.").rpartition(".")
                self._own.setdefault(owner, []).append((int(number), at))
        assert flow.graph is not None
        self.graph = flow.graph
        self._effects = [self._effect(point) for point in self.graph.points]
        self._writers: dict[int, list[int]] | None = None

    def unwritten(self) -> list[int]:
        """Give, by point, the URIs that nobody may have written when it is reached."""
        graph = self.graph
        found = [0] * len(graph.points)
        found[graph.entry] = (1 << len(self.number)) - 1
        order = self.flow.order
        place = [0] * len(graph.points)
        for rank, at in enumerate(order):
            place[at] = rank
        again = True
        changed = [True] * len(graph.points)  # a point may make other URIs of those that come to it written
        while again:  # a sweep more for every loop that turns back into another
            again = False
            for at in order:
                if not changed[at]:
                    continue
                changed[at] = False
                point = graph.points[at]
                renewed, done = self._effects[at]
                after = (found[at] | renewed) & ~done
                for index, follow in enumerate(point.successors):
                    value = after
                    if index == 0 and point.kind is Kind.NEXT_ITERATION:
                        value |= self.loops.get(point.state, 0)
                    if value & ~found[follow]:
                        found[follow] |= value
                        changed[follow] = True
                        again = again or place[follow] <= place[at]
        return found

    def path(self, target: int, uri: Value) -> list[str] | None:
        """Give the states on a path to ``target`` on which nobody has written ``uri``.

        None when there are too many such paths to look for.
        """
        number = self.number[uri]
        if self._bare >> number & 1:
            return self.flow.ways.around(target, self._writers_of(number))
        if not self.flow.ways.spend(2 * len(self.graph.points)):
            return None
        return self._search(target, number)

    def _writers_of(self, number: int) -> list[int]:
        if self._writers is None:
            self._writers = {}
            for at, (_, done) in enumerate(self._effects):
                while done:
                    low = (done & -done).bit_length() - 1
                    self._writers.setdefault(low, []).append(at)
                    done &= done - 1
        return self._writers.get(number, [])

    def _search(self, target: int, number: int) -> list[str] | None:
        graph, ways, bit = self.graph, self.flow.ways, 1 << number
        begin = (graph.entry, True)
        found = {begin: ways.said(graph.entry, None)}
        queue = [begin]
        for at, is_open in queue:
            if at == target and is_open:
                way = found[at, is_open]
                return way.names() if way is not None else None
            point = graph.points[at]
            renewed, done = self._effects[at]
            after = (is_open or bool(renewed & bit)) and not done & bit
            for index, follow in enumerate(point.successors):
                anew = (
                    index == 0 and point.kind is Kind.NEXT_ITERATION and self.loops.get(point.state, 0) & bit
                )
                key = (follow, after or bool(anew))
                if key not in found:
                    found[key] = ways.said(follow, found[at, is_open])
                    queue.append(key)
        return None

    def _effect(self, point: Point) -> tuple[int, int]:
        """Give the URIs that become others at a point, and then those that are written there."""
        if point.kind is Kind.SET_LOOP:
            return self.loops.get(point.state, 0), 0
        if point.kind is not Kind.WAVE:
            return 0, 0
        ran: tuple[str, ...] = (point.state,)
        if self.flow.spec.states[point.state].parallel:
            ran = self.flow.structure.members.get(point.state, ())
        renewed = done = 0
        for name in ran:
            renewed |= self.states.get(name, 0)
            if self.flow.spec.states[name].writes_decision:
                done |= self._written_by(name)
        return renewed, done

    def _written_by(self, name: str) -> int:
        """Give the URIs to which the decision of ``name`` goes, which may be its own outputs' tokens."""
        step = self.flow.steps.by_state[name]
        if step.decision_uri is None:
            return 0
        number = self.number.get(step.decision_uri)
        found = 0 if number is None else 1 << number
        for output, at in self._own.get(name, ()):
            if step.outputs[output - 1].uri == step.decision_uri:
                found |= 1 << at
        return found
