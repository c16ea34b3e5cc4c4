"""How large a program becomes, by arithmetic, and how to say that it is too large."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.config import MAX_PROGRAM
from npac.flow.counters import Counters
from npac.flow.fields import Field, fields, keys_of, own_fields, profile_fields
from npac.flow.flow import Flow
from npac.flow.graph import Kind
from npac.flow.steps import SymbolicStep
from npac.flow.symbolic import hole_names


def sizes(flow: Flow) -> Counter[str]:
    """Give, by state, bytes of text that the program certainly holds; at most a little is missed.

    A state whose text depends on loops is a step for each of their iterations; what stands in nodes
    (triggers, gates, what groups declare) is there for every iteration around it.
    """
    found: Counter[str] = Counter()
    if flow.graph is None:
        return found
    counters = Counters(flow)
    for point in flow.graph.points:
        if not flow.reached(point.index):
            continue
        if point.kind is Kind.WAVE:
            group = flow.structure.members.get(point.state)
            for name in group if group is not None else (point.state,):
                found[name] += step_size(flow, name) * counters.steps(name, step_names(flow, name))[0]
                trigger = flow.steps.by_state[name].trigger
                if trigger is not None:
                    found[name] += flow.late.least(trigger.uri) * counters.visits(name)
            if group is not None:
                found[point.state] += _outputs(flow, point.state) * counters.visits(point.state)
        elif point.kind is Kind.OUTPUTS and point.state in counters.busy:
            found[point.state] += _outputs(flow, point.state) * counters.visits(point.state)
        elif point.kind is Kind.GATE:
            uri = flow.gate_uri(point.state, point.role)
            if uri is not None:
                rounds = counters.visits(point.state) if point.role == "until" else 1
                found[point.state] += flow.late.least(uri) * rounds
    return found


def step_names(flow: Flow, state: str) -> frozenset[str]:
    """Give the late names that tell the steps of one state apart."""
    step = flow.steps.by_state[state]
    if not step.state.writes_decision or step.decision_uri is None:
        return step.held
    names = set(step.held)
    hole_names(step.decision_uri, names)
    names.discard("run.id")
    return frozenset(names)


def step_size(flow: Flow, state: str) -> int:
    """Give bytes of text that every step of ``state`` holds."""
    step = flow.steps.by_state[state]
    late = flow.late
    size = sum(late.least(item.value) for item in own_fields(step) if item.place == "step")
    shared = late.profiles.get(id(step.profile))
    if shared is None:  # many states may have one profile
        shared = sum(late.least(item.value) for item in profile_fields(flow, step) if item.place == "step")
        late.profiles[id(step.profile)] = shared
    size += shared
    if step.state.writes_decision and step.decision_uri is not None:
        size += late.least(step.decision_uri)
    if step.tool is not None:
        size += sum(map(len, step.tool.env.values()))
    return size


def _outputs(flow: Flow, state: str) -> int:
    return sum(flow.late.least(item.uri) for item in flow.steps.by_state[state].outputs)


def too_large(flow: Flow, by_state: Mapping[str, int]) -> Diagnostic:
    """Say that a program would be too large, at the state that needs most, with its keys and loops.

    ``by_state`` are bytes, counted until the bound was met or worked out beforehand.
    """
    worst = max(by_state, key=lambda name: (by_state[name], name))
    step = flow.steps.by_state[worst]
    counters = Counters(flow)
    count, loops = counters.steps(worst, step_names(flow, worst))
    total = sum(by_state.values())
    largest = max(
        (item for item in (*fields(flow, step), *_decisions(flow, worst)) if item.place),
        key=lambda item: (flow.late.least(item.value), -item.span.start),
        default=None,
    )
    message = f"the program would be larger than {_amount(MAX_PROGRAM)}: it holds {_amount(total)} of text"
    message += f" or more, {_amount(by_state[worst])} of it in {worst!r}"
    if loops and step.state.works:
        rounds = ", ".join(f"{loop} (max {counters.bounds[loop]:,})" for loop in loops)
        message += f", {count:,} steps of {step_size(flow, worst):,} bytes for the rounds of {rounds}"
    span = largest.span if largest is not None else step.state.name.span
    return finding("program-too-large", message, span, _remedy(flow, step, largest, loops))


def _decisions(flow: Flow, state: str) -> Iterator[Field]:
    """Give the URIs that the gates of a state read."""
    spec = flow.spec.states[state]
    for role, key, there in (
        ("until", "loop", spec.loop is not None and spec.loop.until is not None),
        ("transitions", "transitions", bool(spec.transitions)),
    ):
        writer = flow.gate_writer(state, role) if there else None
        uri = flow.gate_uri(state, role) if there else None
        if uri is not None:
            source = f"state {writer!r}" if writer is not None else "{{config.decision_uri}}"
            yield Field("the decision's uri", uri, spec.key_span(key), source, place="node")


def _remedy(flow: Flow, step: SymbolicStep, largest: Field | None, loops: tuple[str, ...]) -> str:
    advice = []
    if largest is not None:
        keys = keys_of(flow, step, largest.written)
        what = ", ".join(keys[:4]) if keys else largest.what
        advice.append(f"shorten {what}, or put the text into a file and name that")
    if loops:
        advice.append(f"lower the max of {', '.join(loops)}")
    return "; or ".join(advice) or "give its states less text"


def _amount(size: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            text = f"{size / unit:,.2f}".rstrip("0").rstrip(".")
            return f"{text} {name}"
    return f"{size} bytes"
