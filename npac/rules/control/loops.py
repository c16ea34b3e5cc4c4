"""Loops are bounded, stand where they have a meaning, and do not make a walk too long."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.flow.origins import count_origin
from npac.flow.steps import read_count

CODES = (
    ("NPA314", "loop-on-parallel", Severity.ERROR, "a loop directly on a parallel group"),
    ("NPA315", "too-many-steps", Severity.ERROR, "the longest walk has too many steps"),
)
"""What this rule reports: code, name, severity and a summary."""

_MANY = 10**18
"""No count is larger: loops in loops in loops would else make numbers as long as the spec."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report loops on parallel groups, bad bounds, and walks of more than ``flow.max_steps`` steps."""
    report: list[Diagnostic] = []
    bounds: dict[str, int] = {}
    for name, state in flow.spec.states.items():
        if state.loop is None:
            continue
        if state.parallel is not None:
            message = f"the loop stands directly on the parallel group {name!r}"
            help_text = f"wrap the group: a sequence with the loop and sequence: [{name}]"
            report.append(finding("loop-on-parallel", message, state.loop.span, help_text))
        if state.loop.max is None:
            continue
        bound = read_count(flow.config, state.loop.max, "loop.max", report)
        if bound is not None and bound < 1:
            message = f"loop.max is {bound}, and a loop runs at least once"
            related = count_origin(flow.config, state.loop.max)
            at = state.loop.max.node.span
            report.append(finding("bad-number", message, at, "give at least 1", related=related))
        elif bound is not None:
            bounds[name] = bound
    yield from report
    if flow.graph is None or flow.circles:
        return
    steps = longest_walk(flow, bounds)
    if steps > flow.max_steps:
        loops = sorted(bounds, key=lambda name: -bounds[name])
        named = ", ".join(f"{name} (max {bounds[name]:,})" for name in loops[:6]) or "none"
        at = flow.spec.states[loops[0]].key_span("loop") if loops else flow.spec.top.span
        number = f"{steps:,}" if steps < _MANY else f"{_MANY:,} or more"
        message = f"the longest walk has {number} steps, more than {flow.max_steps:,}; its loops: {named}"
        yield finding("too-many-steps", message, at, "lower a loop's max; --max-steps lifts the bound")


def longest_walk(flow: Flow, bounds: dict[str, int]) -> int:
    """Give the number of steps of the longest walk, by arithmetic; ``_MANY`` stands for all above it.

    Where all states together are within the bound, their number is given instead.
    """
    weight: dict[str, int] = {}
    for name in _children_first(flow):
        state = flow.spec.states[name]
        if state.is_group:
            own = min(_MANY, sum(weight[child] for child in flow.structure.members[name]))
        else:
            own = 1 if state.works else 0
        weight[name] = min(_MANY, own * bounds.get(name, 1))
    everything = sum(weight[name] for name in weight if name not in flow.structure.parent)
    if everything <= flow.max_steps:
        return everything  # no walk takes more, and how long the longest is makes no difference
    if flow.spec.initial is None or flow.spec.initial.value not in flow.structure.exits:
        return 0
    best: dict[str, int] = {}
    stack = [(flow.spec.initial.value, False)]
    while stack:
        name, ready = stack.pop()
        if name in best:
            continue
        exits = flow.structure.exits[name]
        targets = [target for target in (exits.promote, exits.loop_back) if target in flow.structure.exits]
        if flow.spec.states[name].terminal:
            targets = []
        if ready:
            longest = max((best[target] for target in targets if target is not None), default=0)
            best[name] = min(_MANY, weight[name] + longest)
            continue
        stack.append((name, True))
        stack.extend((target, False) for target in targets if target is not None and target not in best)
    return best[flow.spec.initial.value]


def _children_first(flow: Flow) -> list[str]:
    order: list[str] = []
    stack = [name for name in flow.spec.states if name not in flow.structure.parent]
    while stack:
        name = stack.pop()
        order.append(name)
        stack.extend(flow.structure.members.get(name, ()))
    order.reverse()
    return order
