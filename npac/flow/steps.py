"""What each state does, symbolically: the step that lowering specialises for every iteration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from npac.catalog.model import Catalog, Tool
from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.config import Config, too_much_text
from npac.flow.origins import count_origin
from npac.flow.symbolic import MAX_ARGUMENT, SHORT, Evaluator, hole_names, token_name
from npac.ir.values import Value
from npac.syntax.ast import ArtifactDecl, Count, Param, Profile, Spec, State, Text
from npac.syntax.conditions import KeyRef, parse_count
from npac.syntax.language import TRIGGER
from npac.syntax.reader import Reader, shown
from npac.syntax.templates import parse_template
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

if TYPE_CHECKING:
    from npac.ir.program import Tree

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\Z")
_NODE = 1024
"""Bytes that a node of a profile counts for when it is filled in again, the work of the rules included."""
COUNTS = ("disk_size", "num_nodes")
"""Profile keys that take a whole number, or the config key that holds one."""
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}\Z")


class SymbolicArtifact(NamedTuple):
    """A declared input or output with its URI evaluated."""

    decl: ArtifactDecl
    uri: Value
    schema: str
    declared_kind: str


class SymbolicTrigger(NamedTuple):
    """A trigger with its URI evaluated and its numbers read."""

    uri: Value
    poll_seconds: int
    max_polls: int
    min_objects: int


class SymbolicStep(NamedTuple):
    """The work of one state before its loops and states are known."""

    state: State
    params: Mapping[str, Value]
    argv: tuple[Value, ...] = ()
    droppable: frozenset[int] = frozenset()
    """Places in ``argv`` of flags that vanish with the word after them when that word is empty."""
    shell: Value = ""
    tool: Tool | None = None
    profile_name: str = ""
    profile: Mapping[str, Tree] = MappingProxyType({})
    inputs: tuple[SymbolicArtifact, ...] = ()
    outputs: tuple[SymbolicArtifact, ...] = ()
    trigger: SymbolicTrigger | None = None
    decision_uri: Value | None = None
    """Where a decision about this state is read from or written to; None when nothing says so."""
    secrets: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()
    """Names of the loop and state holes that the step itself holds."""
    variables: frozenset[str] = frozenset()
    """Names of those that are read when the state runs: ``held``, its trigger's, its decision URI's."""


class Steps(NamedTuple):
    """The symbolic steps of a spec, by state; groups and routers have one too (without a command)."""

    by_state: dict[str, SymbolicStep]
    evaluator: Evaluator


def build_steps(spec: Spec, catalog: Catalog, config: Config, report: list[Diagnostic]) -> Steps:
    """Evaluate every text of every state."""
    evaluator = Evaluator(spec, config, report)
    builder = _StepBuilder(spec, catalog, config, evaluator, report)
    steps = Steps({name: builder.build(state) for name, state in spec.states.items()}, evaluator)
    if evaluator.lacking:
        from npac.flow.lacking import name_states

        name_states(spec, catalog, evaluator.lacking, report)
    return steps


class _StepBuilder:
    def __init__(
        self, spec: Spec, catalog: Catalog, config: Config, evaluator: Evaluator, report: list[Diagnostic]
    ) -> None:
        self.spec = spec
        self.catalog = catalog
        self.config = config
        self.evaluator = evaluator
        self.report = report
        self._profiles: dict[tuple[str | Value | None, ...], dict[str, Tree]] = {}
        self._reads: dict[str, tuple[str, ...] | None] = {}
        self._holes: dict[int, set[str]] = {}
        self._nothing: dict[str, Tree] = {}
        self._texts: dict[int, Text] = {}

    def build(self, state: State) -> SymbolicStep:
        name = state.name.value
        params = {key: self.evaluator.value(param.text, name, {}) for key, param in state.params.items()}
        tool = self.catalog.get(state.tool_ref.value) if state.tool_ref is not None else None
        argv, droppable = self._argv(state, tool, params)
        shell = (
            self.evaluator.value(state.shell, name, params, limit=MAX_ARGUMENT)
            if state.shell is not None
            else ""
        )
        profile_name, profile = self._profile(state, params)
        inputs = tuple(self._artifact(item, name, params) for item in state.inputs)
        outputs = tuple(self._artifact(item, name, params) for item in state.outputs)
        trigger = self._trigger(state, params)
        decision_uri = self._decision_uri(state, params, outputs)
        held: set[str] = set()
        for value in (*argv, shell, *(item.uri for item in (*inputs, *outputs))):
            hole_names(value, held)
        if profile:
            if id(profile) not in self._holes:
                self._holes[id(profile)] = set()
                _tree_holes(profile, self._holes[id(profile)])
            held |= self._holes[id(profile)]
        if state.works:
            for key in ("baked_npa_import", "source_sha"):
                if key in params:
                    hole_names(params[key], held)
        held.discard("run.id")
        variables = set(held)
        if trigger is not None:
            hole_names(trigger.uri, variables)
        if decision_uri is not None and _decides(state):
            hole_names(decision_uri, variables)
        variables.discard("run.id")
        return SymbolicStep(
            state=state,
            params=params,
            argv=argv,
            droppable=droppable,
            shell=shell,
            tool=tool,
            profile_name=profile_name,
            profile=profile,
            inputs=inputs,
            outputs=outputs,
            trigger=trigger,
            decision_uri=decision_uri,
            secrets=tuple(sorted({item.value for item in state.secrets} | set(tool.secrets if tool else ()))),
            held=frozenset(held),
            variables=frozenset(variables),
        )

    def _argv(
        self, state: State, tool: Tool | None, params: Mapping[str, Value]
    ) -> tuple[tuple[Value, ...], frozenset[int]]:
        name = state.name.value
        if state.argv is not None:
            words = tuple(self.evaluator.value(word, name, params, limit=MAX_ARGUMENT) for word in state.argv)
            return words, frozenset()
        if tool is None or state.tool_ref is None:
            return (), frozenset()
        words = tuple(
            self.evaluator.tool_word(word, tool.name, state.tool_ref, name, params) for word in tool.argv
        )
        drops = frozenset(index for index, word in enumerate(tool.argv[:-1]) if word in tool.drop_when_empty)
        return words, drops

    def _artifact(self, decl: ArtifactDecl, name: str, params: Mapping[str, Value]) -> SymbolicArtifact:
        return SymbolicArtifact(
            decl,
            self.evaluator.value(decl.uri, name, params),
            decl.schema.value if decl.schema is not None else "",
            decl.kind.value if decl.kind is not None else "",
        )

    def _trigger(self, state: State, params: Mapping[str, Value]) -> SymbolicTrigger | None:
        trigger = state.trigger
        if trigger is None or trigger.uri is None:
            return None
        uri = self.evaluator.value(trigger.uri, state.name.value, params)
        numbers = []
        for count, key in (
            (trigger.poll_seconds, "pollSeconds"),
            (trigger.max_polls, "maxPolls"),
            (trigger.min_objects, "minObjects"),
        ):
            what = f"trigger.{key}"
            default, least = TRIGGER.keys[key].default, TRIGGER.keys[key].least
            if count is None:
                numbers.append(default)
                continue
            number = read_count(self.config, count, what, self.report, params, state.params)
            if number is not None and number < least:
                related = count_origin(self.config, count, state.params)
                message, help_text = f"{what} is {number}", f"give at least {least}"
                self.report.append(
                    finding("bad-number", message, count.node.span, help_text, related=related)
                )
                number = None
            numbers.append(default if number is None else number)
        return SymbolicTrigger(uri, *numbers)

    def _decision_uri(
        self, state: State, params: Mapping[str, Value], outputs: tuple[SymbolicArtifact, ...]
    ) -> Value | None:
        for output in outputs:
            if "decision" in output.schema.lower():
                return output.uri
        if "decision_uri" in params:
            return params["decision_uri"]
        if _decides(state):
            self.config.read.add("decision_uri")
        return self.config.values.get("decision_uri")

    def _profile(self, state: State, params: Mapping[str, Value]) -> tuple[str, dict[str, Tree]]:
        name = state.resources.value if state.resources is not None else "default"
        profile = self.spec.profiles.get(name)
        if profile is None:
            return (state.resources.value if state.resources is not None else ""), {}
        if not state.works:
            return name, {}
        first = name not in self._reads
        if first:
            self._reads[name] = _config_keys(profile.node)
        reads = self._reads[name]
        # it is the same for all states that give the same to its tokens
        mark = (name, *map(params.get, reads)) if reads is not None else None
        cached = self._profiles.get(mark) if mark is not None else None
        if cached is not None:
            return name, cached
        if not first and not self._has_room(profile):
            return name, self._nothing
        tree = {
            key: self._count(value, state.name.value, params)
            if key in COUNTS
            else self._tree(value, state.name.value, params)
            for key, (_, value) in profile.node.entries.items()
            if not key.startswith("x-")
        }
        if mark is not None:
            self._profiles[mark] = tree
        return name, tree

    def _has_room(self, profile: Profile) -> bool:
        """Say whether there is memory for filling in a profile for one more state."""
        fits = self.config.takes(_NODE * profile.node.size)
        if fits is None:
            self.report.append(too_much_text(profile.name.span))
        return bool(fits)

    def _count(self, node: Node, name: str, params: Mapping[str, Value]) -> Tree:
        """Read a number that may also be named without braces, as ``config.KEY``."""
        if isinstance(node, Scalar) and "{{" not in node.value:
            parsed = parse_count(node.value.strip())
            if isinstance(parsed, KeyRef):
                return self.evaluator.config_value(parsed.key, node, name, params)
        return self._tree(node, name, params)

    def _tree(self, node: Node, name: str, params: Mapping[str, Value]) -> Tree:
        if isinstance(node, Seq):
            return [self._tree(item, name, params) for item in node.items]
        if isinstance(node, Map):
            return {key: self._tree(value, name, params) for key, (_, value) in node.entries.items()}
        plain = plain_value(node)
        if not isinstance(plain, str):
            return plain
        if "{{" not in node.value and len(node.value) < SHORT:
            return node.value
        text = self._texts.get(id(node))
        if text is None:
            text = self._texts[id(node)] = Reader(self.report).template(node)
        return self.evaluator.value(text, name, params)


def _config_keys(profile: Node) -> tuple[str, ...] | None:
    """Give the config keys that a profile's tokens name; None when one names a loop or a state."""
    found: dict[str, None] = {}
    stack: list[tuple[str, Node]] = [("", profile)]
    while stack:
        key, top = stack.pop()
        if isinstance(top, Seq):
            stack.extend(("", item) for item in top.items)
        elif isinstance(top, Map):
            stack.extend((text, value) for text, (_, value) in top.entries.items())
        elif "{{" in top.value:
            template = parse_template(top.value)
            for token in template.tokens:
                if token.scope in ("loop", "state"):
                    return None
                if token.scope == "config":
                    found[token.path] = None
        elif key in COUNTS and isinstance(parsed := parse_count(top.value.strip()), KeyRef):
            found[parsed.key] = None
    return tuple(found)


def _decides(state: State) -> bool:
    """Say whether a decision about this state is written or read somewhere."""
    until = state.loop is not None and state.loop.until is not None
    return state.writes_decision or bool(state.transitions) or until


def plain_value(node: Scalar) -> None | bool | int | float | str:
    """Give a scalar of a profile as YAML data: null, boolean, number, or its text."""
    if node.style != "":
        return node.value
    if node.is_null:
        return None
    truth = node.boolean
    if truth is not None:
        return truth
    if _INTEGER.match(node.value):
        return int(node.value)
    if _DECIMAL.match(node.value):
        return float(node.value)
    return node.value


def _tree_holes(tree: Tree, into: set[str]) -> None:
    if isinstance(tree, dict):
        for value in tree.values():
            _tree_holes(value, into)
    elif isinstance(tree, list):
        for value in tree:
            _tree_holes(value, into)
    elif tree is not None and not isinstance(tree, (bool, int, float, str)):
        hole_names(tree, into)


def read_count(
    config: Config,
    count: Count,
    what: str,
    report: list[Diagnostic],
    params: Mapping[str, Value] | None = None,
    written: Mapping[str, Param] | None = None,
) -> int | None:
    """Read a whole number that may stand in config; None when it cannot be read (and is reported).

    ``params`` and ``written`` are the overlay of the state that the number is read for: values and texts.
    """
    if count.key is None:
        return count.literal
    config.read.add(count.key)
    value = (params or {}).get(count.key, config.values.get(count.key))
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    entry = config.entries.get(count.key)
    related = count_origin(config, count, written)
    if value is not None and not isinstance(value, str):
        late: set[str] = set()
        hole_names(value, late)
        on = "the run id" if "run.id" in late else " and ".join(token_name(name) for name in sorted(late))
        message = f"{what} would depend on {on}, and a program's structure cannot"
        help_text = "give a number that is known beforehand"
        report.append(finding("late-structure", message, count.node.span, help_text, related=related))
    elif entry is None:
        near = config.names.nearest(count.key)
        help_text = f"did you mean {near[0]!r}?" if near else "declare it in config"
        report.append(
            finding("unknown-config-key", f"there is no config key {count.key!r}", count.node.span, help_text)
        )
    elif value is None:
        if not isinstance(entry.node, Scalar) or entry.node.is_null:
            kind = "null" if isinstance(entry.node, Scalar) else shown(entry.node)
            message = f"{what} needs a whole number, and the config key {count.key!r} holds {kind}"
            help_text = "give it decimal digits"
            report.append(finding("value-not-text", message, count.node.span, help_text, related=related))
    else:
        message = f"{what} must be a whole number, and the config key {count.key!r} is {value!r:.80}"
        report.append(finding("bad-number", message, count.node.span, "give decimal digits", related=related))
    return None


def profile_texts(node: Node) -> list[Scalar]:
    """Give the scalars of a profile, in order, that hold tokens."""
    found: list[Scalar] = []
    stack: list[Node] = [node]
    while stack:
        top = stack.pop()
        if isinstance(top, Seq):
            stack.extend(reversed(top.items))
        elif isinstance(top, Map):
            stack.extend(value for _, value in reversed(top.entries.values()))
        elif parse_template(top.value).tokens:
            found.append(top)
    return found
