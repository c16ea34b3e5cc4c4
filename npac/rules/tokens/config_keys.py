"""Config keys: nothing unread, switches that switch, text that other readers would not change."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Edit, Fix
from npac.flow.config import KNOWN_KEYS, SWITCHES, bad_switch
from npac.flow.flow import Flow
from npac.flow.symbolic import written
from npac.syntax.reader import shown
from npac.text.yaml_nodes import Map, Node, Scalar

_YAML11_WORDS = frozenset(["yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"])
_OCTAL = r"[-+]?0[0-7_]*[0-7]\Z"
_SEXAGESIMAL = r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z"
_BASED = r"[-+]?0(?:x_*[0-9a-fA-F][0-9a-fA-F_]*|b_*[01][01_]*)\Z"
_DECIMAL = r"[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?\Z"
_EXPONENT = r"[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+\Z"
_LONGEST_NUMBER = 64
_DATE = r"[0-9]{4}-(?:[0-9]{2}-[0-9]{2}\Z|[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2})"
_GROUPED = r"[-+]?[0-9]+(?:_[0-9_]*)+\Z"


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report unread keys, unreadable switches, and values that YAML 1.1 readers would retype."""
    yield from _unread(flow)
    yield from _own_keys(flow)
    for node in _substituted(flow):
        becomes = _retyped(node.value)
        if becomes is not None:
            fix = Fix("quote it", (Edit(node.span, f'"{node.value}"'),))
            message = f"{node.value} is kept as written here, but other YAML readers make {becomes} of it"
            yield finding("retyped-scalar", message, node.span, f'quote it: "{node.value}"', fix=fix)


def _substituted(flow: Flow) -> Iterator[Scalar]:
    """Give the plain scalars whose text is put into others: of config, run and params, and words of argv."""
    nodes: list[Node] = [entry.node for entry in flow.spec.config.values()]
    nodes.extend(value for _, value in flow.spec.run.values())
    for state in flow.spec.states.values():
        nodes.extend(param.text.node for param in state.params.values())
        nodes.extend(word.node for word in state.argv or ())
    seen: set[int] = set()
    for node in nodes:
        if isinstance(node, Scalar) and node.style == "" and not node.aliased and node.start not in seen:
            seen.add(node.start)
            yield node


def _own_keys(flow: Flow) -> Iterator[Diagnostic]:
    """Look at the keys that npac itself reads: switches that switch, and text where text is read."""
    for key in KNOWN_KEYS:
        entry = flow.config.entries.get(key)
        if entry is None or key == "required_immutable_images":
            continue
        node, value = entry.node, flow.config.values.get(key)
        if not isinstance(node, Scalar):
            wanted = "true or false" if key in SWITCHES else "text"
            message = f"npac reads the config key {key} as {wanted}, and this is {shown(node)}"
            yield finding("wrong-type", message, node.span, f"write {wanted}")
        elif key in SWITCHES and value is not None and (not isinstance(value, str) or bad_switch(value)):
            message = f"the switch {key} is {written(value)!r:.80}"
            yield finding("bad-switch", message, node.span, "write true or false (1/0, yes/no, on/off)")


def _unread(flow: Flow) -> Iterator[Diagnostic]:
    if any(
        state.tool_ref and flow.catalog.get(state.tool_ref.value) is None
        for state in flow.spec.states.values()
    ):
        return  # what an unknown tool reads is not known
    read = flow.config.read
    longest = min(max(map(len, read), default=0), 4096)
    overlaid = {key for state in flow.spec.states.values() for key in state.params}
    for key, entry in flow.spec.config.items():
        if key in KNOWN_KEYS or key in read or flow.config.entries[key].origin == "tool":
            continue
        if isinstance(entry.node, Map):
            continue  # its keys stand for it
        if "." in key and _any_prefix(key, read, longest):
            continue
        if entry.key.aliased:
            continue
        message = f"nothing reads the config key {key!r}"
        help_text = "remove it, or name it x-... if it is a remark"
        if key in overlaid:
            message += " itself; the states that may read it set it by params"
            help_text = "remove it, unless it is there to say what the params mean"
        yield finding("unused-config-key", message, entry.key.span, help_text)


def _any_prefix(key: str, read: set[str], longest: int) -> bool:
    """Say whether a mapping in which a key stands is read as a whole."""
    at = key.find(".")
    while 0 <= at <= longest:
        if key[:at] in read:
            return True
        at = key.find(".", at + 1)
    return False


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
