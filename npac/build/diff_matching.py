"""Which node of one program is which of another: states that were renamed, nodes with other digits.

A state's name is in the ids of its nodes, and the digits behind a ``~`` are made from values, so that
one change can give many nodes another id.  Told as nodes that went and came, that would hide what really
changed; so the older program is first given the names and ids of the newer one, where both mean the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from npac.build.diff_aspects import said, states_of, step_aspects
from npac.ir.canonical import digest_data
from npac.ir.program import End, Gate, GroupOutputs, Node, Program, Step, Wave, successors

_TAIL = re.compile(r"~[0-9a-f]{8,}\Z")
_SEGMENT = re.compile(r"[^/\[\]@~]+(?=[/\[@~]|\Z)")
_INDEX = re.compile(r"\[[0-9]+\]")
_FEW = 8
"""Iterations of one loop up to which it is told which of them lead to a node."""

Rename = Callable[[str], str]


class Aligned(NamedTuple):
    """The older program, with the names and ids that the newer one has for the same things."""

    program: Program
    renamed: Mapping[str, str]
    """States and groups that do what they did: older name -> newer name."""
    replaced: Mapping[str, str]
    """States and groups that stand where others stood, and do something else: older -> newer."""
    ids: Mapping[str, str]
    """Nodes that are the same but for their id: older id -> newer id."""


def align(a: Program, b: Program) -> Aligned:
    """Give ``a`` with the names and ids of ``b``."""
    renamed, replaced = _renamed(a, b)
    first = a
    if names := {**renamed, **replaced}:
        first = _rewritten(a, lambda name: names.get(name, name), lambda id: _in_path(id, names))
    same = _same_nodes(first, b)
    program = _rewritten(first, lambda name: name, lambda id: same.get(id, id)) if same else first
    ids = {old.id: new.id for old, new in zip(a.nodes, program.nodes, strict=True) if old.id != new.id}
    return Aligned(program, renamed, replaced, ids)


def origins(program: Program) -> dict[str, str]:
    """Say of nodes whose id ends in digits which iterations lead to them: ``after improve[2]``."""
    loops: dict[str, dict[str, frozenset[int] | None]] = {program.entry: {}}
    found: dict[str, str] = {}
    for node in program.nodes:
        before = loops.pop(node.id, {})
        if _TAIL.search(node.id):
            parts = [
                f"{name}[{_ranges(sorted(rounds))}]"
                for name, rounds in before.items()
                if rounds and not (isinstance(node, Wave | Gate) and name in node.loops)
            ]
            if parts:
                found[node.id] = f"after {', '.join(parts)}"
        if isinstance(node, End):
            continue
        behind = {**before, **{name: frozenset((at,)) for name, at in node.loops.items()}}
        for id in dict.fromkeys(successors(node)):
            loops[id] = _joined(loops[id], behind) if id in loops else behind
    return found


def stem(id: str) -> str:
    """Give the id of a node without its iterations and digits."""
    return _INDEX.sub("", _TAIL.sub("", id))


def _joined(
    one: Mapping[str, frozenset[int] | None], other: Mapping[str, frozenset[int] | None]
) -> dict[str, frozenset[int] | None]:
    joined: dict[str, frozenset[int] | None] = {}
    for name in dict.fromkeys((*one, *other)):
        left, right = one.get(name), other.get(name)
        both = left | right if left and right else None
        joined[name] = both if both and len(both) <= _FEW else None
    return joined


def _ranges(numbers: Sequence[int]) -> str:
    texts: list[str] = []
    start = 0
    for at in range(len(numbers)):
        if at + 1 == len(numbers) or numbers[at + 1] != numbers[at] + 1:
            texts.append(str(numbers[at]) if start == at else f"{numbers[start]}..{numbers[at]}")
            start = at + 1
    return ",".join(texts)


# --- names that only one of the programs has -------------------------------------------------------


def _renamed(a: Program, b: Program) -> tuple[dict[str, str], dict[str, str]]:
    """Give the names that only changed, and those that have the place of another."""
    mine, theirs = dict.fromkeys(_names(a)), dict.fromkeys(_names(b))
    gone = [name for name in mine if name not in theirs]
    come = [name for name in theirs if name not in mine]
    if not gone or not come:
        return {}, {}
    same = _paired(gone, _content(a, set(gone)), come, _content(b, set(come)))
    left = [name for name in gone if name not in same]
    taken = set(same.values())
    right = [name for name in come if name not in taken]
    return same, _paired(left, _position(a, set(gone)), right, _position(b, set(come)))


def _paired(
    gone: Sequence[str], old: Mapping[str, Hashable], come: Sequence[str], new: Mapping[str, Hashable]
) -> dict[str, str]:
    """Pair names whose marks are equal, in their order, where there are as many on both sides."""
    alike: dict[Hashable, tuple[list[str], list[str]]] = {}
    for side, names, marks in ((0, gone, old), (1, come, new)):
        for name in names:
            alike.setdefault(marks[name], ([], []))[side].append(name)
    return {
        before: after
        for olds, news in alike.values()
        if len(olds) == len(news)
        for before, after in zip(olds, news, strict=True)
    }


def _names(program: Program) -> Iterator[str]:
    for node in program.nodes:
        if isinstance(node, End):
            continue
        yield from _in_id(node.id)
        if isinstance(node, Wave):
            yield from states_of(node, program)


def _touched(program: Program, wanted: set[str]) -> Iterator[tuple[str, Node, Step | None]]:
    """Give each wanted name with each node that has it, and its step in there."""
    for node in program.nodes:
        if isinstance(node, End):
            continue
        steps = (
            {program.steps[member.step].state: program.steps[member.step] for member in node.members}
            if isinstance(node, Wave)
            else {}
        )
        for name in dict.fromkeys((*_in_id(node.id), *steps)):
            if name in wanted:
                yield name, node, steps.get(name)


def _content(program: Program, wanted: set[str]) -> dict[str, Hashable]:
    """Give what the nodes of each name do, without the wanted names themselves."""
    found: dict[str, list[Hashable]] = defaultdict(list)
    for name, node, step in _touched(program, wanted):
        does: Hashable = type(node).__name__
        if step is not None:
            does = digest_data(dict(step_aspects(step)))
        elif isinstance(node, Gate) and node.state == name:
            does = (node.role, said(node.uri))
        found[name].append((_masked(node.id, wanted), does))
    return {name: tuple(items) for name, items in found.items()}


def _position(program: Program, wanted: set[str]) -> dict[str, Hashable]:
    """Give where the nodes of each name stand: what leads to them, and where they lead."""
    leading: dict[str, list[str]] = defaultdict(list)
    for node in program.nodes:
        for id in successors(node):
            leading[id].append(_masked(node.id, wanted))
    found: dict[str, list[Hashable]] = defaultdict(list)
    for name, node, step in _touched(program, wanted):
        member = states_of(node, program).index(step.state) if isinstance(node, Wave) and step else 0
        after = tuple(_masked(id, wanted) for id in successors(node))
        found[name].append((_masked(node.id, wanted), tuple(leading[node.id]), after, member))
    return {name: tuple(items) for name, items in found.items()}


def _masked(id: str, names: set[str]) -> str:
    return _SEGMENT.sub(lambda found: "?" if found[0] in names else found[0], _TAIL.sub("", id))


def _in_path(id: str, renamed: Mapping[str, str]) -> str:
    path = re.match(r"[^@~]*", id)
    assert path is not None
    rest = id[path.end() :]
    return _SEGMENT.sub(lambda found: renamed.get(found[0], found[0]), path[0]) + rest


def _in_id(id: str) -> list[str]:
    """Give the names of states and groups in an id."""
    return _SEGMENT.findall(_TAIL.sub("", id).partition("@")[0])


# --- ids that differ in their digits ----------------------------------------------------------------


def _same_nodes(a: Program, b: Program) -> dict[str, str]:
    mine, theirs = a.index(), b.index()
    if mine.keys() == theirs.keys():
        return {}
    came_from, comes_from = origins(a), origins(b)
    left: dict[tuple[str, str, type], list[str]] = defaultdict(list)
    for id, node in theirs.items():
        if id not in mine:
            left[_TAIL.sub("", id), comes_from.get(id, ""), type(node)].append(id)
    found: dict[str, str] = {}
    for id, node in mine.items():
        if id not in theirs:
            others = left.get((_TAIL.sub("", id), came_from.get(id, ""), type(node)))
            if others:
                found[id] = others.pop(0)
    return found


def _rewritten(program: Program, name: Rename, id: Rename) -> Program:
    return replace(
        program,
        entry=id(program.entry),
        steps=tuple(replace(step, state=name(step.state)) for step in program.steps),
        nodes=tuple(_rewritten_node(node, name, id) for node in program.nodes),
    )


def _rewritten_node(node: Node, name: Rename, id: Rename) -> Node:
    def groups(items: Sequence[GroupOutputs]) -> tuple[GroupOutputs, ...]:
        return tuple(replace(item, group=name(item.group)) for item in items)

    if isinstance(node, Wave):
        return replace(
            node,
            id=id(node.id),
            next=id(node.next),
            group=name(node.group),
            members=tuple(replace(member, loop_label=name(member.loop_label)) for member in node.members),
            triggers=tuple(replace(trigger, state=name(trigger.state)) for trigger in node.triggers),
            loops={name(loop): at for loop, at in node.loops.items()},
            opens=groups(node.opens),
            checks=groups(node.checks),
        )
    if isinstance(node, Gate):
        return replace(
            node,
            id=id(node.id),
            state=name(node.state),
            promote=id(node.promote),
            loop_back=id(node.loop_back),
            writers=tuple(sorted(map(name, node.writers))),
            loops={name(loop): at for loop, at in node.loops.items()},
            checks=groups(node.checks),
        )
    return replace(node, id=id(node.id), checks=groups(node.checks))


__all__ = ["Aligned", "align", "origins", "stem"]
