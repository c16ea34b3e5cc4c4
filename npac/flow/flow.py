"""Everything that is known of a spec before it is lowered."""

from __future__ import annotations

from collections.abc import Mapping

from npac.catalog.model import Catalog
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.config import Config, build_config
from npac.flow.graph import FlowGraph, Kind, build_graph
from npac.flow.late import Late
from npac.flow.overrides import Overrides
from npac.flow.passes import Dominators, dominators, reverse_postorder
from npac.flow.steps import Steps, build_steps
from npac.flow.structure import Structure, build_structure, exit_circles
from npac.flow.switched import Switched, switched_circles
from npac.flow.symbolic import hole_names
from npac.flow.ways import Ways
from npac.ir.values import Hole, Value
from npac.syntax.ast import Spec

MAX_STEPS = 250_000
"""Longest planned walk, in steps."""


class Flow:
    """A spec with names, config, steps and structure resolved.

    ``graph`` is None when there are no states; all that is built on it is then missing too.
    """

    def __init__(
        self, spec: Spec, catalog: Catalog, config: Config, steps: Steps, structure: Structure
    ) -> None:
        self.spec = spec
        self.catalog = catalog
        self.config = config
        self.steps = steps
        self.late = Late(spec, config, steps.by_state)
        """Lengths of what becomes known late, and the loops that it depends on."""
        self.structure = structure
        self.circles: list[tuple[str, ...]] = []
        """Circles of next and transitions, each with its first state at its end again."""
        self.switched: list[Switched] = []
        """Circles that other values of config would make, where there are none as it stands."""
        self.graph: FlowGraph | None = None
        self.order: list[int] = []
        self.dominators: Dominators | None = None
        self.max_steps = MAX_STEPS
        self.pins: Mapping[str, str] = {}
        """Images as written, and the digest references that a link option puts in their place."""
        self.findings: list[Diagnostic] = []
        self.secrets: list[str] = []
        """Values in the spec of which no character is shown, once they have been looked for."""
        self._ways: Ways | None = None
        self._near_images: dict[str, list[str]] = {}

    @property
    def ways(self) -> Ways:
        """Paths that show findings, all from one bounded search; there must be a graph."""
        if self._ways is None:
            assert self.graph is not None
            self._ways = Ways(self.graph)
        return self._ways

    def images_nearest(self, name: str) -> list[str]:
        """Give images of the catalog that resemble ``name``, for the first hundred that are asked for."""
        if name not in self._near_images and len(self._near_images) < 100:
            self._near_images[name] = self.catalog.images_nearest(name)
        return self._near_images.get(name, [])

    def reached(self, point: int) -> bool:
        """Say whether the entry reaches a point."""
        return self.dominators is not None and self.dominators.enter[point] >= 0

    def gate_uri(self, state: str, role: str) -> Value | None:
        """Give where a gate reads its decision, symbolically; None when nothing says so.

        For a state that runs a command this is the hole of its own decision URI, for a loop the
        hole of its body's last direct writer.
        """
        writer = self.gate_writer(state, role)
        if writer is not None:
            return (
                Hole(f"decision.{writer}") if self.steps.by_state[writer].decision_uri is not None else None
            )
        if role == "until":
            return self.config.values.get("decision_uri")
        return self.steps.by_state[state].decision_uri

    def gate_writer(self, state: str, role: str) -> str | None:
        """Give the state whose own decision URI a gate reads, or None when the URI comes from config."""
        spec = self.spec.states[state]
        if spec.works:
            return state
        if role == "until":
            for child in reversed(self.structure.members.get(state, ())):
                if self.spec.states[child].writes_decision and self.spec.states[child].works:
                    return child
        return None

    def uses(self, point: int) -> frozenset[str]:
        """Give the variables that a point reads."""
        assert self.graph is not None
        at = self.graph.points[point]
        if at.kind is Kind.WAVE:
            members = self.structure.members.get(at.state)
            if members is None:
                return self.steps.by_state[at.state].variables
            found = set(self.steps.by_state[at.state].variables)
            for member in members:
                found |= self.steps.by_state[member].variables
            return frozenset(found)
        if at.kind is Kind.GATE:
            uri = self.gate_uri(at.state, at.role)
            found = set()
            if uri is not None:
                hole_names(uri, found)
                found.discard("run.id")
            return frozenset(found)
        if at.kind is Kind.NEXT_ITERATION:
            return frozenset((f"loop.{at.state}",))
        if at.kind in (Kind.OUTPUTS, Kind.OPEN):
            return self.steps.by_state[at.state].variables
        return frozenset()

    def defines(self, point: int) -> frozenset[str]:
        """Give the variables that a point sets."""
        assert self.graph is not None
        at = self.graph.points[point]
        if at.kind is Kind.SET_LOOP:
            return frozenset((f"loop.{at.state}",))
        if at.kind is Kind.OUTPUTS:
            return self._outputs(at.state)
        if at.kind is Kind.WAVE:
            found = set(self._outputs(at.state)) | {f"decision.{at.state}"}
            for member in self.structure.members.get(at.state, ()):
                found |= self._outputs(member)
                found.add(f"decision.{member}")
            return frozenset(found)
        return frozenset()

    def _outputs(self, state: str) -> frozenset[str]:
        count = len(self.steps.by_state[state].outputs)
        return frozenset(f"state.{state}.{number}" for number in range(1, count + 1))


def build_flow(
    spec: Spec,
    catalog: Catalog,
    overrides: Overrides,
    *,
    max_steps: int = MAX_STEPS,
    pins: Mapping[str, str] | None = None,
) -> Flow:
    """Resolve a spec; what is wrong with names and values on the way is in ``findings``."""
    findings: list[Diagnostic] = []
    config = build_config(spec, catalog, overrides, findings)
    structure = build_structure(spec, config)
    steps = build_steps(spec, catalog, config, findings)
    flow = Flow(spec, catalog, config, steps, structure)
    flow.findings = findings
    flow.max_steps = max_steps
    flow.pins = pins or {}
    flow.circles = exit_circles(structure, spec)
    if not flow.circles:
        flow.switched = switched_circles(spec, config, structure)
    if not spec.states:
        return flow
    flow.graph = build_graph(spec, structure)
    flow.order = reverse_postorder(flow.graph)
    flow.dominators = dominators(flow.graph, flow.order)
    return flow
