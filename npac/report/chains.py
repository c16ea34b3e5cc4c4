"""Paths through a program, asked of networkx: the longest chain, the shortest, the peak that none avoids.

Importing networkx takes a tenth of a second and more; this module is imported where the questions are asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import networkx as nx

from npac.ir.program import Program, Wave, successors

Graph: TypeAlias = "nx.DiGraph[str]"

START = ""
"""Stands before the entry; no node of a program has an empty id."""


def graph_of(program: Program) -> Graph:
    """Give a sound program as a graph of node ids; ``waves`` of an edge is 1 where it leaves a wave.

    The two edges of a gate keep their order, promote first; where both lead to one node, they are one.
    The edge from :data:`START` weighs 1 too, so that nothing is as far from the end as the entry is.
    """
    graph: Graph = nx.DiGraph()
    graph.add_edge(START, program.entry, waves=1)
    graph.add_weighted_edges_from(
        (
            (node.id, follow, int(isinstance(node, Wave)))
            for node in program.nodes
            for follow in successors(node)
        ),
        weight="waves",
    )
    return graph


def longest_chain(program: Program, graph: Graph) -> tuple[str, ...]:
    """Give the ids of the waves on the path with the most of them; of equal ways, the promoted one."""
    # networkx chooses among a node's predecessors, the first of equals.  With the edges turned around,
    # these are the ways that lead on from the node.
    backwards = [*(node.id for node in reversed(program.nodes)), START]
    path = nx.dag_longest_path(graph.reverse(copy=False), weight="waves", topo_order=backwards)
    index = program.index()
    return tuple(at for at in reversed(path) if at != START and isinstance(index[at], Wave))


def shortest_chain(program: Program, graph: Graph) -> int:
    """Give the number of waves on the path with the fewest."""
    lengths = nx.single_source_dijkstra_path_length(graph, program.entry, weight="waves")
    return int(min(length for at, length in lengths.items() if not graph.out_degree(at)))


def least_peak(program: Program, graph: Graph, value: Mapping[str, int]) -> int:
    """Give the largest ``value`` on the path where that is smallest; a node without one counts 0."""
    # networkx adds up what stands along a path; of paths by their largest, the best follows from those
    # of the nodes after, from the ends to the entry.
    least: dict[str, int] = {}
    for node in reversed(program.nodes):
        after = min((least[follow] for follow in graph.successors(node.id)), default=0)
        least[node.id] = max(value.get(node.id, 0), after)
    return least[program.entry]
