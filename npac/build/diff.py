"""What changed between two programs, by meaning and not by lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npac.ir.canonical import canonical_bytes, digest
from npac.ir.codec import tree_to_json
from npac.ir.program import Artifact, End, Gate, GroupOutputs, Member, Node, Program, Step, Wave
from npac.ir.values import Apply, Hole, Value, show, to_json

ADDED = "added"
REMOVED = "removed"
CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.  ``before`` and ``after`` are text for people, empty where there is nothing."""

    kind: str
    """``added``, ``removed`` or ``changed``."""
    node: str
    """Id of the node; empty for the program itself."""
    aspect: str = ""
    """What changed inside: ``command``, ``image``, ``edges``, …; empty for a whole node."""
    before: str = ""
    after: str = ""
    state: str = ""
    """The member of a parallel wave that changed; empty elsewhere."""


Aspects = Mapping[str, Any]


def diff_programs(a: Program, b: Program) -> list[Change]:
    """Give the differences from ``a`` to ``b``; empty exactly when their digests are equal."""
    changes = list(_compare("", "", _program_aspects(a), _program_aspects(b)))
    before, after = a.index(), b.index()
    changes += [Change(REMOVED, id, before=_title(before[id], a)) for id in before if id not in after]
    changes += [Change(ADDED, id, after=_title(after[id], b)) for id in after if id not in before]
    # Numbers follow from which nodes there are; told beside added nodes they would only be noise.
    numbered = set(before) == set(after)
    for id, node in after.items():
        if id in before:
            changes += _node_changes(a, before[id], b, node, numbered)
    if not changes and digest(a) != digest(b):
        changes.append(Change(CHANGED, "", "order", "", "the same steps and nodes, listed in another order"))
    return changes


def _program_aspects(program: Program) -> Aspects:
    return {
        "workflow": program.workflow,
        "api version": program.api_version,
        "execution mode": program.execution_mode,
        "default assumption": program.default_assumption,
        "entry": program.entry,
    }


def _node_changes(a: Program, old: Node, b: Program, new: Node, numbered: bool) -> Iterator[Change]:
    if type(old) is not type(new):
        yield Change(CHANGED, new.id, "kind", _title(old, a), _title(new, b))
        return
    yield from _compare(new.id, "", _node_aspects(old, numbered), _node_aspects(new, numbered))
    if not isinstance(old, Wave) or not isinstance(new, Wave):
        return
    was = {a.steps[member.step].state: (a.steps[member.step], member) for member in old.members}
    now = {b.steps[member.step].state: (b.steps[member.step], member) for member in new.members}
    order = (list(was), list(now))
    if order[0] != order[1]:
        yield Change(CHANGED, new.id, "members", ", ".join(order[0]), ", ".join(order[1]))
    for state, (step, member) in now.items():
        if state in was:
            old_step, old_member = was[state]
            name = state if new.group else ""
            yield from _compare(
                new.id,
                name,
                {**_step_aspects(old_step), "labels": _labels(old_member)},
                {**_step_aspects(step), "labels": _labels(member)},
            )


def _node_aspects(node: Node, numbered: bool) -> Aspects:
    if isinstance(node, Wave):
        return {
            "edges": node.next,
            "group": node.group,
            "batches": [list(batch) for batch in node.batches],
            "max concurrency": node.max_concurrency,
            "triggers": [
                f"{t.state}: {t.min_objects} object(s) at {said(t.uri)}, every {t.poll_seconds} s, "
                f"{f'at most {t.max_polls} times' if t.max_polls else 'without bound'}"
                for t in node.triggers
            ],
            "loops": list(node.loops.items()),
            "group retry": "all" if node.group_retry_all else "members",
            "outputs": _artifacts(node.outputs),
            "opens": _groups(node.opens),
            "checks": _groups(node.checks),
            **({"number": node.number} if numbered else {}),
        }
    if isinstance(node, Gate):
        return {
            "edges": [f"promote_checkpoint -> {node.promote}", f"loop_back -> {node.loop_back}"],
            "state": node.state,
            "role": node.role,
            "decision": said(node.uri),
            "writers": list(node.writers),
            "loops": list(node.loops.items()),
            "checks": _groups(node.checks),
        }
    return {"checks": _groups(node.checks)}


def _step_aspects(step: Step) -> Aspects:
    return {
        "command": [said(word) for word in step.argv] if step.argv else said(step.shell),
        "command form": "argv" if step.argv else "shell" if step.shell else "raw task",
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


def _labels(member: Member) -> str:
    return f"iteration {member.iteration or '-'}, in {member.loop_label or '-'}"


def _tree(tree: Any) -> str:
    return canonical_bytes(tree_to_json(tree)).decode()


def _artifacts(artifacts: tuple[Artifact, ...]) -> list[str]:
    return [
        f"{said(artifact.uri)} ({artifact.declared_kind and 'declared '}{artifact.kind}"
        f"{f', {artifact.schema}' if artifact.schema else ''})"
        for artifact in artifacts
    ]


def _groups(groups: tuple[GroupOutputs, ...]) -> list[str]:
    return [f"{group.group}: {', '.join(_artifacts(group.outputs))}" for group in groups]


def _compare(node: str, state: str, old: Aspects, new: Aspects) -> Iterator[Change]:
    for aspect in dict.fromkeys((*old, *new)):
        was, now = old.get(aspect), new.get(aspect)
        if was == now:
            continue
        if isinstance(was, dict) and isinstance(now, dict):
            keys = [key for key in dict.fromkeys((*was, *now)) if was.get(key) != now.get(key)]
            yield Change(CHANGED, node, aspect, _entries(was, keys), _entries(now, keys), state)
        else:
            yield Change(CHANGED, node, aspect, _show(was), _show(now), state)


def _entries(table: Mapping[str, Any], keys: Sequence[str]) -> str:
    return "\n".join(f"{key}: {table[key]}" for key in keys if key in table)


def _show(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(map(_show_item, value))
    return "" if value is None else str(value)


def _show_item(item: Any) -> str:
    return " = ".join(map(str, item)) if isinstance(item, tuple) else str(item)


def _title(node: Node, program: Program) -> str:
    if isinstance(node, Wave):
        names = ", ".join(program.steps[member.step].state for member in node.members)
        return f"wave of {node.group}: {names}" if node.group else f"wave: {names}"
    if isinstance(node, Gate):
        return f"gate of {node.state}: {said(node.uri)}"
    assert isinstance(node, End)
    return "end"


__all__ = ["Change", "diff_programs"]
