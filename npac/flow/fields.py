"""The texts of a state, each with its place in the spec and the length that it may have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from npac.flow.config import MAX_VALUE
from npac.flow.flow import Flow
from npac.flow.steps import SymbolicStep
from npac.flow.symbolic import MAX_ARGUMENT
from npac.ir.values import Value
from npac.syntax.templates import parse_template
from npac.text.source import Span
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

if TYPE_CHECKING:
    from npac.ir.program import Tree


class Field(NamedTuple):
    """One text: ``what`` names it for a message, ``written`` is its template's text."""

    what: str
    value: Value
    span: Span
    written: str
    limit: int = MAX_VALUE
    place: str = "step"
    """``step`` for what stands in the state's steps, ``node`` for a trigger's URI, empty for params."""


def fields(flow: Flow, step: SymbolicStep) -> Iterator[Field]:
    """Give the texts of a state as they are evaluated, late values still open."""
    yield from own_fields(step)
    yield from profile_fields(flow, step)


def own_fields(step: SymbolicStep) -> Iterator[Field]:
    """Give the texts that stand in the state itself."""
    state = step.state
    if state.argv is not None:
        for at, (word, value) in enumerate(zip(state.argv, step.argv, strict=True), 1):
            yield Field(f"word {at} of argv", value, word.node.span, word.node.value, MAX_ARGUMENT)
    elif step.tool is not None and state.tool_ref is not None:
        dropped = {at for at in step.droppable if step.argv[at + 1] == ""}
        for at, (text, value) in enumerate(zip(step.tool.argv, step.argv, strict=True)):
            if at not in dropped:
                what = f"a word of the tool {step.tool.name}"
                yield Field(what, value, state.tool_ref.span, text, MAX_ARGUMENT)
    if state.shell is not None:
        yield Field("the shell text", step.shell, state.shell.node.span, state.shell.node.value, MAX_ARGUMENT)
    for kind, items in (("input", step.inputs), ("output", step.outputs)):
        for item in items:
            node = item.decl.uri.node
            yield Field(f"the {kind}'s uri", item.uri, node.span, node.value)
    if step.trigger is not None and state.trigger is not None and state.trigger.uri is not None:
        node = state.trigger.uri.node
        yield Field("the trigger's uri", step.trigger.uri, node.span, node.value, place="node")
    for key, value in step.params.items():
        node = state.params[key].text.node
        place = "step" if state.works and key == "source_sha" else ""
        yield Field(f"the param {key!r}", value, node.span, node.value, place=place)


def profile_fields(flow: Flow, step: SymbolicStep) -> Iterator[Field]:
    """Give the texts of a state's profile; states with one ``step.profile`` have the same."""
    profile = flow.spec.profiles.get(step.profile_name)
    if profile is not None and step.profile:
        for key, tree in step.profile.items():
            where = f"{key} of the profile {step.profile_name!r}"
            yield from _profile(where, profile.node.entries[key][1], tree)


def _profile(what: str, node: Node, tree: Tree) -> Iterator[Field]:
    stack: list[tuple[Node, Tree]] = [(node, tree)]
    while stack:
        top, value = stack.pop()
        if isinstance(top, Scalar):
            if value is not None and not isinstance(value, (bool, int, float, list, dict)):
                yield Field(what, value, top.span, top.value)
        elif isinstance(top, Seq) and isinstance(value, list):
            stack.extend(zip(top.items, value, strict=True))
        elif isinstance(top, Map) and isinstance(value, dict):
            stack.extend((top.entries[key][1], inner) for key, inner in value.items())


def keys_of(flow: Flow, step: SymbolicStep, written: str) -> list[str]:
    """Give the config keys and params that a text's tokens name, those with the longest values first."""
    found: dict[str, int] = {}
    for token in parse_template(written).tokens:
        if token.scope == "config":
            value = step.params.get(token.path, flow.config.values.get(token.path, ""))
            found[f"config.{token.path}"] = flow.late.least(value)
    return sorted(found, key=lambda key: (-found[key], key))
