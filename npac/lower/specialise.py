"""Partial evaluation of the flow graph into a DAG.

A node is a point of the flow graph together with the values of the variables that are live there.
Equal keys are one node: continuations join where nothing that is still used differs, and split
where something does.  Everything between two nodes (setting counters, checking groups' outputs) is
carried out on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.counters import loop_bound
from npac.flow.flow import Flow
from npac.flow.graph import FlowGraph, Kind
from npac.flow.passes import live_variables
from npac.flow.symbolic import substitute
from npac.ir.program import Artifact, GroupOutputs
from npac.ir.values import Value
from npac.lower.texts import BoundMet, Texts

MAX_NODES = 250_000

Env = Mapping[str, Value]


@dataclass(slots=True)
class RawNode:
    """A node before it has a number and a name."""

    point: int
    env: dict[str, Value]
    """The live variables, by name, in order."""
    opens: tuple[GroupOutputs, ...] = ()
    checks: tuple[GroupOutputs, ...] = ()
    successors: tuple[int, ...] = ()


@dataclass(slots=True)
class Specialised:
    """The DAG by index; node 0 is the entry."""

    nodes: list[RawNode] = field(default_factory=list)


class TooManyNodes(BoundMet):
    """The bound on nodes was met."""


def specialise(flow: Flow, texts: Texts, *, max_nodes: int = MAX_NODES) -> Specialised:
    """Unroll the flow graph; equal texts of its nodes are kept once, in ``texts``.

    Raises :class:`TooManyNodes` or :class:`npac.lower.texts.TooLarge` before more is built.
    """
    return _Worklist(flow, texts, max_nodes).run()


class _Worklist:
    def __init__(self, flow: Flow, texts: Texts, max_nodes: int) -> None:
        assert flow.graph is not None
        self.flow = flow
        self.texts = texts
        self.graph: FlowGraph = flow.graph
        self.max_nodes = max_nodes
        uses = [flow.uses(at) for at in range(len(self.graph.points))]
        defines = [flow.defines(at) for at in range(len(self.graph.points))]
        live = live_variables(self.graph, flow.order, uses.__getitem__, defines.__getitem__)
        self.live = [tuple(sorted(names)) for names in live]
        self.read = frozenset().union(*live)
        self.bounds: dict[str, int] = {}
        self.result = Specialised()
        self.keys: dict[object, int] = {}
        self.waiting: list[int] = []

    def run(self) -> Specialised:
        self._reach(self.graph.entry, {})
        while self.waiting:
            index = self.waiting.pop()
            node = self.result.nodes[index]
            point = self.graph.points[node.point]
            env: Env = node.env
            if point.kind is Kind.WAVE:
                env = self._after_wave(point.state, env)
            # a gate runs nothing: what has begun before it begins with the wave behind it
            carried = node.opens if point.kind is Kind.GATE else ()
            node.successors = tuple(self._reach(follow, env, carried) for follow in point.successors)
        return self.result

    def _reach(self, at: int, env: Env, carried: tuple[GroupOutputs, ...] = ()) -> int:
        """Walk from a point to the next node, and give that node's index."""
        points = self.graph.points
        opens = list(carried)
        checks: list[GroupOutputs] = []
        idle = 0
        while True:
            point = points[at]
            kind = point.kind
            if kind is Kind.WAVE or kind is Kind.GATE or kind is Kind.END:
                return self._node(at, env, tuple(opens), tuple(checks))
            if kind is Kind.SET_LOOP:
                env = {**env, f"loop.{point.state}": "1"}
            elif kind is Kind.OPEN:
                group = self._group_outputs(point.state, env)
                if group is not None:
                    opens.append(group)
            elif kind is Kind.OUTPUTS:
                group = self._group_outputs(point.state, env)
                if group is not None:
                    if opens and opens[-1].group == point.state:
                        opens.pop()  # it ends with nothing run in it
                    checks.append(group)
                    env = {
                        **env,
                        **{f"state.{point.state}.{n}": item.uri for n, item in enumerate(group.outputs, 1)},
                    }
            elif kind is Kind.NEXT_ITERATION:
                name = f"loop.{point.state}"
                number = int(str(env[name]))
                if number < self._bound(point.state):
                    idle += 1
                    if idle > self.max_nodes:  # a body without work makes no nodes that could be counted
                        raise TooManyNodes(self._idle_loop(point.state))
                    env = {**env, name: str(number + 1)}
                    at = point.successors[0]
                else:
                    at = point.successors[1]
                continue
            at = point.successors[0]

    def _node(
        self, at: int, env: Env, opens: tuple[GroupOutputs, ...], checks: tuple[GroupOutputs, ...]
    ) -> int:
        live = {name: env[name] for name in self.live[at] if name in env}
        key = self._key(at, live, opens, checks)
        found = self.keys.get(key)
        if found is not None:
            return found
        index = len(self.result.nodes)
        if index >= self.max_nodes:
            raise TooManyNodes(self._too_many())
        self.keys[key] = index
        self.result.nodes.append(RawNode(at, live, opens, checks))
        self.waiting.append(index)
        return index

    def _key(
        self, at: int, live: Env, opens: tuple[GroupOutputs, ...], checks: tuple[GroupOutputs, ...]
    ) -> object:
        """Give a node's identity: its point, and all that can still make a difference."""
        return (at, tuple(live.values()), opens, checks)

    def _after_wave(self, state: str, env: Env) -> Env:
        ran = (*self.flow.structure.members.get(state, ()), state)
        if self.flow.spec.states[state].parallel is None:
            ran = (state,)
        new: dict[str, Value] = {}
        for name in ran:
            step = self.flow.steps.by_state[name]
            for number, output in enumerate(step.outputs, 1):
                self._bring(new, f"state.{name}.{number}", output.uri, env, name)
            if step.decision_uri is not None:
                self._bring(new, f"decision.{name}", step.decision_uri, env, name)
        return {**env, **new} if new else env

    def _bring(self, new: dict[str, Value], name: str, value: Value, env: Env, state: str) -> None:
        """Give a variable its value; one that nobody reads gets none, so its text is not built."""
        if name in self.read:
            new[name] = self.texts.share(substitute(value, env), state)

    def _group_outputs(self, state: str, env: Env) -> GroupOutputs | None:
        outputs = self.flow.steps.by_state[state].outputs
        if not outputs:
            return None
        return GroupOutputs(
            state,
            tuple(
                artifact(self.texts.share(substitute(item.uri, env), state), item.schema, item.declared_kind)
                for item in outputs
            ),
        )

    def _bound(self, loop: str) -> int:
        bound = self.bounds.get(loop)
        if bound is None:
            bound = self.bounds[loop] = loop_bound(self.flow, loop) or 1
        return bound

    def _idle_loop(self, loop: str) -> Diagnostic:
        return finding(
            "too-many-nodes",
            f"the loop {loop!r} would be repeated more than {self.max_nodes:,} times "
            "without anything to run in it",
            self.flow.spec.states[loop].key_span("loop"),
            "give its body work, or lower its max",
        )

    def _too_many(self) -> Diagnostic:
        counts: dict[str, int] = {}
        for node in self.result.nodes[:: max(1, len(self.result.nodes) // 20_000)]:
            for name in node.env:
                counts[name] = counts.get(name, 0) + 1
        kept = sorted(counts, key=lambda name: (-counts[name], name))[:8]
        loops = [name for name, state in self.flow.spec.states.items() if state.loop is not None]
        first = self.flow.spec.states[loops[0]].key_span("loop") if loops else self.flow.spec.top.span
        tokens = ", ".join(f"{{{{{name}}}}}" for name in kept if not name.startswith("decision.")) or "none"
        return finding(
            "too-many-nodes",
            f"the program has more than {self.max_nodes:,} nodes; its loops are {', '.join(loops)}, "
            f"and what keeps their iterations apart later on is {tokens}",
            first,
            "lower a loop's max, or stop using these tokens after their loops; --max-nodes lifts the bound",
        )


def artifact(uri: Value, schema: str, declared_kind: str) -> Artifact:
    """Make an artifact, deciding its kind: what is declared, else a directory by its trailing slash."""
    kind = declared_kind
    if not kind:
        tail = uri if isinstance(uri, str) else getattr(uri, "parts", ("",))[-1]
        kind = "directory" if isinstance(tail, str) and tail.endswith("/") else "file"
    return Artifact(uri, schema, kind, declared_kind)
