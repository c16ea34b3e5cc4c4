"""What a program asks of the world: its longest chain, what it holds at once, what it needs first.

Numbers are given as the least and the most over all paths and, where a path was chosen, for that
path.  What is asked of all paths is asked of networkx (:mod:`npac.report.chains`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from npac.ir.program import Gate, GroupOutputs, Node, Program, Wave
from npac.ir.values import Value, bind, show
from npac.report.demand import Demand, wave_demand
from npac.report.uris import Produced


@dataclass(frozen=True, slots=True)
class Range:
    """A number over all paths; ``chosen`` is that of the chosen path, None without one."""

    least: int
    most: int
    chosen: int | None = None


@dataclass(frozen=True, slots=True)
class Needed:
    """An artifact that nothing in the run makes before it is read.

    ``readers`` are states, in the order in which they read.  ``use`` is ``input``, ``trigger`` (the
    run waits until objects are there) or ``decision`` (a gate reads it).
    """

    uri: str
    use: str
    schema: str
    readers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The answers for one program, or for one path through it.

    ``chain`` counts waves on a path and ``critical_path`` are the ids of the longest chain; ``width``
    counts the steps that run at once and ``gpus`` the accelerators held at once.  ``widest`` and
    ``peak`` are the ids of the waves where they are largest (on the chosen path, if there is one;
    empty for none), ``held`` what the latter holds.  ``secrets`` maps names to the states that need
    them.
    """

    chain: Range
    critical_path: tuple[str, ...]
    width: Range
    widest: str
    gpus: Range
    peak: str
    held: Demand
    secrets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needed: tuple[Needed, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Give the analysis as plain data for JSON."""
        data: dict[str, Any] = asdict(self)
        data["critical_path"] = list(self.critical_path)
        data["secrets"] = {name: list(states) for name, states in self.secrets.items()}
        data["needed"] = [{**asdict(item), "readers": list(item.readers)} for item in self.needed]
        return data


def analyse(program: Program, late: Mapping[str, str], path: Sequence[Node] | None = None) -> Analysis:
    """Analyse a program, or with ``path`` (nodes from the entry to the end) one walk through it.

    ``late`` fills holes such as ``run.id`` in URIs; the others are shown as ``<name>``.
    """
    from npac.report import chains  # here, because it imports networkx

    nodes = program.nodes if path is None else tuple(path)
    graph = chains.graph_of(program)
    longest = chains.longest_chain(program, graph)
    demands = _demands(program)
    looked_at = [node for node in nodes if isinstance(node, Wave)]

    def peaks(value: Callable[[Demand], int]) -> Range:
        values = {key: value(demand) for key, demand in demands.items()}
        chosen = None if path is None else max((values[wave.id] for wave in looked_at), default=0)
        # of a sound program, every node is on some path
        return Range(chains.least_peak(program, graph, values), max(values.values(), default=0), chosen)

    widest = max(looked_at, key=lambda wave: (demands[wave.id].members, -wave.number), default=None)
    peak = max(looked_at, key=lambda wave: (demands[wave.id].gpus, -wave.number), default=None)
    if peak is not None and not demands[peak.id].gpus:
        peak = None
    return Analysis(
        chain=Range(
            chains.shortest_chain(program, graph), len(longest), None if path is None else len(looked_at)
        ),
        critical_path=longest,
        width=peaks(lambda demand: demand.members),
        widest=widest.id if widest is not None else "",
        gpus=peaks(lambda demand: demand.gpus),
        peak=peak.id if peak is not None else "",
        held=demands[peak.id] if peak is not None else Demand(),
        secrets=_secrets(program, looked_at),
        needed=_needed(program, nodes, late),
    )


def _demands(program: Program) -> dict[str, Demand]:
    """Give what each wave holds, by id; rounds of a loop that hold the same share one answer."""
    known: dict[tuple[object, ...], Demand] = {}
    demands: dict[str, Demand] = {}
    for wave in program.waves():
        key = (wave.batches, *(member.step for member in wave.members))
        if key not in known:
            known[key] = wave_demand(wave, program)
        demands[wave.id] = known[key]
    return demands


def _secrets(program: Program, waves: Iterable[Wave]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for wave in waves:
        for member in wave.members:
            step = program.steps[member.step]
            for name in step.secrets:
                found.setdefault(name, {})[step.state] = None
    return {name: tuple(found[name]) for name in sorted(found)}


def _needed(program: Program, nodes: Sequence[Node], late: Mapping[str, str]) -> tuple[Needed, ...]:
    """List what is read before anything earlier in ``nodes`` (in order of running) has written it."""
    produced = Produced()
    found: dict[tuple[str, str], tuple[str, dict[str, None]]] = {}
    texts: dict[Value, str] = {}

    def text(value: Value) -> str:
        if isinstance(value, str):
            return value
        if value not in texts:
            texts[value] = show(bind(value, late))
        return texts[value]

    def read(value: Value, use: str, schema: str, reader: str) -> None:
        uri = text(value)
        if uri and uri not in produced:
            found.setdefault((uri, use), (schema, {}))[1][reader] = None

    def wrote(groups: Iterable[GroupOutputs]) -> None:
        for group in groups:
            for item in group.outputs:
                produced.add(text(item.uri))

    for node in nodes:
        wrote(node.checks)
        if isinstance(node, Gate):
            read(node.uri, "decision", "", node.state)
        if not isinstance(node, Wave):
            continue
        for trigger in node.triggers:
            read(trigger.uri, "trigger", "", trigger.state)
        steps = [program.steps[member.step] for member in node.members]
        for step in steps:
            for item in step.inputs:
                read(item.uri, "input", item.schema, step.state)
        for step in steps:
            for item in step.outputs:
                produced.add(text(item.uri))
        for item in node.outputs:
            produced.add(text(item.uri))
    return tuple(Needed(uri, use, schema, tuple(readers)) for (uri, use), (schema, readers) in found.items())
