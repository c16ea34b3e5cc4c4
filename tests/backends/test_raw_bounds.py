"""Raw SkyPilot YAML from a hostile author: every size is bounded, and all problems are said at once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from npac.backends.skypilot import raw
from npac.backends.skypilot.raw import program_from_yaml
from npac.backends.skypilot.raw_faults import RawError
from npac.ir.canonical import digest
from npac.ir.verifier import MAX_NODES, verify


def refused(text: str) -> RawError:
    with pytest.raises(RawError) as caught:
        program_from_yaml(text, "file")
    return caught.value


def task(text: str) -> dict[str, Any]:
    raw_task: dict[str, Any] = program_from_yaml(text, "file").steps[0].raw
    return raw_task


def test_nodes_are_bounded_as_in_specs_and_the_message_names_task_value_and_bound() -> None:
    fits = program_from_yaml(f"name: a\nrun: x\nnum_nodes: {MAX_NODES}\n", "f")
    assert fits.steps[0].num_nodes == MAX_NODES == 32 and verify(fits) == []
    for count in ("33", "999999"):
        error = refused(f"name: train\nrun: x\nnum_nodes: {count}\n")
        assert error.problems == (
            f"document 1 (task 'train'): num_nodes is {count}; a task takes 1 to 32 nodes",
        )
    second = refused("name: line\n---\nname: a\nrun: x\n---\nname: b\nrun: x\nnum_nodes: 64\n")
    assert second.problems == ("document 3 (task 'b'): num_nodes is 64; a task takes 1 to 32 nodes",)


@pytest.mark.parametrize("value", ["0", "-1", "2.0", '"4"', "true", "[4]", "0x" + "f" * 20_000])
def test_a_number_of_nodes_that_is_none_is_refused(value: str) -> None:
    error = refused(f"run: x\nnum_nodes: {value}\n")
    assert len(error.problems) == 1 and "num_nodes is " in str(error) and " 32" in str(error)
    assert len(str(error)) < 200


def test_all_problems_are_said_at_once_each_with_its_task_and_place() -> None:
    text = (
        "name: ../line\nexecution: sideways\n---\n"
        "name: a\nrun: [x]\nsetup: 5\nnum_nodes: 99\nresources: {disk: [1, {at: 2026-08-22}]}\n"
        "envs: {A: null, B-C: 1}\nsecrets: {T: hunter2}\n---\n"
        "- not a task\n---\n"
        "name: b\nfile_mounts: x\nenvs: 3\nworkdir: 7\nconfig: {k: .nan, big: 99999999999999999999}\n"
    )
    error = refused(text)
    assert error.more == 0
    assert error.problems == (
        "execution: 'sideways' does not exist; write serial or parallel",
        "document 1: the name '../line' is not allowed; use letters, digits, '.', '_' and '-', "
        "at most 96, the first a letter or a digit",
        "document 2 (task 'a'): run must be text",
        "document 2 (task 'a'): setup must be text",
        "document 2 (task 'a'): resources.disk[1].at holds a date (2026-08-22); quote it",
        "document 2 (task 'a'): A has no value; give it one, or name it under secrets",
        "document 2 (task 'a'): 'B-C' is not the name of an environment variable",
        "document 2 (task 'a'): num_nodes is 99; a task takes 1 to 32 nodes",
        "document 2 (task 'a'): the secret T has a value; leave it empty and use --secret-env T",
        "document 3 is list; a SkyPilot task is a mapping",
        "document 4 (task 'b'): file_mounts must be a mapping",
        "document 4 (task 'b'): workdir must be text or a mapping",
        "document 4 (task 'b'): config.k is nan, which is no number; quote it",
        "document 4 (task 'b'): config.big is a number too large to be kept exactly; quote it",
        "document 4 (task 'b'): envs must be a mapping",
    )
    assert str(error).startswith("15 problems: execution: ")
    assert "hunter2" not in str(error)


def test_the_problems_of_a_job_group_are_said_with_those_of_its_tasks() -> None:
    error = refused("name: end\nexecution: parallel\n---\nname: a\nrun: x\n---\nname: a\nrun: 1\n")
    assert error.problems == (
        "document 3 (task 'a'): run must be text",
        "the job group is called 'end', which npac uses itself; rename it",
        "two tasks of the job group are called 'a'; give each its own name",
    )


def test_the_list_of_problems_is_bounded_and_so_is_each() -> None:
    error = refused("run: x\nenvs:\n" + "".join(f"  A{at}: null\n" for at in range(5000)))
    assert (len(error.problems), error.more) == (raw.MAX_PROBLEMS, 5000 - raw.MAX_PROBLEMS)
    assert str(error).startswith("5000 problems: ") and str(error).endswith("; and 4968 more")
    deep = "".join(f"{' ' * at}{'k' * 900}:\n" for at in range(30)) + " " * 30 + "a: 2026-08-22\n"
    long = refused("run: x\nconfig:\n" + "".join(f" {line}\n" for line in deep.splitlines()))
    assert "holds a date" in str(long) and len(str(long)) < 700
    for text in (f"name: {'n' * 100_000}\nrun: x\n", f"run: x\nenvs: {{{'-' * 100_000}: 1}}\n"):
        assert len(str(refused(text))) < 400


def test_a_file_of_too_many_tasks_or_values_is_refused_quickly() -> None:
    before = time.process_time()
    tasks = "name: line\n" + "---\nrun: x\n" * (raw.MAX_TASKS + 1)
    assert "1001 tasks; npac runs at most 1000" in str(refused(tasks))
    assert "5000 tasks; npac runs at most 1000" in str(refused("---\nrun: x\n" * 5000))
    assert "more than 200000 values" in str(refused("run: x\nconfig: [" + "[]," * 2_000_000 + "]\n"))
    assert time.process_time() - before < 10


def test_as_many_tasks_as_are_allowed_make_a_sound_program() -> None:
    program = program_from_yaml("name: line\n" + "---\nname: a\nrun: x\n" * raw.MAX_TASKS, "f")
    assert len(program.steps) == raw.MAX_TASKS and verify(program) == []


def test_variables_are_bounded_by_what_a_process_can_be_given() -> None:
    assert refused(f"run: x\nenvs: {{A: '{'v' * 140_000}'}}\n").problems == (
        "document 1: the value of A makes 140002 bytes with its name; a process takes at most 131071 in one "
        "variable; put the value into a file",
    )
    # Bytes count, not characters.
    assert "makes 140002 bytes" in str(refused(f"run: x\nenvs: {{A: '{'é' * 70_000}'}}\n"))
    many = "".join(f"  A{at:02}: {'v' * 100_000}\n" for at in range(11))
    assert refused(f"run: x\nenvs:\n{many}").problems == (
        "document 1: envs takes 1100044 bytes; a task takes at most 1048576; put large values into files",
    )
    assert "a number of 80000 bits" in str(refused(f"run: x\nenvs: {{A: 0x{'f' * 20_000}}}\n"))
    assert len(task(f"run: x\nenvs: {{A: '{'v' * 131_069}'}}\n")["envs"]["A"]) == 131_069


def test_a_script_may_be_long_for_it_becomes_a_file() -> None:
    assert len(task("run: |\n" + "  echo one more line\n" * 100_000)["run"]) > 1_800_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('run: "a\\0b"\n', "run has a NUL character"),
        ('run: x\nenvs: {A: "a\\0b"}\n', "the value of A has a NUL character"),
        ('run: x\nconfig: {a: ["\\0"]}\n', "config.a[0] has a NUL character"),
        ("run: x\nconfig: !!set {a, b}\n", "config must be a mapping"),
        ("run: x\nconfig: {a: !!binary aGk=}\n", "config.a holds bytes"),
        ("name: g\nexecution: parallel\n", "a header and no task"),
        ("name: g\n---\nrun: x\nexecution: parallel\n", "document 2 has execution"),
        ("run: x\nexecution: parallel\n", "document 1 has execution"),
    ],
)
def test_what_no_task_can_hold_is_refused(text: str, expected: str) -> None:
    assert expected in str(refused(text))


def test_what_is_accepted_always_has_a_digest() -> None:
    for value in ("9007199254740991", "-1.5e300", "'99999999999999999999'", "~", "no"):
        program = program_from_yaml(f"run: x\nconfig: {{a: {value}}}\n", "f")
        assert verify(program) == [] and len(digest(program)) >= 64


def test_an_empty_num_nodes_is_one_node() -> None:
    assert program_from_yaml("run: x\nnum_nodes:\n", "f").steps[0].num_nodes == 1
