"""Walking a program for given decisions, without running anything."""

from __future__ import annotations

from collections.abc import Callable

from npac.ir.program import End, Gate, Node, Program, Wave


def walk(program: Program, decide: Callable[[Gate], str]) -> list[Node]:
    """Give the nodes on the path that ``decide`` chooses, from the entry to the end.

    ``decide`` answers ``promote_checkpoint`` or ``loop_back`` for each gate.
    """
    index = program.index()
    at = program.entry
    path: list[Node] = []
    while True:
        node = index[at]
        path.append(node)
        if isinstance(node, End):
            return path
        if isinstance(node, Wave):
            at = node.next
        else:
            at = node.promote if decide(node) == "promote_checkpoint" else node.loop_back


def assume(assumption: str) -> Callable[[Gate], str]:
    """Answer every gate alike; with an empty assumption, loops run to their bound.

    Without an assumption a gate of transitions answers ``loop_back``.
    """

    def decide(gate: Gate) -> str:
        if assumption:
            return assumption
        return "loop_back" if gate.leaves_on != "loop_back" else "promote_checkpoint"

    return decide
