"""A naive interpreter of the language's control flow, written from its rules alone.

It runs a spec as a person would on paper: one state after the other, with the current values of
loop counters and state outputs in a table, and no graph.  It shares nothing with the compiler; the
text is read by plain PyYAML, every scalar as its author's text.  Only sound specs are understood.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml

_TOKEN = re.compile(
    r"\{\{\{\{"
    r"|\{\{[ \t\r\n]*(config|run|state|loop)\.([A-Za-z0-9_.-]+)[ \t\r\n]*(?:\|[ \t]*(base64)[ \t]*)?\}\}"
)


@dataclass(frozen=True)
class Opened:
    """A sequence begins; these are the outputs that it declares."""

    group: str
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Checked:
    """A sequence's last member has ended; these outputs are checked."""

    group: str
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Waited:
    """A trigger was awaited."""

    state: str
    uri: str
    numbers: tuple[int, int, int]


@dataclass(frozen=True)
class Ran:
    """A leaf ran."""

    state: str
    argv: tuple[str, ...]
    shell: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    region: str
    iteration: int | None
    container: str
    loops: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Batched:
    """A parallel group ran: how its members were cut, and what the group itself declares."""

    group: str
    batches: tuple[tuple[str, ...], ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Read:
    """A decision was read; ``writer`` is the state that wrote this URI last, or None."""

    state: str
    role: str
    uri: str
    writer: str | None


Event = Opened | Checked | Waited | Ran | Batched | Read
Decide = Callable[[Read], str]


class Runaway(Exception):
    """A walk is longer than the caller wants it to be."""


@dataclass
class _World:
    """What a run knows: counters, outputs of the last time, decisions' places, who wrote what."""

    loops: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    decisions: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    inside: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def interpret(text: str, decide: Decide, run_id: str, *, most: int = 20_000) -> list[Event]:
    """Give what happens when a spec runs and its gates answer ``decide``."""
    return _Interpreter(text, decide, run_id, most).run()


class _Interpreter:
    def __init__(self, text: str, decide: Decide, run_id: str, most: int) -> None:
        self.spec, self.falsy = _load(text)
        self.states: dict[str, Any] = self.spec["states"]
        self.config: dict[str, str] = self.spec.get("config") or {}
        self.decide = decide
        self.run_id = run_id
        self.most = most
        self.world = _World()

    def run(self) -> list[Event]:
        at: str | None = self.spec.get("initial") or next(iter(self.states))
        while at is not None:
            state = self.states[at]
            self._run(at, container="")
            at = None if state.get("terminal") == "true" else self._exit(at, state)
        return self.world.events

    # --- states

    def _run(self, name: str, container: str) -> None:
        state = self.states[name]
        loop = state.get("loop")
        if loop is None:
            self._once(name, container, None)
            return
        self.world.inside.append(name)
        for number in range(1, self._number(loop["max"]) + 1):
            self.world.loops[name] = number
            self._once(name, container, number)
            until = loop.get("until")
            if until is not None and self._read(name, "until") == until:
                break
        self.world.inside.pop()

    def _once(self, name: str, container: str, iteration: int | None) -> None:
        state = self.states[name]
        if "sequence" in state:
            self._emit(Opened(name, self._declared(name)))
            for child in state["sequence"]:
                self._run(child, container=name)
            outputs = self._declared(name)
            self._emit(Checked(name, outputs))
            self.world.outputs[name] = outputs
        elif "parallel" in state:
            self._parallel(name, state)
        elif "run" in state:
            self._leaves([name], container, iteration)

    def _parallel(self, name: str, state: Mapping[str, Any]) -> None:
        members = list(state["parallel"])
        width = self._number(state["maxConcurrency"]) if "maxConcurrency" in state else len(members)
        outputs = self._declared(name)
        self._leaves(members, name, None)
        cuts = tuple(tuple(members[at : at + width]) for at in range(0, len(members), width))
        self._emit(Batched(name, cuts, outputs))
        self.world.outputs[name] = outputs

    def _leaves(self, names: list[str], container: str, iteration: int | None) -> None:
        """Run leaves at one time: all are resolved before any has run."""
        before, after = [], []
        for name in names:
            state = self.states[name]
            config = {**self.config, **self._params(state)}
            trigger = state.get("trigger")
            if trigger is not None:
                numbers = tuple(
                    int(trigger.get(key, default))
                    for key, default in (("pollSeconds", 30), ("maxPolls", 0), ("minObjects", 1))
                )
                assert len(numbers) == 3
                before.append(Waited(name, self._text(trigger["uri"], config), numbers))
            run = state["run"]
            ran = Ran(
                state=name,
                argv=tuple(self._text(word, config) for word in run.get("argv", ())),
                shell=self._text(run.get("shell", ""), config),
                inputs=tuple(self._text(item["uri"], config) for item in state.get("inputs", ())),
                outputs=tuple(self._text(item["uri"], config) for item in state.get("outputs", ())),
                region=self._region(state, config),
                iteration=iteration,
                container=container,
                loops=tuple((loop, self.world.loops[loop]) for loop in self.world.inside),
            )
            after.append((ran, self._decision_uri(state, config, ran.outputs)))
        for event in before:
            self._emit(event)
        for ran, uri in after:
            self._emit(ran)
            self.world.outputs[ran.state] = ran.outputs
            if uri is not None:
                self.world.decisions[ran.state] = uri
                if self.states[ran.state].get("writesDecision") == "true":
                    self.world.written[uri] = ran.state

    def _exit(self, name: str, state: Mapping[str, Any]) -> str | None:
        decision: str | None = None
        for transition in state.get("transitions", ()):
            if "if" in transition and transition["if"].strip("{} ").removeprefix("config.") in self.falsy:
                continue
            if "when" in transition:
                if decision is None:
                    decision = self._read(name, "transitions")
                if transition["when"] != decision:
                    continue
            goto: str = transition["goto"]
            return goto
        following: str | None = state.get("next")
        return following or None

    # --- decisions

    def _read(self, name: str, role: str) -> str:
        uri = self._gate_uri(name, role)
        event = Read(name, role, uri, self.world.written.get(uri))
        self._emit(event)
        return self.decide(event)

    def _gate_uri(self, name: str, role: str) -> str:
        state = self.states[name]
        if "run" in state:
            return self.world.decisions[name]
        if role == "until":
            for child in reversed(state["sequence"]):
                if self.states[child].get("writesDecision") == "true":
                    return self.world.decisions[child]
            return self._text(self.config["decision_uri"], self.config)
        uri = self._decision_uri(state, self.config, self._declared(name))
        assert uri is not None
        return uri

    def _decision_uri(
        self, state: Mapping[str, Any], config: Mapping[str, str], outputs: tuple[str, ...]
    ) -> str | None:
        for item, uri in zip(state.get("outputs", ()), outputs, strict=True):
            if "decision" in item.get("schema", "").lower():
                return uri
        return self._text(config["decision_uri"], config) if "decision_uri" in config else None

    # --- values

    def _declared(self, name: str) -> tuple[str, ...]:
        return tuple(self._text(item["uri"], self.config) for item in self.states[name].get("outputs", ()))

    def _params(self, state: Mapping[str, Any]) -> dict[str, str]:
        # a param is finished text: nothing in it is a token any more
        return {
            key: self._text(value, self.config).replace("{{", "{{{{")
            for key, value in (state.get("params") or {}).items()
        }

    def _region(self, state: Mapping[str, Any], config: Mapping[str, str]) -> str:
        profiles = self.spec.get("resources") or {}
        profile = profiles.get(state.get("resources", "default")) or {}
        return self._text(profile.get("region", ""), config)

    def _number(self, text: str) -> int:
        text = text.strip("{} ")
        if text.startswith("config."):
            return int(self._text(self.config[text.removeprefix("config.")], self.config))
        return int(text)

    def _text(self, text: str, config: Mapping[str, str], *, inside_config: bool = False) -> str:
        def fill(match: re.Match[str]) -> str:
            scope, path, transform = match.groups()
            if scope is None:
                return "{{"
            value = self._value(scope, path, config, inside_config)
            return base64.b64encode(value.encode()).decode() if transform else value

        return _TOKEN.sub(fill, text)

    def _value(self, scope: str, path: str, config: Mapping[str, str], inside_config: bool) -> str:
        if scope == "config":
            # the base config knows no overlay, and an overlay is finished text
            return self._text(config[path], self.config, inside_config=True)
        if scope == "loop":
            return str(self.world.loops[path])
        if scope == "state":
            state, _, which = path.rpartition(".")
            index = 1 if which == "uri" else int(which.removeprefix("output_"))
            return self.world.outputs[state][index - 1]
        if path == "id":
            return self.run_id
        if path == "prefix":
            if not inside_config and self.config.get("prefix"):
                return self._text(self.config["prefix"], self.config, inside_config=True)
            return f"{self.spec['metadata']['name']}/{self.run_id}"
        found: str = self.spec["run"][path]
        return found

    def _emit(self, event: Event) -> None:
        if isinstance(event, Opened | Checked) and not event.outputs:
            return
        self.world.events.append(event)
        if len(self.world.events) > self.most:
            raise Runaway


@lru_cache(maxsize=4)
def _load(text: str) -> tuple[dict[str, Any], frozenset[str]]:
    """Give a spec as data whose scalars are all text, and the config keys that count as false."""
    falsy = set()
    document = yaml.compose(text, Loader=yaml.CSafeLoader)
    assert document is not None
    for key, value in document.value:
        if key.value == "config":
            for name, scalar in value.value:
                if scalar.value == "" or (not scalar.style and scalar.value in ("false", "null", "0")):
                    falsy.add(name.value)
    return yaml.load(text, Loader=yaml.CBaseLoader), frozenset(falsy)
