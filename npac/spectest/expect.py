"""Reading the ``expect`` block of a case."""

from __future__ import annotations

from npac.diagnostics.codes import BY_NAME, CODES, finding
from npac.spectest import matchers
from npac.spectest.model import (
    DECISIONS,
    Absent,
    AnyWaves,
    Expected,
    GateExpected,
    Match,
    Number,
    Refusal,
    StepExpected,
    Text,
    WaveEntry,
    WaveExpected,
)
from npac.syntax.nearest import nearest
from npac.syntax.reader import Reader
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

KEYS = ("waves", "steps", "never", "gates", "warnings", "error")
WAVE_KEYS = ("group", "states", "batches")
GATE_KEYS = ("state", "uri", "decision")
ERROR_KEYS = ("codes", "contains", "matches")
STEP_KEYS = (
    "argv", "shell", "tool", "image", "nodes", "runs", "env", "resources", "secrets", "inputs", "outputs",
    "triggers",
)  # fmt: skip
ANY = "..."


def expected(reader: Reader, node: Node | None) -> Expected:
    """Read an ``expect`` block; without one, a case expects only that its walk can be planned."""
    if node is None:
        return Expected()
    mapping = reader.mapping(node, "expect", "write expect: {waves: [...]}")
    if mapping is None:
        return Expected()
    before = len(reader.report)
    entries = reader.known_keys(mapping, KEYS, "expect")
    if not entries:
        matchers.says_nothing(reader, node, "expect", before, f"give one of {', '.join(KEYS)}")
    if "error" in entries:
        for key in entries:
            if key != "error":
                reader.add(
                    "both-spellings",
                    f"a case that expects an error cannot expect {key}",
                    entries[key][0],
                    "nothing is planned when a spec is refused; make it two cases",
                )
        return Expected(error=_refusal(reader, entries["error"][1]))
    reading = _Expect(reader)
    return Expected(
        waves=reading.waves(entries["waves"][1]) if "waves" in entries else None,
        waves_at=entries["waves"][0].span if "waves" in entries else None,
        steps=reading.steps(entries["steps"][1]) if "steps" in entries else (),
        never=matchers.texts(reader, entries["never"][1], "never") if "never" in entries else (),
        gates=reading.gates(entries["gates"][1]) if "gates" in entries else None,
        gates_at=entries["gates"][0].span if "gates" in entries else None,
        warnings=_codes(reader, entries["warnings"][1], "warnings") if "warnings" in entries else None,
        warnings_at=entries["warnings"][0].span if "warnings" in entries else None,
    )


def _refusal(reader: Reader, node: Node) -> Refusal | None:
    if not isinstance(node, Map):
        codes = _codes(reader, node, "error")
        if isinstance(node, Seq) and not node.items:
            reader.add("missing-key", "error names no code", node, "name the codes that must be found")
        return Refusal(node.span, codes) if codes else None
    before = len(reader.report)
    entries = reader.known_keys(node, ERROR_KEYS, "error")
    codes = _codes(reader, entries["codes"][1], "codes") if "codes" in entries else ()
    message = None
    if "contains" in entries or "matches" in entries:
        contains, matches = (entries[key][1] if key in entries else None for key in ("contains", "matches"))
        message = Match(
            node.span,
            contains=matchers.texts(reader, contains, "contains of error") if contains is not None else (),
            matches=matchers.patterns(reader, matches, "error") if matches is not None else (),
        )
    if not codes and message is None:
        matchers.says_nothing(reader, node, "error", before, "give codes or contains")
        return None
    return Refusal(node.span, codes, message)


def _codes(reader: Reader, node: Node, what: str) -> tuple[Text, ...]:
    """Read codes (``NPA204``) or names of codes (``unknown-config-key``); codes come out."""
    found = []
    for item in matchers.texts(reader, node, what):
        code = CODES.get(item.value) or BY_NAME.get(item.value)
        if code is None:
            near = nearest(item.value, (*CODES, *BY_NAME))
            help_text = f"did you mean {near[0]}?" if near else "codes look like NPA204"
            message = f"there is no code {item.value!r:.80}"
            reader.report.append(finding("unknown-value", message, item.span, help_text))
        else:
            found.append(Text(code.id, item.span))
    return tuple(found)


class _Expect:
    """Reads what is expected of a walk."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def waves(self, node: Node) -> tuple[WaveEntry, ...] | Number | None:
        """Read the waves in order, or their number."""
        if isinstance(node, Scalar):
            return matchers.number(self.reader, node, "waves")
        items = self.reader.sequence(node, "waves", "write a list of states, or the number of waves")
        found = (self._wave(item) for item in items or ())
        return tuple(item for item in found if item is not None)

    def _wave(self, node: Node) -> WaveEntry | None:
        reader = self.reader
        if isinstance(node, Scalar):
            name = matchers.text(reader, node, "a wave")
            if name is None:
                return None
            return AnyWaves(name.span) if name.value == ANY else WaveExpected(name.span, name.value)
        if isinstance(node, Seq):
            return WaveExpected(node.span, members=self._members(node))
        before = len(reader.report)
        entries = reader.known_keys(node, WAVE_KEYS, "a wave")
        group = matchers.text(reader, entries["group"][1], "group") if "group" in entries else None
        members = self._members(entries["states"][1]) if "states" in entries else ()
        batches = matchers.number(reader, entries["batches"][1], "batches") if "batches" in entries else None
        if group is None and not members:
            matchers.says_nothing(reader, node, "a wave", before, "add group: NAME, or states: [...]")
            return None
        return WaveExpected(node.span, group.value if group is not None else "", members, batches)

    def _members(self, node: Node) -> tuple[Text, ...]:
        if isinstance(node, Seq) and not node.items:
            self.reader.add("missing-key", "a parallel group has members", node, "name its states")
        return matchers.texts(self.reader, node, "the members of a wave")

    def gates(self, node: Node) -> tuple[GateExpected, ...] | Number | None:
        """Read the gates in the order of the walk, or their number."""
        if isinstance(node, Scalar):
            return matchers.number(self.reader, node, "gates")
        items = self.reader.sequence(node, "gates", "write a list of URIs, or the number of gates")
        found = (self._gate(item) for item in items or ())
        return tuple(item for item in found if item is not None)

    def _gate(self, node: Node) -> GateExpected | None:
        reader = self.reader
        if not isinstance(node, Map) or set(node.entries) & set(matchers.MATCH_KEYS):
            uri = matchers.match(reader, node, "the URI of a gate")
            return GateExpected(node.span, uri) if uri is not None else None
        before = len(reader.report)
        entries = reader.known_keys(node, GATE_KEYS, "a gate")
        if not entries:
            matchers.says_nothing(reader, node, "a gate", before, "add uri: URI")
        decision = None
        if "decision" in entries:
            decision = matchers.one_of(reader, entries["decision"][1], "the decision of a gate", DECISIONS)
        return GateExpected(
            node.span,
            matchers.match(reader, entries["uri"][1], "the URI of a gate") if "uri" in entries else None,
            matchers.text(reader, entries["state"][1], "the state of a gate") if "state" in entries else None,
            Text(DECISIONS[decision.value], decision.span) if decision is not None else None,
        )

    def steps(self, node: Node) -> tuple[StepExpected, ...]:
        """Read what is expected of steps, by state or path."""
        mapping = self.reader.mapping(node, "steps", "write steps: {STATE: {argv: [...]}}")
        found = []
        for name, (key, value) in (mapping.entries if mapping is not None else {}).items():
            body = self.reader.mapping(value, f"the step {name!r:.80}", "write STATE: {argv: [...]}")
            if body is not None:
                found.append(self._step(Text(name, key.span), body))
        return tuple(found)

    def _step(self, selector: Text, body: Map) -> StepExpected:
        reader = self.reader
        name = f"the step {selector.value!r:.80}"
        before = len(reader.report)
        entries = reader.known_keys(body, STEP_KEYS, name)
        if not entries:
            matchers.says_nothing(reader, body, name, before, "add argv: [...]")
        value = {key: node for key, (_, node) in entries.items()}

        def match(key: str) -> Match | None:
            return matchers.match(reader, value[key], f"{key} of {name}") if key in value else None

        def number(key: str) -> Number | None:
            return matchers.number(reader, value[key], f"{key} of {name}") if key in value else None

        return StepExpected(
            selector,
            argv=matchers.words(reader, value["argv"], f"argv of {name}") if "argv" in value else None,
            shell=match("shell"),
            tool=match("tool"),
            image=match("image"),
            nodes=number("nodes"),
            runs=number("runs"),
            env=self._env(value["env"], name) if "env" in value else {},
            resources=self._resources(value["resources"], name) if "resources" in value else {},
            secrets=matchers.words(reader, value["secrets"], f"secrets of {name}")
            if "secrets" in value
            else None,
            inputs=matchers.artifacts(reader, value["inputs"], f"inputs of {name}")
            if "inputs" in value
            else None,
            outputs=matchers.artifacts(reader, value["outputs"], f"outputs of {name}")
            if "outputs" in value
            else None,
            triggers=self._triggers(value["triggers"], name) if "triggers" in value else None,
            triggers_at=entries["triggers"][0].span if "triggers" in value else None,
        )

    def _env(self, node: Node, name: str) -> dict[str, Match | Absent]:
        mapping = self.reader.mapping(node, f"env of {name}", "write env: {NAME: value}")
        found: dict[str, Match | Absent] = {}
        for key, (_, value) in (mapping.entries if mapping is not None else {}).items():
            if isinstance(value, Scalar) and value.is_null:
                found[key] = Absent(value.span)
                continue
            one = matchers.match(self.reader, value, f"the variable {key!r:.80} of {name}")
            if one is not None:
                found[key] = one
        return found

    def _resources(self, node: Node, name: str) -> dict[str, Text | Absent]:
        mapping = self.reader.mapping(node, f"resources of {name}", "write resources: {accelerators: NAME}")
        found: dict[str, Text | Absent] = {}
        for key, (_, value) in (mapping.entries if mapping is not None else {}).items():
            if isinstance(value, Scalar) and value.is_null:
                found[key] = Absent(value.span)
                continue
            one = matchers.text(self.reader, value, f"the resource {key!r:.80} of {name}")
            if one is not None:
                found[key] = one
        return found

    def _triggers(self, node: Node, name: str) -> tuple[Match, ...]:
        items = node.items if isinstance(node, Seq) else [node]
        found = (matchers.match(self.reader, item, f"a trigger of {name}") for item in items)
        return tuple(item for item in found if item is not None)
