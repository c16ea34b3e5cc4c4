"""Differences between two programs as text for people: a block for each node, likes told once.

A loop makes a node for each iteration, and a change of its body changes every one of them alike.
Blocks that say the same but for their iteration are folded into one; inside a block only the lines
that changed are shown, each with a neighbour, and of long lines only the part that differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

from npac.build.diff import ADDED, REMOVED, Change

_INDEX = re.compile(r"\[([0-9]+)\]")
_TAIL = re.compile(r"~[0-9a-f]{8,}$")
_CONTEXT = 1
"""Unchanged lines shown before and after changed ones."""
_LONG = 120
"""Characters from which on a changed line is cut to its changed part."""
_KEPT = 30
"""Characters kept around the changed part of a long line."""
_COMPARED = 2_000
"""Lines up to which two texts are aligned; longer ones are compared from both ends."""


class _Block(NamedTuple):
    mark: str
    node: str
    member: str
    lines: tuple[str, ...]


def render(changes: Sequence[Change]) -> str:
    """Give ``changes`` as text, a block for each node or family of like nodes; empty for none."""
    families: dict[object, list[_Block]] = {}
    for block in _blocks(changes):
        families.setdefault(_likeness(block), []).append(block)
    lines: list[str] = []
    for family in families.values():
        lines.append(_head(family))
        lines += family[0].lines[1:] if family[0].mark != "~" else family[0].lines
    return "".join(f"{line}\n" for line in lines)


def _blocks(changes: Sequence[Change]) -> Iterator[_Block]:
    """Gather what changed about one node (or about one member of its group) in its order."""
    for (kind, node, member), items in groupby(changes, lambda item: (item.kind, item.node, item.state)):
        if kind in (REMOVED, ADDED):
            for item in items:
                yield _Block("-" if kind == REMOVED else "+", node, member, (item.before or item.after,))
        else:
            found = (line for item in items for line in (f"    {item.aspect}", *_difference(item)))
            yield _Block("~", node, member, tuple(found))


def _likeness(block: _Block) -> object:
    """Give what like blocks have in common: all but the numbers of their iterations."""
    numbers = _INDEX.findall(block.node)
    plain = _TAIL.sub("~", _INDEX.sub("[]", block.node))
    if plain == block.node:
        return block
    lines = block.lines
    if numbers:
        # a branch back names the iteration behind this one
        text = "\n".join(lines)
        for number in dict.fromkeys(numbers):
            text = text.replace(f"[{int(number) + 1}]", "[#+1]")
            text = re.sub(rf"(?<![0-9.#+]){number}(?![0-9.])", "#", text)
        lines = tuple(text.split("\n"))
    return block.mark, plain, block.member, tuple(_TAIL.sub("~", line) for line in lines)


def _head(family: Sequence[_Block]) -> str:
    first = family[0]
    name = first.node or "program"
    alike = ""
    if len(family) > 1:
        name = _range([block.node for block in family]) or f"{name} … {family[-1].node}"
        same = all(block.lines == first.lines for block in family)
        alike = f"  ({len(family)} nodes{'' if same else ', alike but for their iteration'})"
    member = f" member {first.member}" if first.member else ""
    title = f"  {first.lines[0]}" if first.mark != "~" else ""
    return f"{first.mark} {name}{member}{title}{alike}"


def _range(names: Sequence[str]) -> str:
    """Give ``loop[1..20]/train`` for names that differ in one number which grows by one; else nothing."""
    numbers = [[int(number) for number in _INDEX.findall(name)] for name in names]
    varied = [at for at in range(len(numbers[0])) if len({found[at] for found in numbers}) > 1]
    if len(varied) != 1 or any("~" in name for name in names):
        return ""
    at = varied[0]
    values = [found[at] for found in numbers]
    if values != list(range(values[0], values[0] + len(values))):
        return ""
    parts = _INDEX.split(names[0])
    parts[2 * at + 1] = f"{values[0]}..{values[-1]}"
    return "".join(f"[{part}]" if index % 2 else part for index, part in enumerate(parts))


def _difference(change: Change) -> Iterator[str]:
    """Give the lines that changed, marked, with their neighbours."""
    old, new = change.before.splitlines(), change.after.splitlines()
    hunks = _hunks(old, new)
    shown = 0
    for index, (start, stop, begin, end) in enumerate(hunks):
        if index and shown < max(shown, start - _CONTEXT):
            yield "        …"
        yield from (f"        {line}" for line in old[max(shown, start - _CONTEXT) : start])
        yield from _pair(old[start:stop], new[begin:end])
        follows = hunks[index + 1][0] if index + 1 < len(hunks) else len(old)
        shown = min(stop + _CONTEXT, follows)
        yield from (f"        {line}" for line in old[stop:shown])


def _hunks(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Give the stretches that differ: from and up to, in the old and in the new lines."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(a) > _COMPARED or len(b) > _COMPARED:
        return [(head, head + len(a), head, head + len(b))]
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    return [
        (head + start, head + stop, head + begin, head + end)
        for tag, start, stop, begin, end in matcher.get_opcodes()
        if tag != "equal"
    ]


def _pair(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    if len(old) == len(new) == 1 and max(len(old[0]), len(new[0])) > _LONG:
        old, new = ([text] for text in _changed_part(old[0], new[0]))
    yield from (f"      - {line}" for line in old)
    yield from (f"      + {line}" for line in new)


def _changed_part(old: str, new: str) -> tuple[str, str]:
    """Cut two long lines to what differs, with some of the text around it."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - head
    tail = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    start, stop = max(0, head - _KEPT), max(0, tail - _KEPT)
    return _cut(old, start, stop), _cut(new, start, stop)


def _cut(text: str, start: int, stop: int) -> str:
    return f"{'…' if start else ''}{text[start : len(text) - stop]}{'…' if stop else ''}"
