"""How many GPUs of a kind one node has: `NAME:N` asks for N on each node, not for N in all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.syntax.grammars import Problem
from npac.syntax.language import MAX_NODES
from npac.syntax.quantities import parse_accelerator
from npac.text.yaml_nodes import Scalar

_FEW = 2
"""No node holds as few of any kind that no node holds more."""


@lru_cache(maxsize=1)
def largest_nodes() -> dict[str, int]:
    """Give the most GPUs of a kind that a node has, by the name in capitals; what is not listed is not known.

    Kinds that are soldered onto boards are as many as the largest board holds, cards as many as the
    largest common server does.
    """
    with open(os.path.join(os.path.dirname(__file__), "gpu_nodes.txt"), encoding="utf-8") as stream:
        pairs = (line.split() for line in stream)
        return {name: int(number) for name, number in pairs}


def too_many(node: Scalar, name: str, number: int) -> Iterator[Diagnostic]:
    """Warn of a request that no node can hold; ``node`` is where it stands."""
    if number <= _FEW:
        return
    most = largest_nodes().get(name.upper())
    if most is None or number <= most:
        return
    message = f"{name}:{number} asks for {number} GPUs on each node, and no known node has more than {most}"
    nodes = -(-number // most)
    if number % most == 0 and nodes <= MAX_NODES:
        help_text = (
            f"for {number} in all write accelerators: {name}:{most} and num_nodes: {nodes}, "
            "for a command that shares its work out (multiNodeMode: sharded)"
        )
    else:
        help_text = f"ask for {most} at most, and for more nodes by num_nodes"
    yield finding("no-such-node", message, node.span, help_text)


def asked_for(node: Scalar, text: str) -> Iterator[Diagnostic]:
    """Warn of an ``accelerators`` of one text that no node can hold."""
    parsed = parse_accelerator(text)
    if not isinstance(parsed, Problem):
        yield from too_many(node, parsed.name, parsed.number)
