"""Circles of next and transitions that other values of config keys would make.

An ``if`` is settled when a plan is made, by a key that an override may change.  So a spec whose edges are
in order only as config stands is not in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

from npac.flow.config import Config
from npac.flow.structure import Structure, condition_holds, dead_transitions, exit_circles, exits_of
from npac.syntax.ast import Spec, Transition
from npac.syntax.conditions import Condition, parse_condition
from npac.text.yaml_nodes import Scalar

_WORK = 200_000
"""States that are looked at for all combinations of values, beyond the first few."""


class Switched(NamedTuple):
    """A circle, its first state at its end again, and the config keys with the values that make it."""

    circle: tuple[str, ...]
    values: Mapping[str, bool]


def decided(config: Config, values: Mapping[str, bool]) -> Callable[[Transition], bool | None]:
    """Give what decides an ``if`` when some config keys count as true or false."""

    def holds(item: Transition) -> bool | None:
        key = _key(config, item)
        return values[key] if key in values else condition_holds(config, item)

    return holds


def switched_circles(spec: Spec, config: Config, structure: Structure) -> list[Switched]:
    """Give the circles of the first combination of values that makes any.

    Keys that the states along a circle do not ask for are left out of its values.
    """
    if not any(item.condition is not None for state in spec.states.values() for item in state.transitions):
        return []
    ringed = _ringed(_all_edges(spec, structure))
    keys = sorted(
        {
            key
            for name in ringed
            for item in spec.states[name].transitions
            if (key := _key(config, item)) and isinstance(config.entries[key].node, Scalar)
        }
    )
    for values in _combinations(keys, len(ringed)):
        holds = decided(config, values)
        exits = {name: exits_of(spec, spec.states[name], structure, holds) for name in ringed}
        found = exit_circles(structure, spec, exits)
        if found:
            return [Switched(circle, _needed(spec, config, circle, values)) for circle in found]
    return []


def _key(config: Config, item: Transition) -> str:
    """Give the config key that an ``if`` asks, empty for none that exists."""
    asked = parse_condition(item.condition.value) if item.condition is not None else None
    return asked.key if isinstance(asked, Condition) and asked.key in config.entries else ""


def _combinations(keys: list[str], states: int) -> Iterator[dict[str, bool]]:
    """Give values for keys: all combinations, or of too many the plainest."""
    if not keys:
        return
    if len(keys) < 16 and states << len(keys) <= _WORK:
        for chosen in product((False, True), repeat=len(keys)):
            yield dict(zip(keys, chosen, strict=True))
        return
    yield dict.fromkeys(keys, False)
    yield dict.fromkeys(keys, True)
    for key in keys[: max(8, _WORK // states)]:
        yield {key: False}
        yield {key: True}


def _needed(
    spec: Spec, config: Config, circle: tuple[str, ...], values: Mapping[str, bool]
) -> dict[str, bool]:
    """Give those of the values that the states along a circle ask for."""
    asked = {_key(config, item) for name in circle for item in spec.states[name].transitions}
    return {key: value for key, value in values.items() if key in asked}


def _all_edges(spec: Spec, structure: Structure) -> dict[str, set[str]]:
    """Give where the states outside groups lead, whatever config says."""
    edges: dict[str, set[str]] = {}
    for name in structure.exits:
        state = spec.states[name]
        named = [state.next]
        if not state.terminal and state.parallel is None:
            dead = {id(item) for item, _ in dead_transitions(state)}
            named += [item.goto for item in state.transitions if id(item) not in dead]
        targets = {structure.outermost(item.value) for item in named if item and item.value in spec.states}
        edges[name] = {target for target in targets if target in structure.exits}
    return edges


def _ringed(edges: Mapping[str, set[str]]) -> list[str]:
    """Give the names that are in circles or between two of them."""
    left = dict.fromkeys(edges)
    back: dict[str, set[str]] = {name: set() for name in edges}
    for name, targets in edges.items():
        for target in targets:
            back[target].add(name)
    for ahead, behind in ((edges, back), (back, edges)):
        count = {name: sum(target in left for target in ahead[name]) for name in left}
        ends = [name for name, number in count.items() if not number]
        for name in ends:
            del left[name]
            for other in behind[name]:
                if other in left:
                    count[other] -= 1
                    if not count[other]:
                        ends.append(other)
    return list(left)
