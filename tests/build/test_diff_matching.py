"""Which node is which: names that changed, places that others took, nodes whose digits changed."""

from __future__ import annotations

from dataclasses import replace

from npac.build.diff import Change, diff_programs
from npac.build.diff_matching import align, origins
from npac.build.diff_order import order_changes, rounds
from npac.build.diff_text import render
from npac.ir.program import End, Gate, Member, Program, Step, Wave
from tests.ir.programs import chain

A, B, C = (Step(name, argv=("run", name)) for name in "abc")


def _wave(id: str, number: int, step: int, next: str, **loops: int) -> Wave:
    return Wave(id, number, (Member(step),), ((0,),), next, loops=loops)


def _copies(digits: tuple[str, str], command: str = "publish") -> Program:
    """Two rounds of a loop, each with a way out to a copy of publish of its own."""
    gates = tuple(
        Gate(
            f"l[{at}]@until", "l", "until", f"s3://b/{at}", f"publish~{digits[at - 1]}", back, loops={"l": at}
        )
        for at, back in ((1, "l[2]/train"), (2, f"publish~{digits[1]}"))
    )
    return Program(
        "w",
        "l[1]/train",
        (Step("train", argv=("t",)), *(Step("publish", argv=(command, str(at))) for at in (1, 2))),
        (
            _wave("l[1]/train", 1, 0, "l[1]@until", l=1),
            gates[0],
            _wave("l[2]/train", 2, 0, "l[2]@until", l=2),
            gates[1],
            _wave(f"publish~{digits[0]}", 3, 1, "end"),
            _wave(f"publish~{digits[1]}", 4, 2, "end"),
            End("end"),
        ),
    )


def test_two_states_that_do_the_same_are_paired_in_their_order() -> None:
    same = [Step(name, argv=("x",)) for name in "abcd"]
    found = diff_programs(chain(*same[:2]), chain(*same[2:]))
    assert [(c.kind, c.before, c.after) for c in found] == [("renamed", "a", "c"), ("renamed", "b", "d")]


def test_a_renamed_state_that_also_moved_is_told_as_both() -> None:
    found = diff_programs(chain(A, B, C), chain(B, C, replace(A, state="z")))
    assert found[0] == Change("renamed", "", "name", "a", "z")
    assert ("order", "a, b, c".replace("a", "z"), "b, c, z") in [(c.aspect, c.before, c.after) for c in found]


def test_a_state_that_took_another_place_is_not_called_renamed() -> None:
    other = Step("z", argv=("other",), image="i:1")
    found = diff_programs(chain(A, B, C), chain(A, other, C))
    assert [(c.kind, c.node, c.aspect) for c in found] == [
        ("replaced", "", "name"),
        ("changed", "z", "command"),
        ("changed", "z", "image"),
    ]
    assert render(found).splitlines()[0] == "~ z stands in the place of b; what differs:"


def test_a_state_that_went_and_one_that_came_elsewhere_are_just_that() -> None:
    other = Step("z", argv=("other",))
    kinds = [(c.kind, c.node) for c in diff_programs(chain(A, B, C), chain(A, C, other))]
    assert kinds[:2] == [("removed", "b"), ("added", "z")]


def test_copies_are_known_by_the_iterations_that_lead_to_them() -> None:
    program = _copies(("aaaaaaaa", "bbbbbbbb"))
    assert origins(program) == {"publish~aaaaaaaa": "after l[1]", "publish~bbbbbbbb": "after l[2]"}


def test_other_digits_alone_are_no_other_node() -> None:
    old, new = _copies(("bbbbbbbb", "aaaaaaaa")), _copies(("00000000", "11111111"), "release")
    aligned = align(old, new)
    assert aligned.ids == {"publish~bbbbbbbb": "publish~00000000", "publish~aaaaaaaa": "publish~11111111"}
    assert render(diff_programs(old, new)).splitlines() == [
        "~ publish~00000000 … publish~11111111, after l[1..2]  (2 nodes, alike but for their iteration)",
        "    command",
        "      - publish",
        "      + release",
        "        1",
    ]


def test_digits_that_changed_with_nothing_else_are_told() -> None:
    (change,) = diff_programs(_copies(("aaaaaaaa", "bbbbbbbb")), _copies(("00000000", "11111111")))
    assert (change.kind, change.aspect) == ("changed", "names of nodes")
    assert change.after.splitlines() == ["publish~00000000", "publish~11111111"]


def test_rounds_are_counted_by_loop() -> None:
    waves = [_wave(f"o[{o}]/i[{i}]/a", 1, 0, "end", o=o, i=i) for o in (1, 2) for i in (1, 2, 3)]
    assert rounds(Program("w", "o[1]/i[1]/a", (A,), (*waves, End("end")))) == {
        "rounds of o": "2",
        "rounds of o/i": "3",
    }


def test_states_on_two_branches_have_no_order() -> None:
    def fork(first: str, second: str) -> Program:
        steps = {"a": 0, "b": 1}
        waves = [_wave(name, at, steps[name], "end") for at, name in enumerate((first, second), 1)]
        return Program(
            "w", "g", (A, B), (Gate("g", "g", "transitions", "s3://b/d", "a", "b"), *waves, End("end"))
        )

    assert list(order_changes(fork("a", "b"), fork("b", "a"))) == []
    assert list(order_changes(chain(A, B), chain(B, A))) == [("", ["a", "b"], ["b", "a"])]
