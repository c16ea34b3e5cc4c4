"""Suggestions for misspelt names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.syntax.nearest import Names, distance, nearest

STATE_KEYS = [
    "description", "needs", "run", "toolRef", "sequence", "parallel", "parallelCount", "maxConcurrency",
    "params", "trigger", "loop", "transitions", "next", "inputs", "outputs", "resources", "multiNodeMode",
    "terminal", "writesDecision", "secrets", "groupRetry",
]  # fmt: skip
TOOLS = ["cosmos.transfer", "cosmos.reason", "lerobot.train", "lerobot.eval", "isaac-lab.train", "rerun.view"]


def plain_distance(left: str, right: str) -> int:
    """The same measure as a full table."""
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) + 1):
        for j in range(len(right) + 1):
            if i == 0 or j == 0:
                table[i][j] = i + j
                continue
            table[i][j] = min(
                table[i - 1][j] + 1,
                table[i][j - 1] + 1,
                table[i - 1][j - 1] + (left[i - 1] != right[j - 1]),
            )
            if i > 1 and j > 1 and left[i - 1] == right[j - 2] and left[i - 2] == right[j - 1]:
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


@pytest.mark.parametrize(
    ("left", "right", "edits"),
    [
        ("", "", 0),
        ("a", "", 1),
        ("config", "confg", 1),
        ("state", "tsate", 1),
        ("loop", "pool", 2),
        ("kitten", "sitting", 3),
    ],
)
def test_distance_counts_edits(left: str, right: str, edits: int) -> None:
    assert distance(left, right, 5) == edits


@given(st.text("abc", max_size=9), st.text("abc", max_size=9), st.integers(0, 4))
@settings(max_examples=500, deadline=None)
def test_distance_equals_the_full_table_up_to_its_limit(left: str, right: str, limit: int) -> None:
    assert distance(left, right, limit) == min(plain_distance(left, right), limit + 1)


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("max_concurrency", "maxConcurrency"),
        ("MaxConcurrency", "maxConcurrency"),
        ("tool-ref", "toolRef"),
        ("toolref", "toolRef"),
        ("need", "needs"),
        ("ouputs", "outputs"),
        ("outptus", "outputs"),
        ("transition", "transitions"),
        ("teminal", "terminal"),
        ("sequnce", "sequence"),
        ("desc", "description"),
        ("resource", "resources"),
        ("nxt", "next"),
        ("writeDecision", "writesDecision"),
    ],
)
def test_misspelt_keys_find_theirs(word: str, first: str) -> None:
    assert nearest(word, STATE_KEYS)[0] == first


@pytest.mark.parametrize(
    "word", ["", "x", "if", "image", "command", "env", "timeout", "retries", "namespace", "foo"]
)
def test_unlike_words_find_nothing(word: str) -> None:
    assert nearest(word, STATE_KEYS) == []


def test_short_words_need_nearly_all_their_letters() -> None:
    assert nearest("usage", ["image"]) == []
    assert nearest("ab", ["ac"]) == []
    assert nearest("run", ["ran", "rerun"]) == ["ran"]


def test_dotted_names_are_found_by_their_tail() -> None:
    assert nearest("transfer", TOOLS) == ["cosmos.transfer"]
    assert nearest("npa.cosmos.reason", TOOLS) == ["cosmos.reason"]
    assert nearest("train", TOOLS) == ["isaac-lab.train", "lerobot.train"]
    assert nearest("cosmos.trasnfer", TOOLS) == ["cosmos.transfer"]


def test_the_best_hides_the_much_worse_and_the_limit_holds() -> None:
    assert nearest("max_polls", ["maxPolls", "maxPoll", "maxPools"]) == ["maxPolls"]
    assert nearest("stage_1", [f"stage_{n}" for n in range(2, 10)], 2) == ["stage_2", "stage_3"]
    assert nearest("stage_1", ["stage_2"], 0) == []


@given(st.lists(st.text("abAB_.", max_size=6), max_size=8), st.text("abAB_.", max_size=6), st.randoms())
@settings(max_examples=200, deadline=None)
def test_the_order_of_candidates_changes_nothing(words: list[str], word: str, random: object) -> None:
    shuffled = list(words)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    found = nearest(word, words)
    assert found == nearest(word, shuffled) == nearest(word, set(words))
    assert len(found) <= 3
    assert set(found) <= set(words)
    if word.strip("_- ") and word in words:
        assert word in nearest(word, words, len(words))


@given(
    st.lists(st.text("abAB_.", max_size=9), max_size=8), st.lists(st.text("abAB_.", max_size=9), max_size=6)
)
@settings(max_examples=200, deadline=None)
def test_names_that_are_kept_answer_as_names_that_are_given(words: list[str], asked: list[str]) -> None:
    names = Names(words)
    for word in (*asked, *asked):
        assert names.nearest(word) == nearest(word, words)


def test_when_the_work_is_used_up_only_the_same_name_is_found() -> None:
    known = [f"stage_{number}" for number in range(100)]
    names = Names(known, work=250)
    assert names.nearest("stagex_1")[:1] == ["stage_1"]
    while names.nearest(f"stagex_{len(known)}"):
        known.append("")
    assert len(known) < 110
    assert names.nearest("Stage-77") == ["stage_77"]
    assert names.nearest("stagex_1")[:1] == []
