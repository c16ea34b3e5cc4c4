from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.backends.skypilot.documents import unlinked
from npac.backends.skypilot.names import member_name, task_name
from npac.ir.program import Step
from tests.ir.programs import chain, group

TASK = re.compile(r"[a-zA-Z0-9]+(?:[._-]{1,2}[a-zA-Z0-9]+)*")
"""What SkyPilot demands of every task."""
MEMBER = re.compile(r"[a-zA-Z0-9_-]+")
"""What it demands besides inside a JobGroup."""
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}", fullmatch=True).filter(
    lambda name: name not in (".", "..")
)


@given(NAMES)
def test_every_name_becomes_one_that_skypilot_takes(name: str) -> None:
    assert TASK.fullmatch(task_name(name))
    assert TASK.fullmatch(member_name(name)) and MEMBER.fullmatch(member_name(name))
    if TASK.fullmatch(name):
        assert task_name(name) == name
        assert "." in name or member_name(name) == name


@given(st.lists(NAMES, min_size=2, max_size=8, unique=True))
def test_names_that_differ_still_do(names: list[str]) -> None:
    assert len({task_name(name) for name in names}) == len(names)
    assert len({member_name(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("name", "task", "member"),
    [
        ("train", "train", "train"),
        ("a.b", "a.b", "a-b-2e7336dc"),
        ("a-", "a-9baf4407", "a-9baf4407"),
        ("a...b", "a..b-eaf7617e", "a--b-eaf7617e"),
        ("x" * 96, "x" * 96, "x" * 96),
    ],
)
def test_names_are_mended_like_this(name: str, task: str, member: str) -> None:
    assert (task_name(name), member_name(name)) == (task, member)


def test_documents_have_these_names_and_tasks_know_their_states() -> None:
    program = chain(Step("a...b", argv=("x",)))
    (task,) = unlinked(program, program.waves()[0], 0)
    assert task["name"] == "a..b-eaf7617e" and task["envs"]["NPA_WORKFLOW_STATE"] == "a...b"
    program = group(
        Step("a.b", argv=("x",)), Step("c", argv=("x",)), Step("d.e", argv=("x",)), size=2, name="f.g"
    )
    header, first, second = unlinked(program, program.waves()[0], 0)
    assert header == {"name": member_name("f.g"), "execution": "parallel"}
    assert [first["name"], second["name"]] == ["a-b-2e7336dc", "c"]
    # A batch of one is a plain task.
    (alone,) = unlinked(program, program.waves()[0], 1)
    assert alone["name"] == "d.e"
