"""Plain text that other YAML readers would make something else of: quoted, it is the same to all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Edit, Fix
from npac.flow.flow import Flow
from npac.text.yaml_nodes import Map, Node, Scalar

_YAML11_WORDS = frozenset(["yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"])
_OCTAL = r"[-+]?0[0-7_]*[0-7]\Z"
_SEXAGESIMAL = r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z"
_BASED = r"[-+]?0(?:x_*[0-9a-fA-F][0-9a-fA-F_]*|b_*[01][01_]*)\Z"
_DECIMAL = r"[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?\Z"
_EXPONENT = r"[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+\Z"
_LONGEST_NUMBER = 64
_LONGEST_WORD = 5
"""Characters of the longest word that is no text: ``false``."""
_NUMERIC = "0123456789+-"
_DATE = r"[0-9]{4}-(?:[0-9]{2}-[0-9]{2}\Z|[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2})"
_GROUPED = r"[-+]?[0-9]+(?:_[0-9_]*)+\Z"
_NAMELESS = {"true": "the boolean true", "false": "the boolean false", "null": "nothing", "~": "nothing"}
"""What is as well known to be no text as to be written on purpose where a value stands, and not as a name."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Note values, names and keys that YAML 1.1 readers would retype."""
    seen: set[int] = set()
    for nodes, named in ((_names(flow), True), (_substituted(flow), False)):
        for node in nodes:
            # Nearly all are words, which are passed over at a glance.
            if not isinstance(node, Scalar):
                continue
            value = node.value
            if len(value) > _LONGEST_WORD and value[0] not in _NUMERIC:
                continue
            if node.style == "" and not node.aliased and node.start not in seen:
                yield from _said(node, named, seen)


def _said(node: Scalar, named: bool, seen: set[int]) -> Iterator[Diagnostic]:
    seen.add(node.start)
    becomes = _retyped(node.value)
    if becomes is None and named:
        becomes = _NAMELESS.get(node.value.lower())
    if becomes is not None:
        fix = Fix("quote it", (Edit(node.span, f'"{node.value}"'),))
        message = f"{node.value} is kept as written here, but other YAML readers make {becomes} of it"
        yield finding("retyped-scalar", message, node.span, f'quote it: "{node.value}"', fix=fix)


def _substituted(flow: Flow) -> Iterator[Node]:
    """Give what is put into other texts: values of config, run and params, and words of argv."""
    yield from (entry.node for entry in flow.spec.config.values())
    yield from (value for _, value in flow.spec.run.values())
    for state in flow.spec.states.values():
        yield from (param.text.node for param in state.params.values())
        yield from (word.node for word in state.argv or ())


def _names(flow: Flow) -> Iterator[Node | None]:
    """Give names where they are given and where they are used, and the keys of config, run and params."""
    spec = flow.spec
    metadata = spec.top.get("metadata")
    yield spec.name
    if isinstance(metadata, Map):
        yield metadata.get("namespace")
        labels = metadata.get("labels")
        yield from (
            (node for entry in labels.entries.values() for node in entry) if isinstance(labels, Map) else ()
        )
    yield from (entry.key for entry in spec.config.values() if entry.origin != "tool")
    yield from (key for key, _ in spec.run.values())
    yield from (profile.name for profile in spec.profiles.values())
    yield spec.initial
    for state in spec.states.values():
        yield from (state.name, state.next, state.resources, state.tool_ref)
        yield from (*state.needs, *state.members, *state.secrets)
        yield from (transition.goto for transition in state.transitions)
        yield from (param.key for param in state.params.values())
        yield from (item.schema for item in (*state.inputs, *state.outputs))


def _retyped(text: str) -> str | None:
    """Say what a YAML 1.1 reader would make of a plain scalar, where that is another text."""
    if text in _YAML11_WORDS:
        return "the boolean " + ("true" if text.lower() in ("yes", "on") else "false")
    if (not text[:1].isdigit() and text[:1] not in ("+", "-")) or len(text) > _LONGEST_NUMBER:
        return None
    if text.isdigit() and text[0] != "0":
        return None
    digits = text.replace("_", "")
    if re.match(_BASED, text):
        return f"the number {int(digits, 0)}"
    if re.match(_OCTAL, text):
        return f"the number {int(digits, 8)}"
    if re.match(_GROUPED, text):
        return f"the number {int(digits)}"
    if re.match(_SEXAGESIMAL, text):
        return "a number to base 60"
    if re.match(_DATE, text):
        return "a date"
    if re.match(_EXPONENT, text):
        return f"the number {float(digits)!r}"
    if re.match(_DECIMAL, text) and text.strip("+-.") and repr(float(text.replace("_", ""))) != text:
        return f"the number {float(text.replace('_', ''))!r}"
    return None
