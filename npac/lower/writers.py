"""Which states may have written the decision that a gate reads: a forward pass over the program."""

from __future__ import annotations

from dataclasses import replace

from npac.ir.program import Gate, Node, Step, Wave, successors
from npac.ir.values import Value


def with_writers(nodes: list[Node], steps: list[Step]) -> list[Node]:
    """Fill in :attr:`Gate.writers`: the last writers of the gate's URI on each path to it."""
    # by URI, the place of the last gate that reads it: behind that, nobody asks who wrote it
    wanted = {node.uri: index for index, node in enumerate(nodes) if isinstance(node, Gate)}
    if not wanted:
        return nodes
    place = {node.id: index for index, node in enumerate(nodes)}
    known: list[dict[Value, frozenset[str]]] = [{} for _ in nodes]
    reached = [False] * len(nodes)
    own = [False] * len(nodes)  # whether a node's table is shared with no other
    result: list[Node] = []
    for index, node in enumerate(nodes):
        here = known[index]
        if isinstance(node, Gate):
            node = replace(node, writers=tuple(sorted(here.get(node.uri, frozenset()))))
        elif isinstance(node, Wave):
            written: dict[Value, frozenset[str]] = {}
            for member in node.members:
                step = steps[member.step]
                if step.writes_decision and step.decision_uri in wanted:
                    written[step.decision_uri] = written.get(step.decision_uri, frozenset()) | {step.state}
            if written:
                here = {uri: names for uri, names in here.items() if wanted[uri] > index} | written
        result.append(node)
        for follow in successors(node):
            at = place[follow]
            if not reached[at]:
                known[at], reached[at] = here, True
            elif known[at] is not here:
                if not own[at]:
                    known[at] = {uri: names for uri, names in known[at].items() if wanted[uri] >= at}
                    own[at] = True
                joined = known[at]
                for uri, names in here.items():
                    if wanted[uri] >= at:
                        joined[uri] = joined.get(uri, frozenset()) | names
        known[index] = {}
    return result
