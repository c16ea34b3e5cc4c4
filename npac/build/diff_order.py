"""In which order things run, and how often: what the nodes of two programs only say taken together."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from npac.build.diff_matching import stem
from npac.ir.program import End, Node, Program, successors

_LOOP = re.compile(r"\[([0-9]+)\]")
_TRIED = 8
"""Pairs of each sequence for which it is looked whether their order really changed."""


def rounds(program: Program) -> dict[str, str]:
    """Give the number of rounds of each loop, by ``rounds of NAME``."""
    found: dict[str, int] = {}
    for node in program.nodes:
        for loop in _LOOP.finditer(node.id):
            name = stem(node.id[: loop.start()])
            found[name] = max(found.get(name, 0), int(loop[1]))
    return {f"rounds of {name}": str(number) for name, number in found.items()}


def order_changes(a: Program, b: Program) -> Iterator[tuple[str, list[str], list[str]]]:
    """Give each sequence whose states run in another order: its name (empty for the whole), before, after.

    The order of states that no path runs both of is no order of running, and not told.
    """
    mine, theirs = _sequences(a), _sequences(b)
    for name, before in mine.items():
        after = theirs.get(name, {})
        place = {child: at for at, child in enumerate(after)}
        common = [child for child in before if child in place]
        turned = [(x, y) for x, y in pairwise(common) if place[x] > place[y]]
        for x, y in turned[:_TRIED]:
            if _reaches(a, before[x], before[y]) and _reaches(b, after[y], after[x]):
                kept = set(common)
                yield name, common, [child for child in after if child in kept]
                break


def _sequences(program: Program) -> dict[str, dict[str, str]]:
    """Give, by the path of a group, its children in order, each with the first node of it."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for node in program.nodes:
        if isinstance(node, End):
            continue
        path, at, _ = stem(node.id).partition("@")
        parts = path.split("/")
        # The gate behind a loop stands where the loop stands, and not among its states.
        for depth in range(len(parts) - (1 if at else 0)):
            found["/".join(parts[:depth])].setdefault(parts[depth], node.id)
    return found


def _reaches(program: Program, start: str, goal: str) -> bool:
    nodes = program.index()
    seen: set[str] = set()
    stack: list[str] = [start]
    while stack:
        id = stack.pop()
        if id == goal:
            return True
        if id not in seen:
            seen.add(id)
            node: Node = nodes[id]
            stack += successors(node)
    return False
