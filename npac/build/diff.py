"""What changed between two programs, by meaning and not by lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from npac.build.diff_aspects import (
    Aspects,
    described,
    labels,
    node_aspects,
    program_aspects,
    step_aspects,
    step_lines,
    title,
)
from npac.build.diff_matching import align, origins
from npac.build.diff_order import order_changes, rounds
from npac.ir.canonical import digest
from npac.ir.program import Node, Program, Step, Wave

ADDED = "added"
REMOVED = "removed"
CHANGED = "changed"
RENAMED = "renamed"
REPLACED = "replaced"
_IN_A_LINE = 12
"""Names up to which an order is told in one line."""
NUMBER = "number"
"""The aspect of a wave's number, which stands in the names of its files and jobs."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.  ``before`` and ``after`` are text for people, empty where there is nothing."""

    kind: str
    """``added``, ``removed``, ``changed``, ``renamed`` (a state or group that does the same under another
    name) or ``replaced`` (one that does something else in the place of another)."""
    node: str
    """Id of the node; empty for the program itself."""
    aspect: str = ""
    """What changed inside: ``command``, ``image``, ``next``, …; empty for a whole node or member."""
    before: str = ""
    after: str = ""
    state: str = ""
    """The member of a parallel wave that changed; empty elsewhere."""
    where: str = ""
    """Which iterations lead to a node whose id does not say it: ``after improve[2]``."""


def diff_programs(a: Program, b: Program) -> list[Change]:
    """Give the differences from ``a`` to ``b``; empty exactly when their digests are equal.

    A state or group that only got another name is told as renamed, and what is told of the nodes then
    uses the new name.  A node that is there on one side only is told with all that it does.
    """
    if digest(a) == digest(b):
        return []
    aligned = align(a, b)
    old = aligned.program
    changes = [Change(RENAMED, "", "name", was, now) for was, now in aligned.renamed.items()]
    changes += [Change(REPLACED, "", "name", was, now) for was, now in aligned.replaced.items()]
    changes += _compare("", "", program_aspects(old), program_aspects(b))
    changes += _compare("", "", *_shared(rounds(old), rounds(b)))
    changes += [
        Change(CHANGED, "", f"order in {name}" if name else "order", _listed(was), _listed(now))
        for name, was, now in order_changes(old, b)
    ]
    before, after = old.index(), b.index()
    leads, led = origins(old), origins(b)
    changes += [
        Change(REMOVED, id, before=described(node, old), where=leads.get(id, ""))
        for id, node in before.items()
        if id not in after
    ]
    changes += [
        Change(ADDED, id, after=described(node, b), where=led.get(id, ""))
        for id, node in after.items()
        if id not in before
    ]
    for id, node in after.items():
        if id in before:
            changes += _node_changes(old, before[id], b, node, led.get(id, ""))
    if before.keys() == after.keys():
        # Numbers follow from which nodes there are; told beside added nodes they would only be noise.
        changes += _numbers(old, b, led)
    return changes or [_of_names(aligned.ids)]


def diff_aspects(a: Aspects, b: Aspects) -> list[Change]:
    """Give the differences between what is said of two programs besides themselves."""
    return list(_compare("", "", a, b))


def _of_names(ids: Mapping[str, str]) -> Change:
    """Give the one change of programs whose steps and nodes do the same."""
    if ids:
        return Change(CHANGED, "", "names of nodes", "\n".join(ids), "\n".join(ids.values()))
    return Change(CHANGED, "", "order", "", "the same steps and nodes, listed in another order")


def _shared(a: Aspects, b: Aspects) -> tuple[Aspects, Aspects]:
    return {key: a[key] for key in a if key in b}, {key: b[key] for key in b if key in a}


def _numbers(a: Program, b: Program, where: Mapping[str, str]) -> Iterator[Change]:
    numbers = {wave.id: wave.number for wave in a.waves()}
    for wave in b.waves():
        number = numbers.get(wave.id, wave.number)
        if number != wave.number:
            yield Change(
                CHANGED, wave.id, NUMBER, str(number), str(wave.number), where=where.get(wave.id, "")
            )


def _node_changes(a: Program, old: Node, b: Program, new: Node, where: str) -> Iterator[Change]:
    if type(old) is not type(new):
        yield Change(CHANGED, new.id, "kind", title(old, a), title(new, b), where=where)
        return
    yield from _compare(new.id, "", node_aspects(old, a), node_aspects(new, b), where)
    if not isinstance(old, Wave) or not isinstance(new, Wave):
        return
    was = {a.steps[member.step].state: (a.steps[member.step], member) for member in old.members}
    now = {b.steps[member.step].state: (b.steps[member.step], member) for member in new.members}
    for state, (step, _) in was.items():
        if state not in now:
            yield Change(REMOVED, new.id, before=_member(step), state=state, where=where)
    for state, (step, _) in now.items():
        if state not in was:
            yield Change(ADDED, new.id, after=_member(step), state=state, where=where)
    order = [[state for state in states if state in was and state in now] for states in (was, now)]
    if order[0] != order[1] and node_aspects(old, a)["batches"] == node_aspects(new, b)["batches"]:
        yield Change(CHANGED, new.id, "order of members", _listed(order[0]), _listed(order[1]), where=where)
    for state, (step, member) in now.items():
        if state in was:
            name = state if new.group else ""
            old_step, old_member = was[state]
            yield from _compare(new.id, name, *_steps(old_step, step), where)
            both = {"labels": labels(old_member)}, {"labels": labels(member)}
            yield from _compare(new.id, name, *both, where)


def _member(step: Step) -> str:
    return "\n".join(("member", *step_lines(step)))


def _steps(old: Step, new: Step) -> tuple[Aspects, Aspects]:
    """Give the aspects of two steps; an image that both profiles give is told once, as the image."""
    both = dict(step_aspects(old)), dict(step_aspects(new))
    if all(step.image and step.profile.get("image") == step.image for step in (old, new)):
        for aspects in both:
            aspects["resources"] = {k: v for k, v in aspects["resources"].items() if k != "image"}
    return both


def _compare(node: str, state: str, old: Aspects, new: Aspects, where: str = "") -> Iterator[Change]:
    for aspect in dict.fromkeys((*old, *new)):
        was, now = old.get(aspect), new.get(aspect)
        if was == now:
            continue
        if isinstance(was, dict) and isinstance(now, dict):
            keys = [key for key in dict.fromkeys((*was, *now)) if was.get(key) != now.get(key)]
            before, after = _entries(was, keys), _entries(now, keys)
        else:
            before, after = _show(was), _show(now)
        yield Change(CHANGED, node, aspect, before, after, state, where)


def _entries(table: Mapping[str, Any], keys: Sequence[str]) -> str:
    return "\n".join(f"{key}: {table[key]}" for key in keys if key in table)


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return "\n".join(value)
    return "" if value is None else str(value)


def _listed(names: Sequence[str]) -> str:
    """Give few names in one line, many in a line each."""
    return (", " if len(names) <= _IN_A_LINE else "\n").join(names)


__all__ = [
    "ADDED",
    "CHANGED",
    "NUMBER",
    "REMOVED",
    "RENAMED",
    "REPLACED",
    "Change",
    "diff_aspects",
    "diff_programs",
]
