"""What a node or a step does, aspect by aspect, in words that can be compared and shown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from npac.ir.canonical import canonical_bytes
from npac.ir.codec import tree_to_json
from npac.ir.program import Artifact, Gate, GroupOutputs, Member, Node, Program, Step, Trigger, Wave
from npac.ir.values import Apply, Hole, Value, show, to_json

Aspects = Mapping[str, Any]
"""What something does, by the name of the aspect: a text, a list of texts, a mapping, or nothing."""


def program_aspects(program: Program) -> Aspects:
    """Give what a program says besides its nodes."""
    return {
        "workflow": program.workflow,
        "api version": program.api_version,
        "execution mode": program.execution_mode,
        "default assumption": program.default_assumption,
        "begins with": program.entry,
    }


def node_aspects(node: Node, program: Program) -> Aspects:
    """Give what a node does besides the steps of its members."""
    if isinstance(node, Wave):
        states = states_of(node, program)
        return {
            "next": node.next,
            "group": node.group,
            "batches": [", ".join(states[index] for index in batch) for batch in node.batches]
            if node.group
            else [],
            "max concurrency": node.max_concurrency,
            "waits for": [_trigger(trigger) for trigger in node.triggers],
            "loops": _loops(node.loops),
            "group retry": ("all" if node.group_retry_all else "members") if node.group else "",
            "outputs": _artifacts(node.outputs),
            "opens": _groups(node.opens),
            "checks": _groups(node.checks),
        }
    if isinstance(node, Gate):
        return {
            "on promote_checkpoint": node.promote,
            "on loop_back": node.loop_back,
            "leaves the loop on": node.leaves_on,
            "state": node.state,
            "role": node.role,
            "decision": said(node.uri),
            "writers": list(node.writers),
            "loops": _loops(node.loops),
            "checks": _groups(node.checks),
        }
    return {"checks": _groups(node.checks)}


def step_aspects(step: Step) -> Aspects:
    """Give what a step does; its state is its name, and none of them."""
    return {
        "command": [said(word) for word in step.argv] if step.argv else said(step.shell),
        "command form": "argv"
        if step.argv
        else "shell"
        if step.shell
        else "raw task"
        if step.raw
        else "none",
        "tool": step.tool_ref,
        "image": step.image,
        "resources": {
            "profile": step.resources,
            **{key: _tree(value) for key, value in step.profile.items()},
        },
        "nodes": step.num_nodes,
        "inputs": _artifacts(step.inputs),
        "outputs": _artifacts(step.outputs),
        "secrets": list(step.secrets),
        "environment": {name: said(value) for name, value in step.env.items()},
        "decision": said(step.decision_uri) if step.writes_decision or step.decision_uri else "",
        "writes decision": step.writes_decision,
        "setup": [
            *step.setup.interpreters,
            *(f"{probe} => {requirement}" for probe, requirement in step.setup.pip_requirements),
            *([f"extra {step.setup.pip_extra}"] if step.setup.pip_extra else []),
        ],
        "baked": f"{said(step.baked.source_sha)} {step.baked.import_module}" if step.baked else "",
        "source overlay": step.source_overlay,
        "task": {key: _tree(value) for key, value in step.raw.items()},
    }


def states_of(wave: Wave, program: Program) -> list[str]:
    """Give the states of a wave's members."""
    return [program.steps[member.step].state for member in wave.members]


def labels(member: Member) -> str:
    """Give the labels of a member."""
    return f"iteration {member.iteration or '-'}, in {member.loop_label or '-'}"


def title(node: Node, program: Program) -> str:
    """Say in a few words what a node is."""
    if isinstance(node, Wave):
        names = ", ".join(states_of(node, program))
        return f"wave of {node.group}: {names}" if node.group else f"wave: {names}"
    if isinstance(node, Gate):
        return f"gate of {node.state}: {said(node.uri)}"
    return "end"


def described(node: Node, program: Program) -> str:
    """Say what a node is and all that it does: a line for each aspect that is there."""
    lines = [title(node, program)]
    if isinstance(node, Wave):
        for member in node.members:
            step = program.steps[member.step]
            lines += [f"{step.state}:"] if node.group else []
            lines += ((f"  {line}" if node.group else line) for line in step_lines(step))
        # A wave of one has one batch, and its loops stand in its name.
        unsaid = {"loops", "group", *(() if node.group else ("max concurrency", "batches"))}
        lines += _lines({k: v for k, v in node_aspects(node, program).items() if k not in unsaid})
    elif isinstance(node, Gate):
        known = {"loops", "state", "role", "decision"}
        lines += _lines({k: v for k, v in node_aspects(node, program).items() if k not in known})
    return "\n".join(lines)


def step_lines(step: Step) -> list[str]:
    """Say all that a step does, a line for each aspect that is there."""
    found = dict(step_aspects(step))
    if step.argv:
        found["command"] = shlex.join(said(word) for word in step.argv)
    found["command form"] = ""
    found["nodes"] = step.num_nodes if step.num_nodes > 1 else ""
    found["resources"] = {key: value for key, value in found["resources"].items() if key != "image" and value}
    return list(_lines(found))


def _lines(aspects: Aspects) -> Iterator[str]:
    for name, value in aspects.items():
        if isinstance(value, Mapping):
            text = ", ".join(f"{key}: {entry}" for key, entry in value.items())
        elif isinstance(value, bool):
            text = "yes" if value else ""
        else:
            text = "\n".join(value) if isinstance(value, list) else str(value)
        if "\n" in text.rstrip("\n"):
            yield f"{name}:"
            yield from (f"  {line}" for line in text.splitlines())
        elif text:
            yield f"{name}: {text.rstrip()}"


def said(value: Value) -> str:
    """Give ``value`` for people, in JSON where plain text could be taken for a hole."""
    return canonical_bytes(to_json(value)).decode() if _looks_open(value) else show(value)


def _looks_open(value: Value) -> bool:
    if isinstance(value, str):
        return "<" in value
    if isinstance(value, Hole):
        return False
    if isinstance(value, Apply):
        return _looks_open(value.value)
    return any(_looks_open(part) for part in value.parts)


def _tree(tree: Any) -> str:
    return canonical_bytes(tree_to_json(tree)).decode()


def _loops(loops: Mapping[str, int]) -> list[str]:
    return [f"{name} = {iteration}" for name, iteration in loops.items()]


def _trigger(trigger: Trigger) -> str:
    bound = f"at most {trigger.max_polls} times" if trigger.max_polls else "without bound"
    return (
        f"{trigger.state}: {trigger.min_objects} object(s) at {said(trigger.uri)}, "
        f"every {trigger.poll_seconds} s, {bound}"
    )


def _artifacts(artifacts: Sequence[Artifact]) -> list[str]:
    return [
        f"{said(artifact.uri)} ({artifact.declared_kind and 'declared '}{artifact.kind}"
        f"{f', {artifact.schema}' if artifact.schema else ''})"
        for artifact in artifacts
    ]


def _groups(groups: Sequence[GroupOutputs]) -> list[str]:
    return [f"{group.group}: {', '.join(_artifacts(group.outputs))}" for group in groups]
