"""Circles: none where there is none, at least one where there is any, and no two with a name in common."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from npac.flow.circles import circles

_NAMES = "abcdefg"
_GRAPHS = st.fixed_dictionaries({name: st.lists(st.sampled_from(_NAMES), max_size=3) for name in _NAMES})


@given(_GRAPHS)
def test_what_is_found_are_circles_and_none_is_missed_altogether(graph: dict[str, list[str]]) -> None:
    found = circles(_NAMES, graph.__getitem__)
    for circle in found:
        assert circle[0] == circle[-1] and len(set(circle)) == len(circle) - 1
        assert all(after in graph[before] for before, after in pairwise(circle))
    names = [name for circle in found for name in circle[:-1]]
    assert len(names) == len(set(names))
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        assert found
    else:
        assert not found


def test_a_long_chain_needs_no_deep_stack() -> None:
    count = 50_000
    names = [str(number) for number in range(count)]
    (circle,) = circles(names, lambda name: [str((int(name) + 1) % count)])
    assert len(circle) == count + 1


def test_many_ways_back_to_one_name_are_told_once() -> None:
    names = [str(number) for number in range(2_000)]

    def follow(name: str) -> list[str]:
        after = int(name) + 1
        return ["0", *([str(after)] if after < len(names) else [])]

    assert circles(names, follow) == [("0", "0")]
