"""Lowering a spec's flow into a program."""

from __future__ import annotations

from npac.flow.config import MAX_PROGRAM, value_length
from npac.flow.flow import Flow
from npac.flow.graph import Kind
from npac.flow.symbolic import substitute
from npac.ir.program import Artifact, End, Gate, Member, Node, Program, Trigger, Wave
from npac.lower.order import loop_numbers, node_names, topological_order
from npac.lower.specialise import MAX_NODES, RawNode, Specialised, artifact, specialise
from npac.lower.steps import StepTable
from npac.lower.texts import Texts, artifacts_text, groups_text
from npac.lower.writers import with_writers


def lower(flow: Flow, *, max_nodes: int = MAX_NODES, max_text: int = MAX_PROGRAM) -> Program:
    """Give the program of a flow that checked without errors, with at most ``max_text`` bytes of text.

    Raises :class:`npac.lower.texts.BoundMet` at the bounds on nodes and on text.
    """
    texts = Texts(flow, max_text)
    dag = specialise(flow, texts, max_nodes=max_nodes)
    order = topological_order(dag)
    names = node_names(flow, dag, order)
    builder = _NodeBuilder(flow, dag, names, texts)
    nodes = [builder.node(index) for index in order]
    steps = builder.table.steps
    return Program(
        workflow=flow.spec.name.value if flow.spec.name is not None else "",
        entry=names[0],
        steps=tuple(steps),
        nodes=tuple(with_writers(nodes, steps)),
        api_version=flow.spec.api_version,
        execution_mode=flow.spec.execution_mode,
        default_assumption=default_assumption(flow),
    )


def default_assumption(flow: Flow) -> str:
    """Give what ``--assume-decision default`` means for this spec; empty for no assumption."""
    given = flow.config.text("plan_assume_decision")
    if given:
        if given in ("promote", "promote_checkpoint"):
            return "promote_checkpoint"
        if given in ("loop_back", "loop_back_to_inner_loop"):
            return "loop_back"
    if any(state.transitions for state in flow.spec.states.values()):
        return "loop_back"
    return ""


class _NodeBuilder:
    """Makes the nodes one after the other, in topological order, and the step table on the way."""

    def __init__(self, flow: Flow, dag: Specialised, names: list[str], texts: Texts) -> None:
        self.flow = flow
        self.dag = dag
        self.names = names
        self.texts = texts
        self.table = StepTable(flow, texts)
        self.number = 0

    def node(self, index: int) -> Node:
        raw = self.dag.nodes[index]
        assert self.flow.graph is not None
        point = self.flow.graph.points[raw.point]
        name = self.names[index]
        for group in (*raw.opens, *raw.checks):
            self.texts.add(group.group, groups_text((group,)))
        if point.kind is Kind.END:
            return End(name, raw.checks)
        if point.kind is Kind.GATE:
            return self._gate(name, raw, point.state, point.role)
        return self._wave(name, raw, point.state)

    def _gate(self, name: str, raw: RawNode, state: str, role: str) -> Gate:
        found = self.flow.gate_uri(state, role)
        uri = self.texts.share(substitute(found, raw.env), state) if found is not None else ""
        self.texts.add(state, value_length(uri))
        until = self.flow.spec.states[state].loop
        leaves = (
            until.until.value if role == "until" and until is not None and until.until is not None else ""
        )
        return Gate(
            id=name,
            state=state,
            role=role,
            uri=uri,
            promote=self.names[raw.successors[0]],
            loop_back=self.names[raw.successors[1]],
            leaves_on=leaves,
            loops=loop_numbers(self.flow, raw),
            checks=raw.checks,
        )

    def _wave(self, name: str, raw: RawNode, state: str) -> Wave:
        self.number += 1
        decl = self.flow.spec.states[state]
        group = decl.parallel is not None
        states = self.flow.structure.members[state] if group else (state,)
        loops = loop_numbers(self.flow, raw)
        parent = self.flow.structure.parent.get(state, "")
        members = tuple(
            Member(
                self.table.index(member, raw.env),
                loops.get(member) if not group else None,
                state if group else parent,
            )
            for member in states
        )
        width = max_concurrency(self.flow, state) if group else 1
        size = min(width, len(members)) if width else len(members)
        return Wave(
            id=name,
            number=self.number,
            members=members,
            batches=tuple(
                tuple(range(start, min(start + size, len(members)))) for start in range(0, len(members), size)
            ),
            next=self.names[raw.successors[0]],
            group=state if group else "",
            max_concurrency=size,
            triggers=tuple(self._triggers(states, raw)),
            loops=loops,
            group_retry_all=decl.group_retry is not None,
            outputs=self._outputs(state, raw) if group else (),
            opens=raw.opens,
            checks=raw.checks,
        )

    def _outputs(self, state: str, raw: RawNode) -> tuple[Artifact, ...]:
        outputs = tuple(
            artifact(self.texts.share(substitute(item.uri, raw.env), state), item.schema, item.declared_kind)
            for item in self.flow.steps.by_state[state].outputs
        )
        self.texts.add(state, artifacts_text(outputs))
        return outputs

    def _triggers(self, states: tuple[str, ...], raw: RawNode) -> list[Trigger]:
        found = []
        for state in states:
            trigger = self.flow.steps.by_state[state].trigger
            if trigger is not None:
                uri = self.texts.share(substitute(trigger.uri, raw.env), state)
                self.texts.add(state, value_length(uri))
                found.append(
                    Trigger(state, uri, trigger.poll_seconds, trigger.max_polls, trigger.min_objects)
                )
        return found


def max_concurrency(flow: Flow, group: str) -> int:
    """Give a group's ``maxConcurrency``; 0 when it has none or it cannot be read."""
    count = flow.spec.states[group].max_concurrency
    if count is None:
        return 0
    if count.key is None:
        return count.literal or 0
    text = flow.config.values.get(count.key)
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 9 else 0
