"""The page about reliability names tests and modules that exist, and every promise has both."""

from __future__ import annotations

import ast
import re

import pytest

from tests.docs.pages import REPOSITORY

PAGE = (REPOSITORY / "docs/reliability.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)))
MODULES = sorted(set(re.findall(r"`(npac/[\w/.]+)`", PAGE)))


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_each_test_that_is_named_exists(file: str) -> None:
    tree = ast.parse((REPOSITORY / "tests" / file).read_text(encoding="utf-8"))
    there = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert {name for of, name in NAMED if of == file} - there == set()


def test_each_module_that_is_named_exists() -> None:
    assert MODULES and [name for name in MODULES if not (REPOSITORY / name).exists()] == []


def test_every_promise_says_by_what_and_shown_by_what() -> None:
    promises = re.split(r"^(?=\*\*)", PAGE.partition("\n## Launching")[2], flags=re.MULTILINE)[1:]
    assert len(promises) > 25
    for promise in promises:
        assert "\n- By: `npac/" in promise or "\n- By: the unique" in promise, promise[:80]
        assert re.search(r"\n- Shown by: `[\w/]+\.py::", promise), promise[:80]


def test_the_promises_that_a_user_may_ask_for_by_name_are_all_there() -> None:
    headed = set(re.findall(r"\b(G\d|T\d+a?)\b", " ".join(re.findall(r"^\*\*(.*?)\*\*", PAGE, re.M | re.S))))
    assert {"G1", "G2", "G3", "G4"} <= headed
    assert {
        f"T{number}" for number in (5, 10, 11, 12, 13, 14, 15, 30, 31, 32, 33, 34, 35, 37, 38, 39)
    } <= headed
    assert {"T35a", "T50", "T51", "T52", "T53", "T60"} <= headed
    assert "reliability.md" in (REPOSITORY / "docs/index.md").read_text(encoding="utf-8")
