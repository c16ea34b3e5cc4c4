"""One finding for what several states share: a text behind an anchor is read for each of them.

A rule looks at every state by itself and says of each what is wrong.  Where states share a text by an
alias or a merge key, all of that stands at one place and has one remedy.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

from npac.diagnostics.diagnostic import Diagnostic

_QUOTED = r"(?<![A-Za-z0-9])'([^'\n]*)'"
_MOST = 5
"""States that are named beside the one that a finding speaks of."""


class _Group:
    """Findings that are one: the place of the first in the list, and the states that all of them name."""

    __slots__ = ("names", "place")

    def __init__(self, place: int, names: Sequence[str]) -> None:
        self.place = place
        self.names = dict.fromkeys(names)


def put_together(states: Container[str], findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Give findings that say the same of different states at one place as one, which names the states.

    The first of each kind stays where it is.  What messages quote besides names may differ, as values do
    that states give by their params; then none of the states may be named by two of them, so that two
    faults of one state stay two.  ``states`` are the names of the spec's states.
    """
    exact: dict[object, _Group] = {}
    alike: dict[object, list[_Group]] = {}
    kept: list[Diagnostic] = []
    for item in findings:
        names = [name for name in re.findall(_QUOTED, item.message) if name in states]
        words = re.sub(_QUOTED, lambda match: "''" if match[1] in states else match[0], item.message)
        kind = (item.code.id, item.severity, item.span, words)
        group = exact.get(kind)
        if group is None or not names:
            exact[kind] = group = _Group(len(kept), names)
            alike.setdefault((*kind[:3], re.sub(_QUOTED, "", words)), []).append(group)
            kept.append(item)
        else:
            group.names.update(dict.fromkeys(names))
    gone: set[int] = set()
    for groups in alike.values():
        first = groups[0]
        for group in groups[1:] if first.names else ():
            if group.names and first.names.keys().isdisjoint(group.names):
                first.names.update(group.names)
                gone.add(group.place)
    for groups in alike.values():
        for group in groups:
            item = kept[group.place]
            added = [name for name in group.names if f"'{name}'" not in item.message]
            if added:
                message = f"{item.message}; the same holds for {listed(added)}"
                kept[group.place] = item._replace(message=message)
    return [item for place, item in enumerate(kept) if place not in gone]


def listed(names: Sequence[str]) -> str:
    """Give names for a message, of many the first ones and how many more there are."""
    shown = names if len(names) <= _MOST + 1 else names[:_MOST]
    quoted = [repr(name) for name in shown]
    last = f"{len(names) - _MOST:,} more" if len(shown) < len(names) else quoted.pop()
    return f"{', '.join(quoted)} and {last}" if quoted else last
