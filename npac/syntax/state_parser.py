"""Reading one state."""

from __future__ import annotations

from npac.diagnostics.diagnostic import Related
from npac.syntax.ast import ArtifactDecl, Loop, Param, State, Text, Transition, TriggerDecl
from npac.syntax.language import ARTIFACT, COMMAND, LOOP, PREDICATES, STATE, TRANSITION, TRIGGER
from npac.syntax.nearest import nearest
from npac.syntax.reader import ENV_NAME, Reader
from npac.text.yaml_nodes import Map, Node, Scalar, Seq


def parse_state(reader: Reader, name: Scalar, node: Node, *, list_form: bool = False) -> State:
    """Read a state; one that is no mapping at all is there by its name only."""
    mapping = reader.mapping(node, f"the state {name.value!r}", "give it at least a run, a toolRef or a next")
    if mapping is None:
        return State(name, node.span, {})
    known = (*STATE.names, "name") if list_form else STATE.names
    entries = reader.known_keys(mapping, known, f"the state {name.value!r}", STATE.aliases, guess=True)
    entries.pop("name", None)
    for key, is_none in (("next", _no_text), ("transitions", _no_items)):
        if key in entries and is_none(entries[key][1]):
            del entries[key]
    keys = {key: scalar for key, (scalar, _) in entries.items()}
    values = {key: value for key, (_, value) in entries.items()}
    if "description" in values and not isinstance(values["description"], Scalar):
        reader.wrong_type(values["description"], "description", "text")
    shell, argv = _command(reader, values["run"]) if "run" in values else (None, None)
    return State(
        name=name,
        span=mapping.span,
        keys=keys,
        needs=reader.names(values["needs"], "needs") if "needs" in values else (),
        shell=shell,
        argv=argv,
        tool_ref=reader.plain_name(values["toolRef"], "toolRef") if "toolRef" in values else None,
        sequence=_members(reader, name, values["sequence"], "sequence") if "sequence" in values else None,
        parallel=_members(reader, name, values["parallel"], "parallel") if "parallel" in values else None,
        parallel_count=reader.count(values["parallelCount"], "parallelCount")
        if "parallelCount" in values
        else None,
        max_concurrency=reader.count(values["maxConcurrency"], "maxConcurrency")
        if "maxConcurrency" in values
        else None,
        params=_params(reader, values["params"]) if "params" in values else {},
        trigger=_trigger(reader, values["trigger"]) if "trigger" in values else None,
        loop=_loop(reader, keys["loop"], values["loop"]) if "loop" in values else None,
        transitions=_transitions(reader, values["transitions"]) if "transitions" in values else (),
        next=reader.plain_name(values["next"], "next") if "next" in values else None,
        inputs=_artifacts(reader, values["inputs"], "inputs") if "inputs" in values else (),
        outputs=_artifacts(reader, values["outputs"], "outputs") if "outputs" in values else (),
        resources=reader.plain_name(values["resources"], "resources") if "resources" in values else None,
        multi_node_mode=_choice(
            reader, values["multiNodeMode"], "multiNodeMode", STATE.keys["multiNodeMode"].words
        )
        if "multiNodeMode" in values
        else None,
        terminal=reader.boolean(values["terminal"], "terminal") if "terminal" in values else False,
        writes_decision=reader.boolean(values["writesDecision"], "writesDecision")
        if "writesDecision" in values
        else False,
        secrets=_secrets(reader, values["secrets"]) if "secrets" in values else (),
        group_retry=_choice(reader, values["groupRetry"], "groupRetry", STATE.keys["groupRetry"].words)
        if "groupRetry" in values
        else None,
    )


def _choice(reader: Reader, node: Node, what: str, allowed: tuple[str, ...]) -> Scalar | None:
    scalar = reader.plain_name(node, what)
    if scalar is not None and scalar.value not in allowed:
        reader.add(
            "unknown-value",
            f"{what} cannot be {scalar.value!r:.80}",
            scalar,
            "it can be " + " or ".join(allowed),
        )
        return None
    return scalar


def _members(reader: Reader, name: Scalar, node: Node, key: str) -> tuple[Scalar, ...]:
    if isinstance(node, Seq) and not node.items:
        reader.add("empty-group", f"the group {name.value!r} has no members", node, "name its members")
    return reader.names(node, key)


def _no_text(node: Node) -> bool:
    return isinstance(node, Scalar) and (node.is_null or node.value == "")


def _no_items(node: Node) -> bool:
    return isinstance(node, Seq) and not node.items


def _command(reader: Reader, node: Node) -> tuple[Text | None, tuple[Text, ...] | None]:
    help_text = "write run: {shell: ...} or run: {argv: [...]}"
    mapping = reader.mapping(node, "run", help_text)
    if mapping is None:
        return None, None
    entries = reader.known_keys(mapping, COMMAND.names, "run", guess=True)
    if not entries:
        if all(key.startswith("x-") for key in mapping.entries):
            reader.add("no-work", "run names no command", mapping, help_text)
        return None, None
    shell = argv = None
    if "shell" in entries:
        shell = reader.text(entries["shell"][1], "run.shell")
        if shell is not None and not shell.node.value.strip():
            reader.add("no-work", "run.shell is empty", shell.node, "write a command")
    if "argv" in entries:
        argv = _argv(reader, entries["argv"][1])
    if "shell" in entries and "argv" in entries:
        reader.add(
            "two-commands",
            "run has both shell and argv",
            entries["argv"][0],
            "keep one of the two",
            related=(Related("the other command is here", entries["shell"][0].span),),
        )
    return shell, argv


def _argv(reader: Reader, node: Node) -> tuple[Text, ...] | None:
    items = reader.sequence(node, "run.argv", "write one list entry a word, as in argv: [echo, hello]")
    if items is None:
        return None
    if not items:
        reader.add("no-work", "run.argv is empty", node, "name at least a program")
    words = [reader.text(item, "a word of run.argv") for item in items]
    return tuple(word for word in words if word is not None)


def _params(reader: Reader, node: Node) -> dict[str, Param]:
    mapping = reader.mapping(node, "params", "write params as key: value pairs")
    found: dict[str, Param] = {}
    for text, (key, value) in (mapping.entries if mapping is not None else {}).items():
        if text.startswith("x-"):
            continue
        if not isinstance(value, Scalar) or value.is_null:
            reader.wrong_type(value, f"the param {text!r}", "text, a number or a boolean")
            continue
        found[text] = Param(key, reader.template(value))
    return found


def _trigger(reader: Reader, node: Node) -> TriggerDecl | None:
    mapping = reader.mapping(node, "trigger", "write trigger: {uri: ...}")
    if mapping is None:
        return None
    entries = reader.known_keys(mapping, TRIGGER.names, "trigger", TRIGGER.aliases, guess=True)
    if "uri" not in entries:
        reader.add(
            "missing-key", "the trigger has no uri", mapping, "say which objects to wait for: uri: s3://..."
        )
    counts = {
        key: reader.count(entries[key][1], f"trigger.{key}")
        for key in ("pollSeconds", "maxPolls", "minObjects")
        if key in entries
    }
    return TriggerDecl(
        mapping.span,
        reader.text(entries["uri"][1], "trigger.uri") if "uri" in entries else None,
        counts.get("pollSeconds"),
        counts.get("maxPolls"),
        counts.get("minObjects"),
    )


def _loop(reader: Reader, key: Scalar, node: Node) -> Loop | None:
    mapping = reader.mapping(node, "loop", "write loop: {max: N, until: promote_checkpoint}")
    if mapping is None:
        return None
    entries = reader.known_keys(mapping, LOOP.names, "loop", guess=True)
    if "max" not in entries:
        reader.add("missing-key", "the loop has no max", key, "every loop is bounded: add max: N")
    until = None
    if "until" in entries:
        until = reader.plain_name(entries["until"][1], "loop.until")
        if until is not None:
            _predicate(reader, until)
    return Loop(key.span, reader.count(entries["max"][1], "loop.max") if "max" in entries else None, until)


# Words that a decision may hold when it is read; a spec asks by the two that they mean.
_SPOKEN = {"promote": "promote_checkpoint", "loop_back_to_inner_loop": "loop_back"}


def _predicate(reader: Reader, scalar: Scalar) -> None:
    if scalar.value not in PREDICATES:
        near = _SPOKEN.get(scalar.value) or next(iter(nearest(scalar.value, PREDICATES)), None)
        help_text = "decisions are promote_checkpoint and loop_back"
        if near is not None:
            help_text = f"did you mean {near}?"
        reader.add("unknown-predicate", f"there is no decision {scalar.value!r:.80}", scalar, help_text)


def _transitions(reader: Reader, node: Node) -> tuple[Transition, ...]:
    items = reader.sequence(node, "transitions", "write a list: - {when: promote_checkpoint, goto: NAME}")
    found = []
    for item in items or ():
        mapping = reader.mapping(item, "a transition", "write {when: ..., goto: NAME}")
        if mapping is None:
            continue
        entries = reader.known_keys(mapping, TRANSITION.names, "a transition", guess=True)
        if "goto" not in entries:
            reader.add("missing-key", "the transition has no goto", mapping, "say where it leads: goto: NAME")
        when = reader.plain_name(entries["when"][1], "when") if "when" in entries else None
        if when is not None:
            _predicate(reader, when)
        found.append(
            Transition(
                mapping.span,
                reader.plain_name(entries["goto"][1], "goto") if "goto" in entries else None,
                when,
                reader.scalar(entries["if"][1], "if") if "if" in entries else None,
            )
        )
    return tuple(found)


def _artifacts(reader: Reader, node: Node, what: str) -> tuple[ArtifactDecl, ...]:
    items = reader.sequence(node, what, f"write a list: {what}: [{{uri: ..., schema: ...}}]")
    found = []
    for item in items or ():
        if isinstance(item, Scalar):
            reader.wrong_type(item, f"an entry of {what}", "a mapping with uri", "write {uri: ...}")
            continue
        mapping = reader.mapping(item, f"an entry of {what}", "write {uri: ..., schema: ...}")
        if mapping is None:
            continue
        entries = reader.known_keys(mapping, ARTIFACT.names, f"an entry of {what}", guess=True)
        if "uri" not in entries:
            reader.add("missing-key", f"this entry of {what} has no uri", mapping, "add uri: ...")
            continue
        uri = reader.text(entries["uri"][1], "uri")
        if uri is None:
            continue
        kind = (
            _choice(reader, entries["kind"][1], "kind", ARTIFACT.keys["kind"].words)
            if "kind" in entries
            else None
        )
        schema = reader.plain_name(entries["schema"][1], "schema") if "schema" in entries else None
        found.append(ArtifactDecl(mapping.span, uri, schema, kind))
    return tuple(found)


def _secrets(reader: Reader, node: Node) -> tuple[Scalar, ...]:
    if isinstance(node, Map):
        reader.wrong_type(
            node, "secrets", "a list of names", "name the variables only, as in secrets: [HF_TOKEN]"
        )
        return ()
    found = []
    for name in reader.names(node, "secrets"):
        if ENV_NAME.match(name.value):
            found.append(name)
        else:
            reader.add(
                "bad-name",
                "a secret is named by its environment variable",
                name,
                "use letters, digits and '_', as in HF_TOKEN; never write the value",
            )
    return tuple(found)
