"""Resource profiles: they exist, have only known keys, and every quantity can be read."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.flow.origins import with_origin
from npac.flow.steps import SymbolicStep, plain_value
from npac.flow.symbolic import hole_names
from npac.ir.values import Value, show
from npac.rules.resources.gpu_nodes import asked_for, too_many
from npac.rules.tokens.resolved import is_scalar_resolved
from npac.syntax.ast import Profile
from npac.syntax.grammars import Problem
from npac.syntax.language import KUBERNETES, PROFILE
from npac.syntax.nearest import Names
from npac.syntax.quantities import (
    parse_accelerator,
    parse_cpus,
    parse_disk_size,
    parse_memory,
    parse_num_nodes,
)
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

CODES = (
    ("NPA501", "unknown-profile", Severity.ERROR, "a resource profile does not exist"),
    ("NPA502", "bad-quantity", Severity.ERROR, "a quantity cannot be read"),
    ("NPA503", "unknown-cloud", Severity.WARNING, "a cloud is not known"),
    ("NPA513", "not-provisioned", Severity.NOTE, "npac does not provision clusters"),
    ("NPA516", "no-such-node", Severity.WARNING, "no node has as many GPUs as are asked for"),
)
"""What this rule reports: code, name, severity and a summary."""

_Tree: TypeAlias = "None | bool | int | float | Value | list[_Tree] | dict[str, _Tree]"

_SHELL_VARIABLE = r"\$\{[A-Za-z_][^}]*\}?"
_DIGITS = r"[0-9]{1,9}\Z"

_QUANTITIES: dict[str, Callable[[str], object]] = {
    "accelerators": parse_accelerator,
    "cpus": parse_cpus,
    "memory": parse_memory,
    "disk_size": parse_disk_size,
    "num_nodes": parse_num_nodes,
}


@lru_cache(maxsize=1)
def known_clouds() -> tuple[str, ...]:
    """Give the clouds that SkyPilot knows, with ``local``."""
    with open(os.path.join(os.path.dirname(__file__), "clouds.txt"), encoding="utf-8") as stream:
        return tuple(stream.read().split())


@lru_cache(maxsize=1)
def _cloud_names() -> Names:
    return Names(known_clouds(), work=sys.maxsize)  # there are few, and no spec adds to them


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report profiles that do not exist, unknown keys, bad quantities, unknown clouds, shell variables."""
    profiles = Names(flow.spec.profiles)
    for name, state in flow.spec.states.items():
        if state.resources is None or not state.works:
            continue
        asked = state.resources.value
        if asked != "default" and asked not in flow.spec.profiles:
            near = profiles.nearest(asked)
            known = ", ".join(islice(flow.spec.profiles, 12)) or "none"
            help_text = f"did you mean {near[0]!r}?" if near else f"profiles of this spec: {known}"
            message = f"{name!r} names the resource profile {asked!r:.120}, which does not exist"
            yield finding("unknown-profile", message, state.resources.span, help_text)
    users: dict[str, dict[int, SymbolicStep]] = {}  # of states that share a filled-in profile, the first
    for step in flow.steps.by_state.values():
        if step.state.works:
            users.setdefault(step.profile_name, {}).setdefault(id(step.profile), step)
    keys = Names(PROFILE.names)
    for profile in flow.spec.profiles.values():
        yield from _keys(profile, keys)
        yield from _values(flow, profile, users.get(profile.name.value, {}).values())
    for step in flow.steps.by_state.values():
        for artifact in (*step.inputs, *step.outputs):
            yield from _shell_variable(artifact.decl.uri.node, artifact.uri)
        if step.trigger is not None and step.state.trigger is not None and step.state.trigger.uri is not None:
            yield from _shell_variable(step.state.trigger.uri.node, step.trigger.uri)


def _keys(profile: Profile, names: Names) -> Iterator[Diagnostic]:
    name = profile.name.value
    for text, (key, value) in profile.node.entries.items():
        if text.startswith("x-"):
            continue
        if text not in PROFILE.keys:
            from npac.syntax.elsewhere import foreign  # most specs never ask

            help_text = foreign(text, PROFILE.names)[0] or _known(text, PROFILE.names, names)
            yield finding("unknown-key", f"the profile {name!r} has no key {text!r:.80}", key.span, help_text)
        elif text == "kubernetes":
            yield from _kubernetes(name, value)
        elif text == "deployIfAbsent":
            yield from _deploy(key, value)
        elif text == "use_spot":
            if not isinstance(value, Scalar) or value.boolean is None:
                yield _wrong(value, "use_spot", "true or false")
        elif text == "accelerators":
            yield from _accelerators(value)
        elif not isinstance(value, Scalar) or value.is_null:
            yield _wrong(value, text, "text or a number")
        elif text == "image" and not isinstance(plain_value(value), str):
            yield _wrong(value, text, "an image reference, in quotes where it looks like a number or boolean")


def _known(key: str, known: Sequence[str], names: Names) -> str:
    """Say what may be meant by a key that a mapping does not have, or where it belongs."""
    from npac.syntax.elsewhere import belongs

    place = belongs(key, known)
    near = [] if place else names.nearest(key)
    return place or (f"did you mean {near[0]!r}?" if near else "known keys: " + ", ".join(sorted(known)))


def _wrong(node: Node, what: str, wanted: str) -> Diagnostic:
    from npac.syntax.reader import shown

    return finding(
        "wrong-type", f"{what} must be {wanted}, and this is {shown(node)}", node.span, f"write {wanted}"
    )


def _kubernetes(name: str, node: Node) -> Iterator[Diagnostic]:
    if not isinstance(node, Map):
        yield _wrong(node, "kubernetes", "a mapping")
        return
    for text, (key, value) in node.entries.items():
        if text.startswith("x-"):
            continue
        if text not in KUBERNETES.keys:
            help_text = _known(text, KUBERNETES.names, Names(KUBERNETES.names))
            yield finding(
                "unknown-key", f"kubernetes of {name!r} has no key {text!r:.80}", key.span, help_text
            )
        elif text == "pod_config" and not isinstance(value, Map):
            yield _wrong(value, "pod_config", "a mapping")
        elif text == "provision_timeout" and (not isinstance(value, Scalar) or value.is_null):
            yield _wrong(value, "provision_timeout", "a whole number of seconds")


def _deploy(key: Scalar, node: Node) -> Iterator[Diagnostic]:
    if (isinstance(node, Scalar) and node.boolean is None) or isinstance(node, Seq):
        yield _wrong(node, "deployIfAbsent", "true, false or a mapping")
    elif not (isinstance(node, Scalar) and node.boolean is False):
        message = "npac does not provision clusters; the cluster must be there when the run starts"
        yield finding("not-provisioned", message, key.span, "create it beforehand; this key is kept as it is")


def _accelerators(node: Node) -> Iterator[Diagnostic]:
    if isinstance(node, Scalar):
        if node.is_null:
            yield _wrong(node, "accelerators", "NAME, NAME:N or a mapping")
        return
    if isinstance(node, Seq):
        yield _wrong(node, "accelerators", "NAME, NAME:N or a mapping")
        return
    for text, (key, value) in node.entries.items():
        parsed = parse_accelerator(text)
        if isinstance(parsed, Problem) or parsed.counted:
            message = f"{text!r:.80} is no accelerator's name"
            yield finding("bad-quantity", message, key.span, "write NAME: N, as in H100: 8")
        if not isinstance(value, Scalar):
            yield _wrong(value, f"the count of {text!r:.80}", "a whole number")


def _values(flow: Flow, profile: Profile, users: Collection[SymbolicStep]) -> Iterator[Diagnostic]:
    """Check the values with what each state that uses the profile puts into them."""
    seen: set[tuple[int, Value]] = set()
    if not users:
        for key, scalar, _ in scalars(profile.node, None):
            if "{{" not in scalar.value:
                yield from check_value(key, scalar, scalar.value)
    for step in users:
        for key, scalar, given in scalars(profile.node, dict(step.profile)):
            # a number or a boolean is looked at as it is written
            value = scalar.value if given is None or isinstance(given, (bool, int, float)) else given
            if (scalar.start, value) in seen:
                continue
            if not is_scalar_resolved(flow, step.state.name.value, scalar):
                continue
            seen.add((scalar.start, value))
            for item in check_value(key, scalar, value):
                yield with_origin(item, scalar, flow.config, step.state.params)


def scalars(
    node: Node, tree: _Tree
) -> Iterator[tuple[tuple[str, ...], Scalar, Value | bool | int | float | None]]:
    """Give the scalars of a profile that are no command, with their keys and their values in ``tree``."""
    stack: list[tuple[tuple[str, ...], Node, _Tree]] = [((), node, tree)]
    while stack:
        key, node, tree = stack.pop()
        if isinstance(node, Scalar):
            yield key, node, None if isinstance(tree, (dict, list)) else tree
        elif not _nests(key):
            continue  # a value of the wrong type, which is reported by itself
        elif isinstance(node, Seq):
            values = tree if isinstance(tree, list) else [None] * len(node.items)
            stack.extend((key, *pair) for pair in zip(node.items, values, strict=True))
        else:
            inner = tree if isinstance(tree, dict) else {}
            stack.extend(
                ((*key, text), value, inner.get(text))
                for text, (_, value) in node.entries.items()
                if text not in ("command", "args") and not text.startswith("x-")
            )


def _nests(key: tuple[str, ...]) -> bool:
    """Say whether what stands at a key of a profile may be a mapping or a list."""
    return key in ((), ("kubernetes",), ("accelerators",)) or "deployIfAbsent" in key or "pod_config" in key


def check_value(key: tuple[str, ...], node: Scalar, value: Value) -> Iterator[Diagnostic]:
    """Check what tokens make of the value at a key of a profile; ``node`` is where it stands."""
    yield from _shell_variable(node, value)
    name = ".".join(key)
    if not isinstance(value, str):
        # Images have a rule of their own, and a pod config is text to the program.
        if key[0] != "image" and key[:2] != ("kubernetes", "pod_config"):
            yield from _late(node, name, value)
    elif node.is_null:
        return
    elif name == "cloud":
        yield from _cloud(node, value)
    elif name in _QUANTITIES:
        yield from _quantity(node, name, value)
        if name == "accelerators":
            yield from asked_for(node, value)
    elif len(key) == 2 and key[0] == "accelerators":
        if re.match(_DIGITS, value) and int(value) > 0:
            yield from too_many(node, key[1], int(value))
        else:
            message = f"the number of {key[1]!r:.80} accelerators must be a whole number from 1"
            yield finding("bad-quantity", message, node.span, "write NAME: N, as in H100: 8")
    elif name == "kubernetes.provision_timeout" and not re.match(_DIGITS, value):
        message = f"provision_timeout must be a whole number of seconds, and this is {value!r:.80}"
        yield finding("bad-quantity", message, node.span, "write decimal digits")


def _late(node: Scalar, key: str, value: Value) -> Iterator[Diagnostic]:
    names: set[str] = set()
    hole_names(value, names)
    if "run.id" in names:
        message = f"{key} would depend on the run id, and a program's structure cannot"
        yield finding("late-structure", message, node.span, "give a value that is known beforehand")


def _quantity(node: Scalar, key: str, text: str) -> Iterator[Diagnostic]:
    parsed = _QUANTITIES[key](text)
    if isinstance(parsed, Problem):
        given = "" if text == node.value else f" (it is {text!r:.80})"
        span = (
            node.inner(parsed.start, parsed.end)
            if text == node.value and parsed.end > parsed.start
            else node.span
        )
        yield finding("bad-quantity", f"{key} cannot be read{given}: {parsed.message}", span, parsed.help)


def _cloud(node: Scalar, text: str) -> Iterator[Diagnostic]:
    clouds = known_clouds()
    if text in clouds:
        return
    near = _cloud_names().nearest(text, 1)
    if near:
        message = f"there is no cloud {text!r:.80}"
        yield finding(
            "unknown-cloud", message, node.span, f"did you mean {near[0]!r}?", severity=Severity.ERROR
        )
    else:
        message = f"the cloud {text!r:.80} is not one that npac knows"
        yield finding("unknown-cloud", message, node.span, "known: " + ", ".join(clouds))


def _shell_variable(scalar: Scalar, value: Value) -> Iterator[Diagnostic]:
    """Look for a shell variable in a field as it is written, then in what its tokens bring in."""
    match = re.search(_SHELL_VARIABLE, scalar.value)
    span = scalar.inner(match.start(), match.end()) if match is not None else scalar.span
    if match is None and scalar.value != value:
        match = re.search(_SHELL_VARIABLE, show(value))
    if match is not None:
        message = f"{match.group():.80} stands in a field that no shell reads, so it would stay as it is"
        help_text = "put the value into config and write {{config.KEY}}"
        yield finding("shell-variable", message, span, help_text)
