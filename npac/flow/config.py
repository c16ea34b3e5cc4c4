"""Config values resolved, in dependency order, to any depth.

A resolved value is text with holes for ``run.id`` only.  Substitution is of text into text, once:
what a value brings in is never scanned again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from npac.catalog.model import Catalog
from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related
from npac.flow.overrides import Overrides, apply_overrides
from npac.ir.values import RUN_ID, Concat, Value, apply, concat
from npac.syntax.ast import ConfigEntry, Spec
from npac.syntax.language import CONFIG
from npac.syntax.nearest import Names
from npac.syntax.reader import Reader, shown
from npac.syntax.templates import Token
from npac.text.source import Span
from npac.text.yaml_nodes import Scalar

MAX_VALUE = 1 << 20
"""Longest resolved field, in bytes."""

MAX_PROGRAM = 1 << 30
"""Most text of a program, in bytes."""

MAX_TEXT = 128 << 20
"""Most memory for the texts that are put together while a spec is resolved, in bytes."""

_PART = 64
"""Bytes that a part of a value takes besides its text."""

KNOWN_KEYS = CONFIG.names
SWITCHES = tuple(name for name, key in CONFIG.keys.items() if key.form == "switch")
_ON = frozenset(("1", "true", "yes", "on"))
_OFF = frozenset(("0", "false", "no", "off", ""))


class Config:
    """The base config of a spec: entries as given and their resolved values.

    ``values`` lacks the keys that could not be resolved; ``read`` collects the keys that something
    reads.
    """

    __slots__ = (
        "_plain",
        "_sizes",
        "built",
        "entries",
        "given",
        "names",
        "prefix_outside",
        "read",
        "run_names",
        "spec",
        "values",
    )

    def __init__(self, spec: Spec, entries: dict[str, ConfigEntry]) -> None:
        self.spec = spec
        self.entries = entries
        self.names = Names(entries)
        self.run_names = Names(("id", "prefix", *spec.run))
        self.values: dict[str, Value] = {}
        self.read: set[str] = set()
        self.prefix_outside: Value = ""
        self.built = 0
        """Bytes that the texts take that were put together so far, here and in the states."""
        self._sizes: dict[Value, int] = {}
        self._plain: tuple[str, ...] | None = None
        self.given: list[ConfigEntry] = []
        """What the overrides gave, also what was refused."""

    @property
    def run_prefix(self) -> Value:
        """``run.prefix`` as config sees it: the workflow's name and the run id."""
        name = self.spec.name.value if self.spec.name is not None else ""
        return concat((name, "/", RUN_ID))

    def run_value(self, path: str, *, inside_config: bool = False) -> Value | None:
        """Give ``run.PATH``, or None when there is no such key."""
        if path == "id":
            return RUN_ID
        if path == "prefix":
            return self.run_prefix if inside_config else self.prefix_outside
        entry = self.spec.run.get(path)
        return entry[1].value if entry is not None else None

    def size(self, value: Value) -> int:
        """Give the length of a value's text in bytes, or the number of its parts, which take memory too.

        Each value is measured once.
        """
        if isinstance(value, str) and value.isascii():
            return len(value)
        found = self._sizes.get(value)
        if found is None:
            parts = len(value.parts) if isinstance(value, Concat) else 0
            found = self._sizes[value] = max(value_length(value), parts)
        return found

    def fits(self, values: list[Value], size: int) -> bool | None:
        """Count a text of ``size`` put together from ``values``; None for the first that is too much."""
        return self.takes(
            size + _PART * sum(len(value.parts) for value in values if isinstance(value, Concat))
        )

    def takes(self, size: int) -> bool | None:
        """Count ``size`` bytes of memory; None for the first that are too much, False for all after them."""
        before = self.built
        self.built += size
        return self.built <= MAX_TEXT or (None if before <= MAX_TEXT else False)

    def plain_keys(self) -> tuple[str, ...]:
        """Give the first keys that stand in no mapping, for a message; of more the last is ``...``."""
        if self._plain is None:
            found = tuple(islice((key for key in self.entries if "." not in key), 9))
            self._plain = (*found[:8], "...") if len(found) > 8 else found
        return self._plain

    def text(self, key: str) -> str | None:
        """Give the resolved text of a key that must not depend on the run; None when unset, null or late."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def switch(self, key: str) -> bool:
        """Say whether a switch is on; an unreadable one is off (and reported elsewhere)."""
        text = self.text(key)
        return text is not None and text.strip().lower() in _ON


def bad_switch(text: str) -> bool:
    """Say whether ``text`` is neither on nor off."""
    return text.strip().lower() not in _ON | _OFF


def build_config(spec: Spec, catalog: Catalog, overrides: Overrides, report: list[Diagnostic]) -> Config:
    """Merge the spec's config, its tools' defaults and the overrides, and resolve every value."""
    entries = dict(spec.config)
    _tool_defaults(spec, catalog, entries, report)
    given = apply_overrides(entries, overrides, report)
    config = Config(spec, entries)
    config.given = given
    _Resolver(config, report).run()
    prefix = config.values.get("prefix", "")
    config.prefix_outside = prefix if prefix != "" else config.run_prefix
    return config


def _tool_defaults(
    spec: Spec, catalog: Catalog, entries: dict[str, ConfigEntry], report: list[Diagnostic]
) -> None:
    given: dict[str, tuple[str, Scalar]] = {}
    for state in spec.states.values():
        tool = catalog.get(state.tool_ref.value) if state.tool_ref is not None else None
        if tool is None or state.tool_ref is None:
            continue
        for key, value in tool.config_defaults.items():
            if key in spec.config:
                continue
            first = given.get(key)
            if first is not None:
                if first[0] != value:
                    report.append(
                        finding(
                            "tool-defaults-differ",
                            f"two tools give the config key {key!r} different defaults: "
                            f"{first[0]!r} and {value!r}",
                            state.tool_ref.span,
                            f"set {key} in config",
                            related=(Related("the other tool is named here", first[1].span),),
                        )
                    )
                continue
            given[key] = (value, state.tool_ref)
            at = state.tool_ref
            node = Scalar(at.source, at.start, at.end, value, "!")
            node.aliased = True
            entries[key] = ConfigEntry(at, node, "tool")


class _Resolver:
    """Resolves config entries with a stack of its own; a cycle is reported once, with its members."""

    def __init__(self, config: Config, report: list[Diagnostic]) -> None:
        self.config = config
        self.report = report
        self.reader = Reader(report)
        self.parts: dict[str, tuple[str | Token, ...]] = {}
        self.state: dict[str, int] = {}  # 1 = being resolved, 2 = done
        self.broken: set[str] = set()
        self.rings: list[tuple[int, int]] = []
        """Stretches of the path that is followed whose keys are all known to be in a circle, in order."""

    def run(self) -> None:
        for key, entry in self.config.entries.items():
            self._parse(key, entry)
        for key in self.parts:
            self._resolve(key)

    def _parse(self, key: str, entry: ConfigEntry) -> None:
        node = entry.node
        if not isinstance(node, Scalar) or node.is_null:
            return
        if entry.origin == "var":
            self.parts[key] = (node.value,)
            return
        text = self.reader.template(node)
        if text.template.problems:
            self.broken.add(key)
        self.parts[key] = text.template.parts

    def _dependencies(self, key: str) -> Iterator[str]:
        for part in self.parts.get(key, ()):
            if isinstance(part, Token) and part.scope == "config":
                yield part.path

    def _resolve(self, start: str) -> None:
        if self.state.get(start) == 2:
            return
        path: list[str] = []
        places: dict[str, int] = {}
        stack: list[tuple[str, Iterator[str]]] = []

        def enter(key: str) -> None:
            self.state[key] = 1
            places[key] = len(path)
            path.append(key)
            stack.append((key, self._dependencies(key)))

        enter(start)
        while stack:
            key, waiting = stack[-1]
            follow = next(waiting, None)
            if follow is None:
                stack.pop()
                path.pop()
                if self.rings and self.rings[-1][1] == len(path):
                    begin, end = self.rings.pop()
                    if begin < end:
                        self.rings.append((begin, end - 1))
                self.state[key] = 2
                self._finish(key)
            elif follow in self.parts:
                mark = self.state.get(follow)
                if mark is None:
                    enter(follow)
                elif mark == 1:
                    self._cycle(path, places[follow])
            self.config.read.add(follow) if follow is not None else None

    def _cycle(self, path: list[str], begin: int) -> None:
        """Report that the last key of ``path`` leads back to the one at ``begin``, unless that is known."""
        fresh = False
        at = len(path) - 1
        while at >= begin:
            if self.rings and self.rings[-1][1] == at:
                at = self.rings.pop()[0] - 1
                continue
            fresh = fresh or path[at] not in self.broken
            self.broken.add(path[at])
            at -= 1
        self.rings.append((at + 1, len(path) - 1))
        if not fresh:
            return
        first, last = path[begin], len(path)
        members = (
            path[begin:last] if last - begin <= 8 else [*path[begin : begin + 3], "...", *path[last - 4 :]]
        )
        related = tuple(
            Related(f"{name} is given here", self.config.entries[name].key.span)
            for name in path[begin + 1 : min(begin + 4, last)]
        )
        self.report.append(
            finding(
                "config-cycle",
                f"config values refer to each other in a circle: {' -> '.join((*members, first))}",
                self.config.entries[first].node.span,
                "give one of them a value of its own",
                related=related,
            )
        )

    def _finish(self, key: str) -> None:
        entry = self.config.entries[key]
        node = entry.node
        assert isinstance(node, Scalar)
        values: list[Value] = []
        length = 0
        for part in self.parts[key]:
            value = part if isinstance(part, str) else self._token(node, part)
            if value is None:
                self.broken.add(key)
                continue
            if isinstance(part, Token) and part.transform:
                value = apply(part.transform, value)
            values.append(value)
            length += self.config.size(value)
            if length > MAX_VALUE:
                break
        if key in self.broken:
            return
        if len(values) > 1 or any(isinstance(part, Token) and part.transform for part in self.parts[key]):
            fits = self.config.fits(values, length)
            if not fits:
                if fits is None:
                    self.report.append(too_much_text(entry.key.span))
                self.broken.add(key)
                return
        if length > MAX_VALUE:
            message = f"the config key {key!r} would be longer than {MAX_VALUE:,} bytes"
            self.report.append(
                finding("value-too-long", message, entry.key.span, "shorten it or what it names")
            )
            self.broken.add(key)
            return
        self.config.values[key] = concat(values)

    def _token(self, node: Scalar, token: Token) -> Value | None:
        span = node.inner(token.start, token.end)
        if token.scope == "run":
            value = self.config.run_value(token.path, inside_config=True)
            if value is None:
                self.report.append(unknown_run_key(self.config, token, span))
            return value
        if token.scope != "config":
            message = f"a config value cannot read {token.scope}.{token.path}"
            help_text = "config is resolved before anything runs; use the token in a state, or in its params"
            self.report.append(finding("token-not-allowed-here", message, span, help_text))
            return None
        if token.path in self.config.values:
            return self.config.values[token.path]
        if token.path in self.broken:
            return None
        self.report.append(missing_config(self.config, token, span))
        return None


def too_much_text(span: Span) -> Diagnostic:
    """Say that a spec's texts, with all of their tokens filled in, would fill the memory."""
    return finding(
        "program-too-large",
        f"the spec's texts would take more than {MAX_TEXT >> 20} MiB from here on, each with its tokens "
        "filled in",
        span,
        "shorten the config values that many texts name, or put them into files and name those",
    )


def missing_config(config: Config, token: Token, span: Span) -> Diagnostic:
    """Say that a config token names nothing, or something that is no text."""
    entry = config.entries.get(token.path)
    if entry is not None:
        what = "null" if isinstance(entry.node, Scalar) else shown(entry.node)
        related = (Related("declared here", entry.key.span),)
        message = f"the config key {token.path!r} holds {what}, which cannot be put into text"
        return finding(
            "value-not-text", message, span, "give it a text, or name a key inside it", related=related
        )
    near = config.names.nearest(token.path)
    if near:
        help_text = f"did you mean {near[0]!r}?"
    else:
        listed = ", ".join(config.plain_keys())
        help_text = f"declare it in config, which has {listed}" if listed else "declare it in config"
    return finding("unknown-config-key", f"there is no config key {token.path!r}", span, help_text)


def unknown_run_key(config: Config, token: Token, span: Span) -> Diagnostic:
    """Say that a run token names nothing."""
    near = config.run_names.nearest(token.path)
    if near:
        help_text = f"did you mean run.{near[0]}?"
    else:
        known = ", ".join(f"run.{key}" for key in ("id", "prefix", *islice(config.spec.run, 8)))
        help_text = f"known keys: {known}" + (", ..." if len(config.spec.run) > 8 else "")
    return finding("unknown-run-key", f"there is no run key {token.path!r}", span, help_text)


def value_length(value: Value) -> int:
    """Give the length of a value's text in bytes, a hole counting as nothing."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if hasattr(value, "parts"):
        return sum(value_length(part) for part in value.parts)
    if hasattr(value, "value"):
        return value_length(value.value)
    return 0
