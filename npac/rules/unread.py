"""What of a spec could not be read, by the findings that say so: keys of states, sections, config values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.flow import Flow
from npac.syntax.ast import State
from npac.syntax.language import SPEC, STATE
from npac.syntax.nearest import Names, is_slip
from npac.syntax.templates import parse_template
from npac.text.source import Span
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

ANY = ""
"""Stands for every key: what could not be read may have been any of them."""


_VITAL = (
    frozenset(("run", "toolRef", "sequence", "parallel")),
    frozenset(("next", "transitions", "terminal", "sequence", "parallel")),
)
"""Keys of which a state hardly does without all."""


_ROUTES_ARE_KNOWN = frozenset(("unknown-predicate", "bad-condition", "unknown-config-key", "value-not-text"))
"""Faults of a transition's `when` and `if`: where it leads to is known all the same."""


class _Entry(NamedTuple):
    """One key of a mapping: where it and its value stand, and which key it is read as (or ``ANY``)."""

    start: int
    end: int
    key: str


class Unread:
    """What could not be read; ``any`` says whether there is anything.

    ``states`` maps a state to its keys, ``everywhere`` are all these keys, ``top`` the sections of the
    spec (``profiles``: something inside ``resources``), ``config`` the places of config keys.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.states: dict[str, set[str]] = {}
        self.everywhere: set[str] = set()
        self.top: set[str] = set()
        self.config: set[int] = set()
        self.any = False
        self.bad_names: list[Span] = []
        self._top = _entries(flow.spec.top, SPEC.names, {})
        self._config: list[_Entry] | None = None
        self._nodes: dict[Span, Map] | None = None
        self._states = sorted(flow.spec.states.values(), key=_start)
        self._starts = [_start(state) for state in self._states]
        self._inside: dict[str, list[_Entry]] = {}

    def owner(self, span: Span) -> State | None:
        """Give the state in whose definition a place is."""
        if span.source is not self.flow.spec.source:
            return None
        place = bisect_right(self._starts, span.start) - 1
        state = self._states[place] if place >= 0 else None
        return state if state is not None and span.start <= max(state.span.end, state.name.end) else None

    def of(self, span: Span) -> set[str]:
        """Give the unread keys of the state in which a place is."""
        state = self.owner(span)
        return self.states.get(state.name.value, set()) if state is not None else set()

    def lacks(self, span: Span, keys: frozenset[str]) -> bool:
        """Say whether a key that nobody knows may be one of these: the state at a place has none of them."""
        state = self.owner(span)
        if state is None or ANY not in self.states.get(state.name.value, ()):
            return False
        return self._has_none(state.name.value, keys)

    def gives_more(self, span: Span) -> bool:
        """Say whether the state at a place has a mapping under a key that nobody knows, and no params."""
        state = self.owner(span)
        node = self._node(state) if state is not None and self.lacks(span, frozenset(("params",))) else None
        return node is not None and any(
            isinstance(value, Map) and key not in STATE.names for key, (_, value) in node.entries.items()
        )

    def some(self, keys: frozenset[str]) -> bool:
        """Say whether one of these keys could not be read in some state.

        A key that nobody knows counts where the state has nothing to do, or no way on.
        """
        if not keys.isdisjoint(self.everywhere):
            return True
        return any(
            ANY in lost and any(group & keys and self._has_none(state, group) for group in _VITAL)
            for state, lost in self.states.items()
        )

    def _has_none(self, name: str, keys: frozenset[str]) -> bool:
        state = self.flow.spec.states.get(name)
        node = self._node(state) if state is not None else None
        return node is None or keys.isdisjoint(node.entries)

    def section(self, name: str) -> bool:
        """Say whether a section of the spec could not be read, or may stand under a key that nobody knows."""
        return name in self.top or (ANY in self.top and name not in self.flow.spec.top.entries)

    def value(self, key: str) -> bool:
        """Say whether a config key is given, and its value is not known."""
        entry = self.flow.config.entries.get(key)
        if entry is None or key in self.flow.config.values:
            return False
        return not isinstance(entry.node, Scalar) or not entry.node.is_null

    def is_read(self, item: Diagnostic) -> bool:
        """Say whether a key that the language does not know was read as the one that was meant."""
        text = item.span.text.strip("'\"")
        return item.help.startswith("did you mean") and is_slip(text, item.help.split("'")[1])

    def guessed(self, item: Diagnostic) -> tuple[int, int] | None:
        """Give the place of a misspelt key of a state, with its value, read as what may be meant."""
        state = self.owner(item.span)
        node: Node | None = self._node(state) if state is not None and self.is_read(item) else None
        place = item.span.start
        while isinstance(node, (Map, Seq)):
            inner: Node | None = None
            if isinstance(node, Seq):
                inner = next((value for value in node.items if value.start <= place <= value.end), None)
            else:
                for key, value in node.entries.values():
                    if key.start == place:
                        return key.start, max(key.end, value.end)
                    if key.start <= place <= value.end:
                        inner = value
            node = inner
        return None

    def same_mapping(self, lack: Diagnostic, key: Diagnostic) -> bool:
        """Say whether a key stands in the mapping of which a finding says that it lacks one."""
        if lack.span.source is not key.span.source:
            return False
        if lack.span.start <= key.span.start < lack.span.end:
            return True
        state = self.owner(lack.span)
        entries = self._top if state is None else self._entries_of(state)
        if state is None and entries and lack.span.start == entries[0].start:
            return _beginning(entries, key.span.start) is not None  # a key of the spec itself
        entry = _beginning(entries, lack.span.start)
        return entry is not None and lack.span.start < key.span.start <= entry.end

    def lose(self, state: str, keys: Iterable[str]) -> None:
        """Take keys of a state as unread."""
        lost = set(keys)
        self.states.setdefault(state, set()).update(lost)
        self.everywhere.update(lost)

    def mark(self, item: Diagnostic) -> None:
        """Take the place of a finding as one that could not be read."""
        if item.span.source is not self.flow.spec.source:
            return
        self.any = True
        if item.code.name == "bad-name":
            self.bad_names.append(item.span)
        state = self.owner(item.span)
        if item.code.name == "duplicate-key" and item.related:
            # the second of two ends no mapping, as nothing of it was kept: the first says where they are
            first = item.related[0].span
            state = self.owner(first)
            if state is not None and first == state.name.span:
                state = None  # a whole state was left out
            else:
                item = item._replace(span=first)
        if state is None:
            self._section(item)
            return
        keys = set(_at(self._entries_of(state), item))
        if item.code.name == "duplicate-state":
            self.everywhere.update(
                ("next", "transitions", "sequence", "parallel")
            )  # of the one that is left out
        if state.works or state.is_group:
            keys -= {"run", "toolRef"}  # what it does is known
        if item.code.name in _ROUTES_ARE_KNOWN:
            keys.discard("transitions")
        self.lose(state.name.value, keys)

    def mark_name(self, item: Diagnostic) -> None:
        """Take a name that names nothing: its place, and what it asks of the state that it names."""
        self.mark(item)
        for token in parse_template(item.span.text).tokens:
            if token.scope == "loop" and item.code.name == "unknown-loop":
                self._lacks(token.path, "loop")
            elif token.scope == "state" and item.code.name == "unknown-state-value":
                self._lacks(token.path.rpartition(".")[0], "outputs")

    def _lacks(self, state: str, key: str) -> None:
        if state in self.flow.spec.states:
            self.lose(state, (key,))

    def _section(self, item: Diagnostic) -> None:
        if item.code.name == "no-states":
            self.top.add("states")
        for key in _at(self._top, item):
            if key == ANY and self._is_scalar(item.span.start):
                continue  # no section is a single word
            value = self.flow.spec.top.get(key)
            if key == "config" and isinstance(value, Map):
                if self._config is None:
                    self._config = _entries(value, (), {})
                index = bisect_right(self._config, item.span.start, key=lambda entry: entry.start) - 1
                if index >= 0 and item.span.start <= self._config[index].end:
                    self.config.add(self._config[index].start)
            else:
                self.top.add("profiles" if key == "resources" and isinstance(value, Map) else key)

    def _is_scalar(self, place: int) -> bool:
        """Say whether the key of the spec that stands at a place has a single word behind it."""
        found = (value for key, value in self.flow.spec.top.entries.values() if key.start == place)
        return isinstance(next(found, None), Scalar)

    def _node(self, state: State) -> Map | None:
        """Give the mapping of a state."""
        states = self._states_node()
        if isinstance(states, Map):
            found = states.get(state.name.value)
            return found if isinstance(found, Map) else None
        if self._nodes is None:
            items = states.items if isinstance(states, Seq) else []
            self._nodes = {item.span: item for item in items if isinstance(item, Map)}
        return self._nodes.get(state.span)

    def _states_node(self) -> Node | None:
        """Give what the states were read from; a slip of the key was read all the same."""
        entries = self.flow.spec.top.entries
        near = (value for key, (_, value) in entries.items() if is_slip(key, "states"))
        found = self.flow.spec.top.get("states")
        return found if found is not None else next(near, None)

    def _entries_of(self, state: State) -> list[_Entry]:
        found = self._inside.get(state.name.value)
        if found is None:
            node = self._node(state)
            whole = _Entry(_start(state), max(state.span.end, state.name.end), ANY)
            found = _entries(node, STATE.names, STATE.aliases) if node is not None else [whole]
            self._inside[state.name.value] = found
        return found


def _start(state: State) -> int:
    return min(state.name.start, state.span.start)


def _entries(node: Map, names: Sequence[str], aliases: Mapping[str, str]) -> list[_Entry]:
    """Give the entries of a mapping of the language by their places."""
    found = []
    known = Names(names)
    for text, (key, value) in node.entries.items():
        canonical = aliases.get(text, text)
        if names and canonical not in names:
            near = known.nearest(text, 1)
            canonical = near[0] if near and is_slip(text, near[0]) else ANY
        found.append(_Entry(key.start, max(value.end, key.end), canonical))
    return sorted(found)


def _beginning(entries: list[_Entry], place: int) -> _Entry | None:
    """Give the entry whose key stands at a place."""
    index = bisect_left(entries, place, key=lambda entry: entry.start)
    return entries[index] if index < len(entries) and entries[index].start == place else None


def _at(entries: list[_Entry], item: Diagnostic) -> Iterator[str]:
    """Give the keys in which a finding stands; a key that is only misspelt was read all the same."""
    place = item.span.start
    index = bisect_right(entries, place, key=lambda entry: entry.start) - 1
    while index >= 0 and entries[index].start <= place <= entries[index].end:
        entry = entries[index]
        if item.code.name != "unknown-key" or place != entry.start or entry.key == ANY:
            yield entry.key
        index -= 1
