"""How states contain one another, asked in any order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npac.flow.structure import Structure
from tests.rules.specs import checked


def structure(members: dict[str, list[str]], loops: set[str]) -> tuple[Structure, object]:
    names = dict.fromkeys([*members, *(child for children in members.values() for child in children)])
    lines = []
    for name in names:
        inner = members.get(name)
        loop = ", loop: {max: 2}" if name in loops else ""
        work = f"sequence: [{', '.join(inner)}]" if inner else "run: {argv: [x]}"
        lines.append(f"  {name}: {{{work}{loop}}}\n")
    unit = checked("states:\n" + "".join(lines)).unit
    assert unit is not None and unit.flow is not None
    return unit.flow.structure, unit.flow.spec


@given(st.lists(st.integers(0, 20), min_size=1, max_size=12), st.sets(st.integers(0, 12)), st.randoms())
def test_containment_agrees_with_the_chain_of_parents(
    parents: list[int], loops: set[int], random: object
) -> None:
    members: dict[str, list[str]] = {"s0": []}
    for at, parent in enumerate(parents, 1):
        members.setdefault(f"s{at}", [])
        members[f"s{parent % at}"].append(f"s{at}")
    found, spec = structure(members, {f"s{at}" for at in loops})
    names = list(members)
    random.shuffle(names)  # type: ignore[attr-defined]
    for name in names:
        above = found.ancestors(name)
        looped = [group for group in above if int(group[1:]) in loops]
        assert found.outermost(name) == (above[0] if above else name)
        assert found.enclosing_loops(spec, name) == tuple(looped)  # type: ignore[arg-type]
        assert found.loop_around(spec, name) == (looped[-1] if looped else None)  # type: ignore[arg-type]
        assert {group for group in members if found.encloses(group, name)} == set(above)
        group = found.parent.get(name)
        beside: list[str | None] = [*members[group], None] if group is not None else [name, None]
        assert found.after(name) == beside[beside.index(name) + 1]


def test_rings_of_groups_are_found_whatever_their_size() -> None:
    count = 3_000
    found = checked(
        "states:\n" + "".join(f"  s{at}: {{sequence: [s{(at + 1) % count}]}}\n" for at in range(count))
    )
    assert found.unit is not None and found.unit.flow is not None
    (ring,) = found.unit.flow.structure.cycles
    assert sorted(ring) == sorted(f"s{at}" for at in range(count))
    shape = found.unit.flow.structure
    assert shape.closing == {("s2999", "s0")} and shape.members["s2999"] == ()
    assert shape.encloses("s0", "s1") is True and shape.encloses("s2999", "s0") is False


@given(
    st.dictionaries(
        st.integers(0, 7), st.lists(st.integers(0, 7), min_size=1, max_size=4), min_size=1, max_size=8
    )
)
def test_whatever_contains_what_the_parents_form_no_ring(members: dict[int, list[int]]) -> None:
    found, _ = structure({f"s{at}": [f"s{child}" for child in inner] for at, inner in members.items()}, set())
    assert isinstance(found, Structure)
    for name in found.parent:
        assert name not in found.ancestors(name)
        assert name in found.members[found.parent[name]]
    inside = [name for inner in found.members.values() for name in inner]
    assert sorted(inside) == sorted(found.parent)
    graph = {at: {child for child in inner if child in members} for at, inner in members.items()}
    reach = {at: set(inner) for at, inner in graph.items()}
    for _ in members:
        reach = {at: inner.union(*(reach[child] for child in inner)) for at, inner in reach.items()}
    assert bool(found.cycles) == any(at in inner for at, inner in reach.items())
