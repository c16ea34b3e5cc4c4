"""What of a spec could not be read, by the findings that say so: keys of states, sections, config values."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.flow import Flow
from npac.rules.guesses import may_be, suggested, words
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
"""Keys of which a state hardly does without all; a member of a group does without the second."""
LEADING = frozenset(("next", "transitions", "sequence", "parallel"))
"""Keys that lead from one state to others."""


_ROUTES_ARE_KNOWN = frozenset(("unknown-predicate", "bad-condition", "unknown-config-key", "value-not-text"))
"""Faults of a transition's `when` and `if`: where it leads to is known all the same."""


class _Entry(NamedTuple):
    """One key of a mapping: where it and its value stand, and which key it is read as (or ``ANY``)."""

    start: int
    end: int
    key: str


class Unread:
    """What could not be read.

    ``states`` maps a state to its keys, ``everywhere`` are all these keys, ``top`` the sections of the
    spec (``profiles``: something inside ``resources``), ``config`` the places of config keys.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.states: dict[str, set[str]] = {}
        self.everywhere: set[str] = set()
        self.top: set[str] = set()
        self.config: set[int] = set()
        self.leads_anywhere = False
        """Something that leads to states could not be read, and nothing says to which."""
        self.reads_anything = False
        """Where a config key should be read, none is named that exists or is like one that does."""
        self.bad_names: list[Span] = []
        self._top = _entries(flow.spec.top, SPEC.names, {})
        self._config: list[_Entry] | None = None
        self._nodes: dict[Span, Map] | None = None
        self._states = sorted(flow.spec.states.values(), key=_start)
        self._starts = [_start(state) for state in self._states]
        self._inside: dict[str, list[_Entry]] = {}
        self._texts: set[tuple[int, int]] = set()
        self._meant: set[str] = set()
        self._words: set[str] | None = None

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

    def some(self, keys: frozenset[str]) -> bool:
        """Say whether one of these keys could not be read in some state.

        A key that nobody knows counts where the state has nothing to do, or no way on.
        """
        if not keys.isdisjoint(self.everywhere):
            return True
        parent = self.flow.structure.parent
        return any(
            ANY in lost
            and any(
                group & keys and self._has_none(state, group)
                for group in (_VITAL[:1] if state in parent else _VITAL)
            )
            for state, lost in self.states.items()
        )

    @property
    def words(self) -> set[str]:
        """The names in what could not be read, and those that findings about it say may be meant."""
        if self._words is None:
            text = self.flow.spec.source.text
            self._words = {word for begin, end in self._texts for word in words(text[begin:end])}
            self._words |= self._meant
        return self._words

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
        """Take keys of a state as unread, without a text that says what would stand there."""
        lost = set(keys)
        self.leads_anywhere = self.leads_anywhere or ANY in lost or not lost.isdisjoint(LEADING)
        self._lose(state, lost)

    def _lose(self, state: str, lost: set[str]) -> None:
        self.states.setdefault(state, set()).update(lost)
        self.everywhere.update(lost)

    def mark(self, item: Diagnostic) -> None:
        """Take the place of a finding as one that could not be read."""
        if item.span.source is not self.flow.spec.source:
            return
        meant = set(suggested(item.help))
        if item.code.name == "unknown-state":
            meant.update(self.flow.steps.evaluator.states.nearest(item.span.text.strip("'\"")))
        self._meant |= meant
        if not meant and self._reads_some_key(item):
            self.reads_anything = True
        if item.code.name == "bad-name":
            self.bad_names.append(item.span)
        state = self.owner(item.span)
        twice = item.code.name in ("duplicate-key", "duplicate-state") and bool(item.related)
        if item.code.name == "duplicate-key" and twice:
            # the second of two ends no mapping, as nothing of it was kept: the first says where they are
            first = item.related[0].span
            state = self.owner(first)
            if state is not None and first == state.name.span:
                state = None  # a whole state was left out
            else:
                self._left_out(item, state)
                item = item._replace(span=first)
        if state is None:
            self._section(item)
            return
        keys: set[str] = set()
        read = ""
        for entry in _at(self._entries_of(state), item):
            if not twice:
                self._texts.add((entry.start, entry.end))
                read += self.flow.spec.source.text[entry.start : entry.end]
            keys |= self._meant_by(state, entry)
        if item.code.name == "duplicate-state":
            keys |= LEADING  # of the one that is left out
        if state.works or state.is_group:
            keys -= {"run", "toolRef"}  # what it does is known
        if item.code.name in _ROUTES_ARE_KNOWN:
            keys.discard("transitions")
        if not keys.isdisjoint(LEADING) or ANY in keys:
            named = meant if item.code.name == "unknown-state" else meant.union(words(read))
            listed = item.code.name == "wrong-type" and not keys.isdisjoint(("sequence", "parallel"))
            # more than one may have been meant, or the whole state is not known
            if listed or ANY in keys or named.isdisjoint(self.flow.spec.states):
                self.leads_anywhere = True
        self._lose(state.name.value, keys)

    def _reads_some_key(self, item: Diagnostic) -> bool:
        """Say whether a config key should be read at the place of a finding, which does not say which."""
        name = item.code.name
        if name in ("bad-condition", "bad-token"):
            text = item.span.text
            asked = name == "bad-condition" or "config" in text
            return asked and self.flow.config.entries.keys().isdisjoint(words(text))
        lacking = name == "missing-key" and item.message.endswith((" no uri", " no max"))
        return lacking or name == "unknown-config-key"

    def _left_out(self, item: Diagnostic, state: State | None) -> None:
        """Take what stands behind the second of two keys as unread, up to the next key."""
        place = item.span.start
        if state is not None:
            ends, end = [entry.start for entry in self._entries_of(state)], state.span.end
        else:
            inside = next(_at(self._top, item), None)
            end = inside.end if inside is not None else len(item.span.source.text)
            ends = [*self._starts, *(entry.start for entry in self._config_entries())]
        self._texts.add((place, min((at for at in ends if place < at), default=max(item.span.end, end))))

    def _config_entries(self) -> list[_Entry]:
        if self._config is None:
            value = self.flow.spec.top.get("config")
            self._config = _entries(value, (), {}) if isinstance(value, Map) else []
        return self._config

    def _meant_by(self, state: State, entry: _Entry) -> set[str]:
        """Give the key that an entry of a state is, or those that it may have been meant as."""
        node = self._node(state) if entry.key == ANY else None
        if node is None:
            return {entry.key}
        value = next((value for key, value in node.entries.values() if key.start == entry.start), None)
        spec = self.flow.spec
        return may_be(value, state, spec.states, spec.profiles) if value is not None else {ANY}

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
        if item.code.name in ("duplicate-key", "duplicate-state"):
            self._left_out(item, None)
        for entry in _at(self._top, item):
            key = entry.key
            value = self.flow.spec.top.get(key)
            if key == "config" and isinstance(value, Map):
                for inner in _at(self._config_entries(), item):
                    self.config.add(inner.start)
                    if item.code.name != "duplicate-key":
                        self._texts.add((inner.start, inner.end))
                continue
            if item.code.name not in ("duplicate-key", "duplicate-state"):
                self._texts.add((entry.start, entry.end))
            if key == ANY and self._is_scalar(item.span.start):
                continue  # no section is a single word
            if key == "metadata" and isinstance(value, Map) and not _may_hide_mode(value, item.span.start):
                continue
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


def _may_hide_mode(metadata: Map, place: int) -> bool:
    """Say whether the mode of execution is what stands at a place, or a key that nobody knows may be it."""
    for text, (key, value) in metadata.entries.items():
        if key.start <= place <= max(key.end, value.end):
            if text == "executionMode":
                return True
            unknown = text not in ("name", "description", "namespace", "labels")
            return unknown and isinstance(value, Scalar) and "executionMode" not in metadata.entries
    return False


def _at(entries: list[_Entry], item: Diagnostic) -> Iterator[_Entry]:
    """Give the entries in which a finding stands; a key that is only misspelt was read all the same."""
    place = item.span.start
    index = bisect_right(entries, place, key=lambda entry: entry.start) - 1
    while index >= 0 and entries[index].start <= place <= entries[index].end:
        entry = entries[index]
        if item.code.name != "unknown-key" or place != entry.start or entry.key == ANY:
            yield entry
        index -= 1
