"""Config keys: nothing unread, switches that switch."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.config import KNOWN_KEYS, SWITCHES, bad_switch
from npac.flow.flow import Flow
from npac.flow.reads import keys_read
from npac.flow.symbolic import written
from npac.syntax.reader import shown
from npac.text.yaml_nodes import Map, Scalar

CODES = (
    ("NPA215", "unused-config-key", Severity.NOTE, "nothing reads a config key"),
    ("NPA216", "bad-switch", Severity.ERROR, "a switch is neither on nor off"),
)
"""What this rule reports: code, name, severity and a summary."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report unread keys and unreadable switches."""
    yield from _unread(flow)
    yield from _own_keys(flow)


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
    overlaid: set[str] | None = None
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
        if overlaid is None:
            overlaid = _overlaid(flow)
        if key in overlaid:
            message += " itself; the states that may read it set it by params"
            help_text = "remove it, unless it is there to say what the params mean"
        yield finding("unused-config-key", message, entry.key.span, help_text)


def _overlaid(flow: Flow) -> set[str]:
    """Give the config keys that some state reads and gives by its own params."""
    found: set[str] = set()
    profiles: dict[str, frozenset[str]] = {}
    for state in flow.spec.states.values():
        if not found.issuperset(state.params):
            tool = flow.catalog.get(state.tool_ref.value) if state.tool_ref is not None else None
            found |= keys_read(flow.spec, state, tool, profiles) & state.params.keys()
    return found


def _any_prefix(key: str, read: set[str], longest: int) -> bool:
    """Say whether a mapping in which a key stands is read as a whole."""
    at = key.find(".")
    while 0 <= at <= longest:
        if key[:at] in read:
            return True
        at = key.find(".", at + 1)
    return False
