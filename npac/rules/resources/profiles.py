"""Resource profiles: they exist, have only known keys, and every quantity can be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.ir.values import has_hole
from npac.syntax.ast import Profile
from npac.syntax.grammars import Problem
from npac.syntax.nearest import nearest
from npac.syntax.quantities import (
    parse_accelerator,
    parse_cpus,
    parse_disk_size,
    parse_memory,
    parse_num_nodes,
)
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

PROFILE_KEYS = (
    "cloud", "region", "accelerators", "cpus", "memory", "disk_size", "use_spot", "image", "num_nodes", "kubernetes",
    "deployIfAbsent",
)  # fmt: skip
KUBERNETES_KEYS = ("pod_config", "provision_timeout")
_SHELL_VARIABLE = re.compile(r"\$\{[A-Za-z_][^}]*\}?")
_DIGITS = re.compile(r"[0-9]{1,9}\Z")

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
    return tuple((Path(__file__).parent / "clouds.txt").read_text(encoding="utf-8").split())


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report profiles that do not exist, unknown keys, bad quantities, unknown clouds, shell variables."""
    for name, state in flow.spec.states.items():
        if state.resources is not None and state.resources.value not in flow.spec.profiles:
            if state.works and state.resources.value != "default":
                near = nearest(state.resources.value, flow.spec.profiles)
                known = ", ".join(flow.spec.profiles) or "none"
                help_text = f"did you mean {near[0]!r}?" if near else f"profiles of this spec: {known}"
                message = f"{name!r} names the resource profile {state.resources.value!r:.120}, which does not exist"
                yield finding("unknown-profile", message, state.resources.span, help_text)
    for profile in flow.spec.profiles.values():
        yield from _keys(profile)
        yield from _values(flow, profile)
        for scalar in _scalars(profile.node):
            yield from _shell_variable(scalar)
    for state in flow.spec.states.values():
        for artifact in (*state.inputs, *state.outputs):
            yield from _shell_variable(artifact.uri.node)
        if state.trigger is not None and state.trigger.uri is not None:
            yield from _shell_variable(state.trigger.uri.node)


def _keys(profile: Profile) -> Iterator[Diagnostic]:
    name = profile.name.value
    for text, (key, value) in profile.node.entries.items():
        if text.startswith("x-"):
            continue
        if text not in PROFILE_KEYS:
            near = nearest(text, PROFILE_KEYS)
            help_text = f"did you mean {near[0]!r}?" if near else "known keys: " + ", ".join(sorted(PROFILE_KEYS))
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


def _wrong(node: Node, what: str, wanted: str) -> Diagnostic:
    from npac.syntax.reader import shown

    return finding("wrong-type", f"{what} must be {wanted}, and this is {shown(node)}", node.span, f"write {wanted}")


def _kubernetes(name: str, node: Node) -> Iterator[Diagnostic]:
    if not isinstance(node, Map):
        yield _wrong(node, "kubernetes", "a mapping")
        return
    for text, (key, value) in node.entries.items():
        if text.startswith("x-"):
            continue
        if text not in KUBERNETES_KEYS:
            near = nearest(text, KUBERNETES_KEYS)
            help_text = f"did you mean {near[0]!r}?" if near else "known keys: pod_config, provision_timeout"
            yield finding("unknown-key", f"kubernetes of {name!r} has no key {text!r:.80}", key.span, help_text)
        elif text == "pod_config" and not isinstance(value, Map):
            yield _wrong(value, "pod_config", "a mapping")
        elif text == "provision_timeout":
            if not isinstance(value, Scalar) or not (_DIGITS.match(value.value) or "{{" in value.value):
                yield _wrong(value, "provision_timeout", "a whole number of seconds")


def _deploy(key: Scalar, node: Node) -> Iterator[Diagnostic]:
    if isinstance(node, Scalar) and node.boolean is None:
        yield _wrong(node, "deployIfAbsent", "true, false or a mapping")
    elif isinstance(node, Seq):
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
        if isinstance(value, Scalar) and "{{" in value.value:
            continue
        if not isinstance(value, Scalar) or not _DIGITS.match(value.value) or int(value.value) < 1:
            yield finding("bad-quantity", "an accelerator's count must be a whole number from 1", value.span, "write N")


def _values(flow: Flow, profile: Profile) -> Iterator[Diagnostic]:
    """Check the quantities with the values that each state gives them."""
    seen: set[tuple[str, object]] = set()
    users = [
        step for step in flow.steps.by_state.values() if step.profile_name == profile.name.value and step.state.works
    ]
    trees: list[dict[str, object]] = [dict(step.profile) for step in users]
    if not users:
        trees = [{key: value.value for key, (_, value) in profile.node.entries.items() if isinstance(value, Scalar)}]
    for tree in trees:
        for key in (*_QUANTITIES, "cloud"):
            node = profile.node.get(key)
            value = tree.get(key)
            if not isinstance(node, Scalar) or value is None:
                continue
            if not isinstance(value, (bool, int, float, str)):
                if key in ("accelerators", "num_nodes", "cloud") and has_hole(value):  # type: ignore[arg-type]
                    yield from _late(node, key, value)
                continue
            text = node.value if isinstance(value, (bool, int, float)) else value
            if "{{" in text and not users:
                continue
            mark = (key, text)
            if mark in seen:
                continue
            seen.add(mark)
            yield from _cloud(node, text) if key == "cloud" else _quantity(node, key, text)


def _late(node: Scalar, key: str, value: object) -> Iterator[Diagnostic]:
    from npac.flow.symbolic import hole_names

    names: set[str] = set()
    hole_names(value, names)  # type: ignore[arg-type]
    if "run.id" in names:
        message = f"{key} would depend on the run id, and a program's structure cannot"
        yield finding("late-structure", message, node.span, "give a value that is known beforehand")


def _quantity(node: Scalar, key: str, text: str) -> Iterator[Diagnostic]:
    parsed = _QUANTITIES[key](text)
    if isinstance(parsed, Problem):
        given = "" if text == node.value else f" (it is {text!r:.80})"
        span = node.inner(parsed.start, parsed.end) if text == node.value and parsed.end > parsed.start else node.span
        yield finding("bad-quantity", f"{key} cannot be read{given}: {parsed.message}", span, parsed.help)


def _cloud(node: Scalar, text: str) -> Iterator[Diagnostic]:
    clouds = known_clouds()
    if text in clouds:
        return
    near = nearest(text, clouds, 1)
    if near:
        message = f"there is no cloud {text!r:.80}"
        yield finding("unknown-cloud", message, node.span, f"did you mean {near[0]!r}?", severity=Severity.ERROR)
    else:
        message = f"the cloud {text!r:.80} is not one that npac knows"
        yield finding("unknown-cloud", message, node.span, "known: " + ", ".join(clouds))


def _scalars(node: Node) -> Iterator[Scalar]:
    stack: list[Node] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Scalar):
            yield top
        elif isinstance(top, Seq):
            stack.extend(reversed(top.items))
        else:
            stack.extend(value for key, (_, value) in reversed(top.entries.items()) if key not in ("command", "args"))


def _shell_variable(scalar: Scalar) -> Iterator[Diagnostic]:
    if "${" not in scalar.value:
        return
    match = _SHELL_VARIABLE.search(scalar.value)
    if match is not None:
        message = f"{match.group()} stands in a field that no shell reads, so it would stay as it is"
        help_text = "put the value into config and write {{config.KEY}}"
        yield finding("shell-variable", message, scalar.inner(match.start(), match.end()), help_text)
