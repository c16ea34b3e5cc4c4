"""The flow graph: what happens in which order, before loops are unrolled.

Each state gives a few points (begin a loop, open a group, run a wave, check a group's outputs,
read a gate, go on with or leave a loop, end).  A state stands in one place of the graph, whatever the
number of its iterations, so the graph is as large as the spec.
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise

from npac.flow.structure import Structure
from npac.syntax.ast import Spec


class Kind(Enum):
    """What a point does."""

    ENTER = "enter"
    """A state begins; nothing happens."""
    SET_LOOP = "set-loop"
    """A loop's counter becomes 1."""
    OPEN = "open"
    """A sequence's declared outputs are about to be made."""
    WAVE = "wave"
    """A leaf, or all members of a parallel group, run."""
    OUTPUTS = "outputs"
    """A group's last member has ended."""
    GATE = "gate"
    """A decision is read: two successors, ``promote_checkpoint`` first."""
    NEXT_ITERATION = "next-iteration"
    """Two successors: the body again with the counter one higher, or what follows the loop."""
    END = "end"


class Point:
    """One point of the graph; ``state`` is the state that it belongs to (empty for the end)."""

    __slots__ = ("index", "kind", "role", "state", "successors")

    def __init__(self, index: int, kind: Kind, state: str, role: str) -> None:
        self.index = index
        self.kind = kind
        self.state = state
        self.role = role
        """For a gate: ``until`` or ``transitions``."""
        self.successors: tuple[int, ...] = ()


class FlowGraph:
    """Points and where each state's begin, wave and end are among them."""

    __slots__ = ("begin", "done", "entry", "loop_begin", "points", "work")

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.entry = 0
        self.begin: dict[str, int] = {}
        """The point at which a state begins."""
        self.work: dict[str, int] = {}
        """The wave in which a state runs (a member's is its group's)."""
        self.done: dict[str, int] = {}
        """The point after which a state has run and its outputs are there."""
        self.loop_begin: dict[str, int] = {}
        """The point at which a loop's counter is set."""

    def add(self, kind: Kind, state: str, role: str = "") -> Point:
        """Append a point."""
        point = Point(len(self.points), kind, state, role)
        self.points.append(point)
        return point


def build_graph(spec: Spec, structure: Structure) -> FlowGraph:
    """Build the flow graph of a spec whose structure is sound."""
    graph = FlowGraph()
    last: dict[str, Point] = {}
    for name in spec.states:
        graph.begin[name] = graph.add(Kind.ENTER, name).index
    end = graph.add(Kind.END, "")
    for name in spec.states:
        parent = structure.parent.get(name)
        if parent is not None and spec.states[parent].sequence is None:
            continue  # a member runs in its group's wave
        last[name] = _state_points(spec, structure, graph, name)
    for name in spec.states:
        parent = structure.parent.get(name)
        if parent is not None and spec.states[parent].sequence is None:
            graph.begin[name] = graph.work[name] = graph.done[name] = graph.work[parent]
    follower = {
        child: following for children in structure.members.values() for child, following in pairwise(children)
    }
    for name, point in last.items():
        _connect_exit(spec, structure, graph, follower, name, point, end)
    if spec.initial is not None and spec.initial.value in graph.begin:
        graph.entry = graph.begin[spec.initial.value]
    return graph


def _state_points(spec: Spec, structure: Structure, graph: FlowGraph, name: str) -> Point:
    """Lay the points inside a state; gives the one whose successor is the state's exit."""
    state = spec.states[name]
    at = graph.points[graph.begin[name]]
    if state.loop is not None:
        point = graph.add(Kind.SET_LOOP, name)
        graph.loop_begin[name] = point.index
        at.successors = (point.index,)
        at = point
    body_begin: int | None = None
    if state.sequence is not None:
        opened = graph.add(Kind.OPEN, name)
        at.successors = (opened.index,)
        body_begin = opened.index
        outputs = graph.add(Kind.OUTPUTS, name)
        graph.done[name] = outputs.index
        children = structure.members.get(name, ())
        opened.successors = (graph.begin[children[0]],) if children else (outputs.index,)
        at = outputs
    elif state.works or state.parallel is not None:
        wave = graph.add(Kind.WAVE, name)
        graph.work[name] = graph.done[name] = wave.index
        at.successors = (wave.index,)
        body_begin = wave.index
        at = wave
    else:
        graph.done[name] = at.index
    if state.loop is not None and body_begin is not None:
        again = graph.add(Kind.NEXT_ITERATION, name)
        after = graph.add(Kind.ENTER, name)
        again.successors = (body_begin, after.index)
        if state.loop.until is not None:
            gate = graph.add(Kind.GATE, name, "until")
            at.successors = (gate.index,)
            if state.loop.until.value == "loop_back":
                gate.successors = (again.index, after.index)
            else:
                gate.successors = (after.index, again.index)
        else:
            at.successors = (again.index,)
        at = after
    return at


def _connect_exit(
    spec: Spec,
    structure: Structure,
    graph: FlowGraph,
    follower: dict[str, str],
    name: str,
    point: Point,
    end: Point,
) -> None:
    parent = structure.parent.get(name)
    if parent is not None:
        point.successors = (graph.begin[follower[name]] if name in follower else graph.done[parent],)
        return
    exits = structure.exits[name]

    def to(target: str | None) -> int:
        return graph.begin[target] if target is not None else end.index

    if spec.states[name].terminal:
        point.successors = (end.index,)
    elif exits.decides:
        gate = graph.add(Kind.GATE, name, "transitions")
        gate.successors = (to(exits.promote), to(exits.loop_back))
        point.successors = (gate.index,)
    else:
        point.successors = (to(exits.promote),)
