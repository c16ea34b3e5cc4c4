"""What loops and states put into a resource profile must be readable in every iteration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.counters import Counters
from npac.flow.flow import Flow
from npac.flow.steps import SymbolicStep
from npac.flow.symbolic import hole_names, substitute, token_name
from npac.ir.values import Hole, Value
from npac.rules.resources.images import check_image
from npac.rules.resources.profiles import check_value, scalars
from npac.rules.tokens.resolved import is_scalar_resolved
from npac.syntax.ast import Profile
from npac.text.yaml_nodes import Scalar

_Late: TypeAlias = tuple[tuple[str, ...], Scalar, Value]


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report values that depend on the run by way of a state, and those that some iteration cannot read."""
    if flow.graph is None:
        return
    counters: Counters | None = None
    seen: set[tuple[int, str, str]] = set()
    known: dict[int, list[_Late]] = {}  # states share a profile that is the same for all of them
    for name, step in flow.steps.by_state.items():
        profile = flow.spec.profiles.get(step.profile_name)
        if profile is None or not step.state.works or not step.held:
            continue
        if not flow.reached(flow.graph.work.get(name, flow.graph.begin[name])):
            continue
        if id(step.profile) not in known:
            known[id(step.profile)] = list(_late(step, profile))
        for key, scalar, value in known[id(step.profile)]:
            if not is_scalar_resolved(flow, name, scalar):
                continue
            counters = counters or Counters(flow)
            for item in _check(flow, counters, name, key, scalar, value):
                place = (item.span.start, item.code.id, item.message)
                if place not in seen:
                    seen.add(place)
                    yield item


def _late(step: SymbolicStep, profile: Profile) -> Iterator[_Late]:
    """Give the values that wait for a loop or a state; a pod config is text, whatever it holds."""
    for key, scalar, value in scalars(profile.node, dict(step.profile)):
        if value is None or isinstance(value, (str, bool, int, float)):
            continue
        if key[:2] != ("kubernetes", "pod_config"):
            yield key, scalar, value


def _check(
    flow: Flow, counters: Counters, state: str, key: tuple[str, ...], scalar: Scalar, value: Value
) -> Iterator[Diagnostic]:
    names: set[str] = set()
    hole_names(value, names)
    if "run.id" in names:
        return  # an error of its own
    for name in sorted(names):
        if flow.late.entry(name).run_id:
            message = (
                f"{'.'.join(key)} would depend on the run id by way of {token_name(name)}, "
                "and a program's structure cannot"
            )
            yield finding("late-structure", message, scalar.span, "give a value that is known beforehand")
            return
    for first in (True, False):
        text = flow.late.text(substitute(value, _environment(flow, counters, state, names, first)))
        if key == ("image",):
            found = list(check_image(flow, scalar, text)) if text else []
        else:
            found = list(check_value(key, scalar, text))
        if found:  # once is enough: what is wrong in one iteration is wrong in most
            yield from found
            return


def _environment(
    flow: Flow, counters: Counters, state: str, names: set[str], first: bool
) -> dict[str, Value]:
    """Give the values of loops and states in the first or the last iteration that the state runs in."""
    found: dict[str, Value] = {}
    for name in names:
        loops = flow.late.entry(name).loops
        begins = first and all(counters.values(loop, state) > 1 for loop in loops)
        found[name] = flow.late.text(Hole(name), first=begins)
    return found
