"""Symbolic values: templates with config, params and run filled in.

What is left are holes: ``run.id`` (bound when a run is linked), ``loop.NAME`` and
``state.NAME.N`` (bound while the program is lowered).  Every place where a token of the last two
kinds was read is kept, so that rules can prove that its loop or state has run before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.config import (
    MAX_VALUE,
    Config,
    missing_config,
    too_much_text,
    unknown_run_key,
)
from npac.ir.values import Apply, Concat, Hole, Value, apply, concat
from npac.syntax.ast import Spec, Text
from npac.syntax.nearest import Names
from npac.syntax.templates import Template, Token, parse_template
from npac.text.source import Span
from npac.text.yaml_nodes import Scalar

SHORT = 10_000
"""Texts below this length are within every bound, whatever their characters."""
MAX_ARGUMENT = 128 * 1024
"""Longest argument or shell text, in bytes: the kernel's own limit."""


class FlowUse(NamedTuple):
    """One place where a state reads ``loop.NAME`` or ``state.NAME…``."""

    reader: str
    scope: str
    name: str
    span: Span


def substitute(value: Value, env: Mapping[str, Value]) -> Value:
    """Fill the holes that ``env`` has; the others stay."""
    if isinstance(value, str):
        return value
    if isinstance(value, Hole):
        return env.get(value.name, value)
    if isinstance(value, Apply):
        return apply(value.transform, substitute(value.value, env))
    return concat(substitute(part, env) for part in value.parts)


def hole_names(value: Value, into: set[str]) -> None:
    """Add the names of the holes of ``value`` to ``into``."""
    if isinstance(value, str):
        return
    if isinstance(value, Hole):
        into.add(value.name)
    elif isinstance(value, Apply):
        hole_names(value.value, into)
    elif isinstance(value, Concat):
        for part in value.parts:
            hole_names(part, into)


def written(value: Value) -> str:
    """Give ``value`` for a message, each hole as the token that a spec's author would write."""
    if isinstance(value, str):
        return value
    if isinstance(value, Hole):
        return f"{{{{{token_name(value.name)}}}}}"
    if isinstance(value, Apply):
        inner = value.value
        named = token_name(inner.name) if isinstance(inner, Hole) else written(inner)
        return f"{{{{{named} | {value.transform}}}}}"
    return "".join(written(part) for part in value.parts)


def token_name(hole: str) -> str:
    """Give the token behind a hole's name: ``state.NAME.uri`` for ``state.NAME.1``, most as they are."""
    if not hole.startswith("state."):
        return hole
    state, _, number = hole.rpartition(".")
    return f"{state}.uri" if number == "1" else f"{state}.output_{number}"


class Evaluator:
    """Evaluates the texts of one spec; findings are reported once a place."""

    def __init__(self, spec: Spec, config: Config, report: list[Diagnostic]) -> None:
        self.spec = spec
        self.config = config
        self.report = report
        self.uses: list[FlowUse] = []
        self.lacking: dict[tuple[Span, str], list[str]] = {}
        """By place and config key: the states for which that key is given nowhere."""
        self.states = Names(spec.states)
        self._loops = [name for name, state in spec.states.items() if state.loop is not None]
        self._loop_names = Names(self._loops)
        self._seen: set[tuple[str, int, int, str]] = set()
        self._parents: dict[str, str] | None = None

    def value(self, text: Text, state: str, params: Mapping[str, Value], *, limit: int = MAX_VALUE) -> Value:
        """Evaluate a text of the spec for ``state`` under its params overlay.

        A token that names nothing is reported and left out.
        """
        node = text.node
        parts = text.template.parts
        if (
            len(parts) == 1
            and isinstance(parts[0], str)
            and len(parts[0]) < SHORT
            and not text.template.problems
        ):
            return parts[0]  # most texts hold no token
        whole = self._whole(parts, params)
        if whole is not None and self.config.size(whole) <= limit:
            return whole
        for problem in text.template.problems:  # what was meant is read all the same
            meant = parse_template(problem.suggestion or "")
            self.config.read.update(token.path for token in meant.tokens if token.scope == "config")
        values = self._parts(parts, state, params, node.inner)
        return self._joined(values, limit, text.template, node.span)

    def config_value(self, key: str, node: Scalar, state: str, params: Mapping[str, Value]) -> Value:
        """Evaluate a config key that is named without braces, where a number is wanted."""
        token = Token("config", key, None, 0, len(node.value), 0, len(node.value))
        value = self._token(token, state, params, node.inner)
        return "" if value is None else value

    def tool_word(self, word: str, tool: str, at: Scalar, state: str, params: Mapping[str, Value]) -> Value:
        """Evaluate one word of a tool's command; faults are reported where the state names the tool."""

        if "{{" not in word and len(word) < SHORT:
            return word

        def place(start: int, end: int) -> Span:
            return at.span

        template = parse_template(word)
        whole = self._whole(template.parts, params)
        if whole is not None:
            return whole
        before = len(self.report)
        values = self._parts(template.parts, state, params, place)
        if self.spec.states[state].shell is not None:
            del self.report[before:]  # two commands are an error of their own, and this is not the one meant
        for index in range(before, len(self.report)):
            old = self.report[index]
            self.report[index] = finding(
                old.code.name,
                f"the tool {tool} reads config that the spec does not give: {old.message}",
                old.span,
                old.help,
                related=old.related,
            )
        return self._joined(values, MAX_ARGUMENT, template, at.span)

    def _whole(self, parts: tuple[str | Token, ...], params: Mapping[str, Value]) -> Value | None:
        """Give the value of a text that is one config token and nothing else, as most with tokens are.

        None where there is more to it: another text, an unknown key, a value that may be too long.
        """
        token = parts[0] if len(parts) == 1 else None
        if not isinstance(token, Token) or token.scope != "config" or token.transform:
            return None
        if token.path in params:
            found: Value | None = params[token.path]
        else:
            self.config.read.add(token.path)
            found = self.config.values.get(token.path)
        return found if found is not None and self.config.size(found) <= MAX_ARGUMENT else None

    def _joined(self, values: list[Value], limit: int, template: Template, span: Span) -> Value:
        """Join values, unless that would make too long a text: then report it and give an empty one."""
        length = sum(self.config.size(value) for value in values)
        if length > limit:
            self._put(too_long(limit, template, span))
            return ""
        if len(values) > 1 or any(token.transform for token in template.tokens):
            fits = self.config.fits(values, length)
            if not fits:
                if fits is None:
                    self._put(too_much_text(span))
                return ""
        return concat(values)

    def _parts(
        self,
        parts: tuple[str | Token, ...],
        state: str,
        params: Mapping[str, Value],
        place: Callable[[int, int], Span],
    ) -> list[Value]:
        """Give the values of a template's parts, or as many as are too long for any field."""
        values: list[Value] = []
        length = 0
        for part in parts:
            value = part if isinstance(part, str) else self._token(part, state, params, place)
            if value is None:
                continue
            if isinstance(part, Token) and part.transform:
                value = apply(part.transform, value)
            values.append(value)
            length += self.config.size(value)
            if length > MAX_VALUE:
                break
        return values

    def _token(
        self, token: Token, state: str, params: Mapping[str, Value], place: Callable[[int, int], Span]
    ) -> Value | None:
        path = token.path
        if token.scope == "config":
            if path in params:
                return params[path]
            self.config.read.add(path)
            value = self.config.values.get(path)
            if value is None and not self._is_broken(path):
                item = missing_config(self.config, token, place(token.start, token.end))
                if item.code.name == "unknown-config-key":
                    self.lacking.setdefault((item.span, path), []).append(state)
                if path in self.spec.states[state].params:
                    help_text = f"params see the base config, not each other; give {path} in config"
                    item = finding(item.code.name, item.message, item.span, help_text)
                self._put(item)
            return value
        span = place(token.start, token.end)
        if token.scope == "run":
            if path == "prefix":
                self.config.read.add("prefix")
            value = self.config.run_value(path)
            if value is None:
                self._put(unknown_run_key(self.config, token, span))
            return value
        if token.scope == "loop":
            return self._loop(path, state, span)
        return self._state(path, state, span)

    def _is_broken(self, key: str) -> bool:
        """A key that was reported already (a cycle, a bad token) is not reported again at each use."""
        entry = self.config.entries.get(key)
        return entry is not None and isinstance(entry.node, Scalar) and not entry.node.is_null

    def _loop(self, name: str, state: str, span: Span) -> Value | None:
        target = self.spec.states.get(name)
        if target is None or target.loop is None:
            near = self._loop_names.nearest(name)
            before, sign, number = name.rpartition("-")
            if number.isdecimal() and sign and before in self._loops:
                help_text = (
                    f"tokens do no arithmetic: give the command {{{{loop.{before}}}}} and let it work the "
                    f"number out, as in $(({{{{loop.{before}}}}} - {number})) in run.shell"
                )
            elif near:
                help_text = f"did you mean loop.{near[0]}?"
            elif self._loops:
                help_text = "loops of this spec: " + ", ".join(self._loops[:12])
            else:
                help_text = "this spec has no loops; a loop is a state with loop: {max: N}"
            why = "has no loop" if target is not None else "does not exist"
            self._add("unknown-loop", f"there is no loop {name!r}: that state {why}", span, help_text)
            return None
        self.uses.append(FlowUse(state, "loop", name, span))
        return Hole(f"loop.{name}")

    def _state(self, path: str, state: str, span: Span) -> Value | None:
        name, _, field = path.rpartition(".")
        target = self.spec.states.get(name)
        if target is None:
            near = self.states.nearest(name or path)
            help_text = (
                f"did you mean state.{near[0]}.{field}?" if near and name else "write {{state.NAME.uri}}"
            )
            never = self._out_of_reach(near[0], state) if near and name else ""
            if never:
                help_text = f"if {near[0]} is meant: {never}"
            message = f"there is no state {name or path!r}"
            if path in self.spec.states:
                message = f"state.{path} does not say which of the outputs of {path!r} is meant"
                help_text = f"write state.{path}.uri for the first, state.{path}.output_2 for the second"
            self._add("unknown-state-value", message, span, help_text)
            return None
        index = 1 if field == "uri" else _output_index(field)
        if index is None or not 1 <= index <= len(target.outputs):
            count = len(target.outputs)
            message = f"the state {name!r} has no {field!r}"
            never = self._out_of_reach(name, state)
            if never:  # whatever it declares
                message, help_text = f"{message}, and {state!r} could not read it", never
            elif count == 0:
                help_text = f"{name} declares no outputs: add outputs: [{{uri: ...}}] to it"
            else:
                help_text = f"{name} declares {count} output(s): uri, " + ", ".join(
                    f"output_{number}" for number in range(1, min(count, 4) + 1)
                )
            self._add("unknown-state-value", message, span, help_text)
            return None
        self.uses.append(FlowUse(state, "state", name, span))
        return Hole(f"state.{name}.{index}")

    def _out_of_reach(self, name: str, reader: str) -> str:
        """Say why a state cannot read another, whatever that one declares; empty when it may be able to."""
        if name == reader:
            return "a state cannot read what it is about to write; name the URI as outputs names it"
        if self._parents is None:
            self._parents = {
                member.value: group.name.value
                for group in self.spec.states.values()
                for member in group.members
            }
        group = self._parents.get(reader)
        if group is None:
            return ""
        if self._parents.get(name) == group and self.spec.states[group].parallel is not None:
            return (
                f"{name} runs beside {reader} in the group {group}, and members of a parallel group cannot "
                f"read each other; read it after the group"
            )
        around: set[str] = set()
        while group is not None and group not in around:
            around.add(group)
            group = self._parents.get(group)
        if name in around:
            return f"{reader} is in the group {name}, which has not ended then; name what ran before it"
        return ""

    def _add(self, name: str, message: str, span: Span, help: str) -> None:
        self._put(finding(name, message, span, help))

    def _put(self, item: Diagnostic) -> None:
        key = (item.code.id, item.span.start, item.span.end, item.message)
        if key not in self._seen:
            self._seen.add(key)
            self.report.append(item)


def too_long(limit: int, template: Template, span: Span, late: str = "") -> Diagnostic:
    """Say that a text would be longer than ``limit`` bytes; ``late`` says which late value makes it so."""
    what = "an argument or shell text" if limit == MAX_ARGUMENT else "a field"
    keys = sorted({f"{token.scope}.{token.path}" for token in template.tokens})
    message = f"this would be longer than {limit:,} bytes{late}, the most that {what} can be"
    help_text = "shorten it" + (f", or {', '.join(keys[:8])}" if keys else "")
    return finding("value-too-long", message, span, help_text)


def _output_index(field: str) -> int | None:
    digits = field.removeprefix("output_")
    if digits != field and digits.isascii() and digits.isdigit() and len(digits) < 7 and digits[0] != "0":
        return int(digits)
    return None
