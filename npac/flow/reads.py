"""Which config keys a state reads itself, so that its params have a say in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from npac.catalog.model import Tool
from npac.flow.steps import COUNTS
from npac.syntax.ast import Spec, State
from npac.syntax.conditions import KeyRef, parse_count
from npac.syntax.templates import Template, parse_template
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

_OWN = frozenset(("decision_uri", "source_sha", "baked_npa_import"))
"""Keys that npac reads of every state."""


Profiles = dict[str, frozenset[str]]
"""The keys that profiles read, by their names: kept by who asks about many states."""


def keys_read(spec: Spec, state: State, tool: Tool | None, profiles: Profiles | None = None) -> set[str]:
    """Give the config keys that are read for ``state`` by its texts, its profile, its tool and npac itself.

    What config values name in their turn is not among them: they are resolved before any params.
    ``profiles`` is filled with what profiles read, so that each is looked through once.
    """
    found = {token.path for text in _texts(state, tool) for token in text.tokens if token.scope == "config"}
    for template in _texts(state, tool):
        for problem in template.problems:  # what was meant is read all the same
            meant = parse_template(problem.suggestion or "")
            found.update(token.path for token in meant.tokens if token.scope == "config")
    if state.trigger is not None:
        counts = (state.trigger.poll_seconds, state.trigger.max_polls, state.trigger.min_objects)
        found.update(count.key for count in counts if count is not None and count.key is not None)
    name = state.resources.value if state.resources is not None else "default"
    profile = spec.profiles.get(name)
    if profile is not None and state.works:
        known = {} if profiles is None else profiles
        if name not in known:
            known[name] = frozenset(_of_profile(profile.node))
        found |= known[name]
    if tool is not None:
        named = (tool.shard_activation, tool.shard_output, tool.variant_count)
        found.update(key for key in named if key)
    return found


def unread_params(spec: Spec, state: State, tool: Tool | None, profiles: Profiles | None = None) -> list[str]:
    """Give the keys of a state's params that nothing of the state reads, remarks (``x-``) left out."""
    if not state.params:
        return []
    read = keys_read(spec, state, tool, profiles)
    return [
        key
        for key in state.params
        if key not in read and key not in _OWN and not key.startswith(("x-", "\0"))
    ]


def _texts(state: State, tool: Tool | None) -> Iterator[Template]:
    yield from (word.template for word in state.argv or ())
    if state.shell is not None:
        yield state.shell.template
    yield from (item.uri.template for item in (*state.inputs, *state.outputs))
    if state.trigger is not None and state.trigger.uri is not None:
        yield state.trigger.uri.template
    if tool is not None:
        yield from (parse_template(word) for word in tool.argv)


def _of_profile(profile: Node) -> Iterable[str]:
    stack: list[tuple[str, Node]] = [("", profile)]
    while stack:
        key, top = stack.pop()
        if isinstance(top, Seq):
            stack.extend(("", item) for item in top.items)
        elif isinstance(top, Map):
            stack.extend((text, value) for text, (_, value) in top.entries.items())
        elif isinstance(top, Scalar) and "{{" in top.value:
            yield from (token.path for token in parse_template(top.value).tokens if token.scope == "config")
        elif isinstance(top, Scalar) and key in COUNTS:
            parsed = parse_count(top.value.strip())
            if isinstance(parsed, KeyRef):
                yield parsed.key
