"""What every program keeps, whoever made it.

The lowering's tests end with :func:`verify`, and a build that is read back is verified before
anything walks it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from npac.ir.program import (
    LOOP_BACK,
    PROMOTE,
    SCHEMA,
    Artifact,
    End,
    Gate,
    GroupOutputs,
    Program,
    Step,
    Tree,
    Wave,
    successors,
)
from npac.ir.values import RUN_ID, Apply, Concat, Hole, Value, holes

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PROGRAM_HOLES = frozenset({RUN_ID.name})
"""The late values that a program itself may wait for; a back end has more of its own."""
MAX_NODES = 32
ROLES = ("until", "transitions")
KINDS = ("file", "directory")


def valid_name(text: str) -> bool:
    """Say whether ``text`` may name a workflow, a state or a run: a safe single path component."""
    return NAME.fullmatch(text) is not None and text not in (".", "..")


def verify(program: Program) -> list[str]:
    """Give what is wrong with ``program``, a sentence each; empty for a sound program."""
    return [*_header(program), *_steps(program), *_nodes(program), *_edges(program)]


def _header(program: Program) -> Iterator[str]:
    if not valid_name(program.workflow):
        yield f"the workflow name {program.workflow!r} is not a name"
    if program.default_assumption not in ("", PROMOTE, LOOP_BACK):
        yield f"the default assumption {program.default_assumption!r} is no decision"
    if program.execution_mode not in ("", "runtime"):
        yield f"the execution mode {program.execution_mode!r} does not exist in {SCHEMA}"
    if not program.nodes:
        yield "the program has no node"
    elif program.nodes[0].id != program.entry:
        yield f"the entry {program.entry!r} is not the first node, {program.nodes[0].id!r} is"


def _steps(program: Program) -> Iterator[str]:
    used = {member.step for wave in program.waves() for member in wave.members}
    for at, step in enumerate(program.steps):
        where = f"step {at} ({step.state})"
        if at not in used:
            yield f"{where} is used by no wave"
        if not valid_name(step.state):
            yield f"{where}: the state's name is not a name"
        if (bool(step.argv) + bool(step.shell) + bool(step.raw)) != 1:
            yield f"{where} must have exactly one of argv, shell and a raw task"
        if isinstance(step.num_nodes, bool) or step.num_nodes < 1:
            yield f"{where}: num_nodes is {step.num_nodes}, not a positive number"
        elif step.num_nodes > MAX_NODES:
            yield f"{where}: num_nodes is {step.num_nodes}, more than {MAX_NODES}"
        if list(step.secrets) != sorted(set(step.secrets)):
            yield f"{where}: the secrets are not sorted, or one stands there twice"
        for name in (*step.secrets, *step.env):
            if ENVIRONMENT_NAME.fullmatch(name) is None:
                yield f"{where}: {name!r} is not the name of an environment variable"
        if step.writes_decision and step.decision_uri not in [output.uri for output in step.outputs]:
            yield f"{where} writes a decision that is none of its outputs"
        if step.baked and step.source_overlay:
            yield f"{where} takes a source overlay in an image that must be baked"
        yield from _artifacts(where, (*step.inputs, *step.outputs))
        yield from _step_holes(where, step)


def _step_holes(where: str, step: Step) -> Iterator[str]:
    allowed: list[Value] = [*step.argv, step.shell, step.decision_uri, *step.env.values()]
    if step.baked:
        allowed.append(step.baked.source_sha)
    for value in allowed:
        yield from _value(where, value)
    for key, tree in step.profile.items():
        if key == "kubernetes" and isinstance(tree, dict):
            rest = {name: branch for name, branch in tree.items() if name != "pod_config"}
            yield from _no_holes(f"{where}: profile/kubernetes", rest)
            for value in strings(tree.get("pod_config")):
                yield from _value(f"{where}: pod_config", value)
        else:
            yield from _no_holes(f"{where}: profile/{key}", tree)
    yield from _no_holes(f"{where}: raw task", step.raw)
    texts = (step.image, step.tool_ref, step.resources, step.state, *step.setup.interpreters)
    if any(not isinstance(text, str) for text in texts):
        yield f"{where}: a name, an image or an interpreter is not plain text"


def _nodes(program: Program) -> Iterator[str]:
    seen: set[str] = set()
    number = 0
    for node in program.nodes:
        if not node.id or node.id in seen:
            yield f"the node id {node.id!r} is empty or stands there twice"
        seen.add(node.id)
        yield from _groups(f"node {node.id}", node.checks)
        if isinstance(node, Wave):
            number += 1
            if node.number != number:
                yield f"wave {node.id} has number {node.number}; the order of the nodes gives {number}"
            yield from _wave(program, node)
        elif isinstance(node, Gate):
            yield from _value(f"gate {node.id}", node.uri)
            if not node.uri:
                yield f"gate {node.id} reads no URI"
            if node.role not in ROLES:
                yield f"gate {node.id} has the role {node.role!r}"
            if list(node.writers) != sorted(set(node.writers)):
                yield f"gate {node.id}: the writers are not sorted, or one stands there twice"
        if not isinstance(node, End):
            for loop, iteration in node.loops.items():
                if iteration < 1:
                    yield f"node {node.id}: loop {loop} is at iteration {iteration}"


def _wave(program: Program, wave: Wave) -> Iterator[str]:
    where = f"wave {wave.id}"
    if not wave.members:
        yield f"{where} has no member"
    for member in wave.members:
        if not 0 <= member.step < len(program.steps):
            yield f"{where} names step {member.step}, which does not exist"
        if member.iteration is not None and member.iteration < 1:
            yield f"{where} has a member at iteration {member.iteration}"
    flat = [index for batch in wave.batches for index in batch]
    if flat != list(range(len(wave.members))) or not all(wave.batches):
        batches = [list(batch) for batch in wave.batches]
        yield f"{where}: the batches {batches} do not cut the members in order"
    if wave.group:
        if not valid_name(wave.group):
            yield f"{where}: the group {wave.group!r} is not a name"
        if wave.max_concurrency < 1 or any(len(batch) > wave.max_concurrency for batch in wave.batches):
            yield f"{where}: a batch is larger than max_concurrency {wave.max_concurrency}"
        names = [
            program.steps[member.step].state for member in wave.members if member.step < len(program.steps)
        ]
        if len(set(names)) != len(names):
            yield f"{where}: two members have one name"
    elif len(wave.members) > 1:
        yield f"{where} is serial and has {len(wave.members)} members"
    for trigger in wave.triggers:
        yield from _value(f"{where}: trigger of {trigger.state}", trigger.uri)
        if trigger.poll_seconds < 1 or trigger.max_polls < 0 or trigger.min_objects < 1:
            yield f"{where}: a number of the trigger of {trigger.state} is out of range"
    yield from _artifacts(where, wave.outputs)
    yield from _groups(where, wave.opens)


def _edges(program: Program) -> Iterator[str]:
    place = {node.id: at for at, node in enumerate(program.nodes)}
    reached = {program.entry}
    for at, node in enumerate(program.nodes):
        if node.id not in reached:
            yield f"node {node.id} is not reached from the entry"
        for target in successors(node):
            if target not in place:
                yield f"node {node.id} leads to {target!r}, which does not exist"
            elif place[target] <= at:
                yield f"node {node.id} leads back to {target}"
            reached.add(target)


def _groups(where: str, groups: tuple[GroupOutputs, ...]) -> Iterator[str]:
    for group in groups:
        yield from _artifacts(f"{where}: group {group.group}", group.outputs)


def _artifacts(where: str, artifacts: tuple[Artifact, ...]) -> Iterator[str]:
    for artifact in artifacts:
        yield from _value(where, artifact.uri)
        if not artifact.uri:
            yield f"{where} has an artifact without a URI"
        if artifact.kind not in KINDS or artifact.declared_kind not in ("", *KINDS):
            yield f"{where}: an artifact is of kind {artifact.kind!r}, declared {artifact.declared_kind!r}"


def _value(where: str, value: Value) -> Iterator[str]:
    for name in holes(value):
        if name not in PROGRAM_HOLES:
            yield f"{where} waits for <{name}>, which no program may"


def _no_holes(where: str, tree: Tree) -> Iterator[str]:
    for value in strings(tree):
        for name in holes(value):
            yield f"{where} depends on <{name}>; a structure may not"


def strings(tree: Tree) -> Iterator[Value]:
    """Yield every string and template of ``tree``, keys left out, in order."""
    stack: list[Tree] = [tree]
    while stack:
        top = stack.pop()
        if isinstance(top, str | Hole | Concat | Apply):
            yield top
        elif isinstance(top, dict):
            stack.extend(reversed(top.values()))
        elif isinstance(top, list):
            stack.extend(reversed(top))
