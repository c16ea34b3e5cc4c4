"""Differences between two programs as text for people: a block for each node, likes told once.

A loop makes a node for each iteration, and a change of its body changes every one of them alike; a change
of a profile or a config value changes many states alike.  Blocks that say the same, and blocks that say the
same but for their iteration, are folded into one; inside a block only the lines that changed are shown, each
with a neighbour, and of long lines only the part that differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby

from npac.build.diff import ADDED, NUMBER, REMOVED, RENAMED, REPLACED, Change
from npac.build.diff_likeness import Block, families, family_name, says_the_same

_CONTEXT = 1
"""Unchanged lines shown before and after changed ones."""
_LONG = 120
"""Characters from which on a changed line is cut to its changed part."""
_KEPT = 30
"""Characters kept around the changed part of a long line."""
_COMPARED = 2_000
"""Lines up to which two texts are aligned; longer ones are compared from both ends."""
_WHOLE = 60
"""Lines that are shown of what a node does that came or went."""
_NUMBERS = 3
"""Waves named of those that only got another number."""


def render(changes: Sequence[Change]) -> str:
    """Give ``changes`` as text, a block for each node or family of like nodes; empty for none."""
    told = [change for change in changes if change.aspect != NUMBER]
    alike: dict[object, list[list[Block]]] = {}
    for family in families(list(_blocks(told))):
        # What is the same for several nodes, word for word, stands once below all their names.
        key: object = id(family)
        if family[0].mark == "~" and family[0].node and says_the_same(family):
            key = family[0].lines
        alike.setdefault(key, []).append(family)
    lines: list[str] = []
    for together in alike.values():
        lines += (_head(family) for family in together)
        lines += together[0][0].lines
    lines += _numbers([change for change in changes if change.aspect == NUMBER])
    return "".join(f"{line}\n" for line in lines)


def _blocks(changes: Sequence[Change]) -> Iterator[Block]:
    """Gather what changed about one node (or about one member of its group) in its order."""
    for (kind, node, member), group in groupby(changes, lambda item: (item.kind, item.node, item.state)):
        items = list(group)
        where = items[0].where
        if kind == RENAMED:
            yield from (Block("~", "", title=f"{item.before} is called {item.after} now") for item in items)
        elif kind == REPLACED:
            for item in items:
                yield Block(
                    "~", "", title=f"{item.after} stands in the place of {item.before}; what differs:"
                )
        elif kind in (REMOVED, ADDED):
            mark = "-" if kind == REMOVED else "+"
            for item in items:
                head, *rest = (item.before or item.after).splitlines() or [""]
                yield Block(mark, node, head, member, where, tuple(_whole(mark, rest)))
        else:
            found = (line for item in items for line in (f"    {item.aspect}", *_difference(item)))
            yield Block("~", node, "" if node else "program", member, where, tuple(found))


def _whole(mark: str, lines: Sequence[str]) -> Iterator[str]:
    yield from (f"      {mark} {line}" for line in lines[:_WHOLE])
    if len(lines) > _WHOLE:
        yield f"        … and {len(lines) - _WHOLE} lines more"


def _head(family: Sequence[Block]) -> str:
    first = family[0]
    name = family_name(family)
    member = f" member {first.member}" if first.member else ""
    # "member" says it already
    title = first.title if not first.member else ""
    alike = ""
    if len(family) > 1:
        same = says_the_same(family)
        alike = f"({len(family)} nodes{'' if same else ', alike but for their iteration'})"
    return f"{first.mark} " + "  ".join(part for part in (f"{name}{member}", title, alike) if part)


def _numbers(changes: Sequence[Change]) -> Iterator[str]:
    """Say which waves only have another number: it is in the names of files and jobs, and changes no work."""
    if changes:
        shown = ", ".join(f"{each.node} {each.before} -> {each.after}" for each in changes[:_NUMBERS])
        more = f", and {len(changes) - _NUMBERS} more" if len(changes) > _NUMBERS else ""
        yield f"~ numbers of waves, in the names of their files and jobs: {shown}{more}"


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
