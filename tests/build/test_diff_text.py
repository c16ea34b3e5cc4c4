from __future__ import annotations

from npac.build.diff import Change
from npac.build.diff_text import render


def _changed(node: str, before: str, after: str, aspect: str = "command") -> Change:
    return Change("changed", node, aspect, before, after)


def test_no_changes_are_no_text() -> None:
    assert render([]) == ""


def test_a_changed_word_is_shown_with_its_neighbours_and_nothing_else() -> None:
    words = ["python", "train.py", "--seed", "1", "--lr", "0.1", "--steps", "10"]
    other = [*words]
    other[5] = "0.2"
    assert render([_changed("train", "\n".join(words), "\n".join(other))]).splitlines() == [
        "~ train",
        "    command",
        "        --lr",
        "      - 0.1",
        "      + 0.2",
        "        --steps",
    ]


def test_changes_far_apart_are_parted() -> None:
    before = [f"line {number}" for number in range(10)]
    after = ["first", *before[1:9], "last"]
    assert render([_changed("a", "\n".join(before), "\n".join(after))]).splitlines() == [
        "~ a",
        "    command",
        "      - line 0",
        "      + first",
        "        line 1",
        "        …",
        "        line 8",
        "      - line 9",
        "      + last",
    ]


def test_changes_side_by_side_show_no_line_twice() -> None:
    text = render([_changed("a", "1\n2\n3", "one\n2\nthree")])
    assert text.splitlines()[2:] == ["      - 1", "      + one", "        2", "      - 3", "      + three"]


def test_a_long_line_is_cut_to_its_changed_part() -> None:
    before, after = "a" * 500 + " 0.9 " + "b" * 500, "a" * 500 + " 0.95 " + "b" * 500
    lines = render([_changed("a", before, after)]).splitlines()
    assert lines[2:] == [
        f"      - …{'a' * 26} 0.9{' '}{'b' * 29}…",
        f"      + …{'a' * 26} 0.95{' '}{'b' * 29}…",
    ]


def test_iterations_that_change_alike_are_told_once() -> None:
    changes = [
        _changed(f"loop[{at}]/train", f"--round\n{at}\n--lr\n0.1", f"--round\n{at}\n--lr\n0.2")
        for at in range(1, 21)
    ]
    assert render(changes).splitlines() == [
        "~ loop[1..20]/train  (20 nodes)",
        "    command",
        "        --lr",
        "      - 0.1",
        "      + 0.2",
    ]


def test_iterations_that_differ_only_by_their_number_are_told_once() -> None:
    changes = [_changed(f"l[{at}]/j", f"judge {at} 0.9", f"judge {at} 0.95") for at in range(1, 12)]
    assert render(changes).splitlines()[0] == "~ l[1..11]/j  (11 nodes, alike but for their iteration)"
    assert "judge 1 0.95" in render(changes)


def test_a_branch_back_is_like_another_when_both_name_the_next_iteration() -> None:
    changes = [_changed(f"l[{at}]@until", "", f"loop_back -> l[{at + 1}]/a", "edges") for at in range(1, 5)]
    assert len(render(changes).splitlines()) == 3


def test_what_differs_is_never_folded() -> None:
    changes = [_changed("l[1]/a", "x 1", "x 7"), _changed("l[2]/a", "x 2", "x 8")]
    assert [line for line in render(changes).splitlines() if line.startswith("~")] == [
        "~ l[1]/a",
        "~ l[2]/a",
    ]


def test_iterations_with_a_gap_name_the_first_and_the_last() -> None:
    changes = [Change("added", f"l[{at}]/a", after="wave: a") for at in (1, 2, 5)]
    assert render(changes) == "+ l[1]/a … l[5]/a  wave: a  (3 nodes)\n"


def test_nested_loops_vary_in_one_number_or_name_both_ends() -> None:
    inner = [Change("removed", f"o[3]/i[{at}]/a", before="wave: a") for at in (1, 2, 3)]
    assert render(inner) == "- o[3]/i[1..3]/a  wave: a  (3 nodes)\n"
    both = [Change("removed", f"o[{o}]/i[{i}]/a", before="wave: a") for o in (1, 2) for i in (1, 2)]
    assert render(both) == "- o[1]/i[1]/a … o[2]/i[2]/a  wave: a  (4 nodes)\n"


def test_members_of_a_group_stay_apart() -> None:
    changes = [Change("changed", "fan", "image", "a", "b", state) for state in ("one", "two")]
    assert [line for line in render(changes).splitlines() if line.startswith("~")] == [
        "~ fan member one",
        "~ fan member two",
    ]


def test_a_very_long_text_is_compared_from_both_ends() -> None:
    before = [f"line {number}" for number in range(5_000)]
    after = [line if number % 2 else f"{line} new" for number, line in enumerate(before)]
    lines = render([_changed("a", "\n".join(before), "\n".join(after))]).splitlines()
    assert lines[2] == "      - line 0" and lines[-1] == "        line 4999"


def test_numbers_that_are_no_iterations_fold_nothing_apart() -> None:
    changes = [_changed(f"l[{at}]/a", "A100:2", "H100:8", "accelerators") for at in range(1, 4)]
    assert render(changes).splitlines()[0] == "~ l[1..3]/a  (3 nodes)"


def test_what_changed_alike_in_several_states_is_told_once() -> None:
    changes = [_changed(name, "x:1", "x:2", "image") for name in ("a", "l[1]/b", "l[2]/b")]
    assert render(changes).splitlines() == [
        "~ a", "~ l[1..2]/b  (2 nodes)", "    image", "      - x:1", "      + x:2",
    ]  # fmt: skip


def test_numbers_of_waves_are_one_line() -> None:
    changes = [_changed(name, "1", "2", "number") for name in "abcde"]
    assert render(changes) == (
        "~ numbers of waves, in the names of their files and jobs: a 1 -> 2, b 1 -> 2, c 1 -> 2, and 2 more\n"
    )


def test_a_long_text_of_what_came_is_cut() -> None:
    lines = render([Change("added", "a", after="wave: a\n" + "\n".join(f"line {n}" for n in range(500)))])
    assert lines.splitlines()[0] == "+ a  wave: a"
    assert lines.splitlines()[-1] == "        … and 440 lines more"
