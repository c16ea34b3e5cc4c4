"""One place under two spellings, names of files without a suffix, and loops of one iteration."""

from __future__ import annotations

import pytest

from tests.rules.specs import END, checked

P = "s3://bkt/{{run.id}}"


def _codes(body: str) -> list[str]:
    return [item.code.id for item in checked(body).findings]


@pytest.mark.parametrize(
    ("first", "second", "race"),
    [
        (f"uri: '{P}/d', kind: directory", f"uri: '{P}/d/'", True),
        (f"uri: '{P}/d/'", f"uri: '{P}/d/', kind: directory", True),
        (f"uri: '{P}', kind: directory", f"uri: '{P}/'", True),
        (f"uri: '{P}/d', kind: file", f"uri: '{P}/d/'", False),
        (f"uri: '{P}/d/'", f"uri: '{P}/d/x.j'", False),
    ],
)
def test_a_folder_with_and_without_a_slash_is_one_place(first: str, second: str, race: bool) -> None:
    body = (
        "states:\n  g: {parallel: [a, b], next: z}\n"
        f"  a: {{run: {{argv: [x]}}, outputs: [{{{first}}}]}}\n  b: {{run: {{argv: [x]}}, outputs: [{{{second}}}]}}\n"
    )
    assert _codes(body + END) == (["NPA701"] if race else [])


@pytest.mark.parametrize(
    ("output", "read", "differs"),
    [
        (f"uri: '{P}/d', kind: directory", f"'{P}/d/'", True),
        (f"uri: '{P}/d/'", f"'{P}/d'", True),
        (f"uri: '{P}/d/'", f"'{P}/d/'", True),
        (f"uri: '{P}/d/'", f"'{P}/d/x.j'", False),
        (f"uri: '{P}/d', kind: file", f"'{P}/d/'", False),
    ],
)
def test_a_folders_label_is_asked_for_in_either_spelling(output: str, read: str, differs: bool) -> None:
    body = (
        f"states:\n  a: {{run: {{argv: [x]}}, outputs: [{{{output}, schema: v1}}], next: b}}\n"
        f"  b: {{run: {{argv: [x]}}, inputs: [{{uri: {read}, schema: v2}}], terminal: true}}\n"
    )
    assert _codes(body) == (["NPA704"] if differs else [])


@pytest.mark.parametrize(
    ("name", "noted"),
    [
        ("checkpoint", True),
        ("step_000100", True),
        ("README", False),
        ("_SUCCESS", False),
        ("Dockerfile", False),
    ],
)
def test_names_that_files_have_without_a_suffix_are_no_folders(name: str, noted: bool) -> None:
    body = f"states:\n  a: {{run: {{argv: [x]}}, outputs: [{{uri: '{P}/{name}'}}], terminal: true}}\n"
    assert _codes(body) == (["NPA705"] if noted else [])


@pytest.mark.parametrize(("bound", "noted"), [("1", False), ("'{{config.one}}'", False), ("2", True)])
def test_a_loop_of_one_iteration_writes_nothing_anew(bound: str, noted: bool) -> None:
    body = (
        f"config: {{one: 1}}\nstates:\n  s: {{sequence: [a], loop: {{max: {bound}}}, next: z}}\n"
        f"  a: {{run: {{argv: [x]}}, outputs: [{{uri: '{P}/d.j'}}]}}\n" + END
    )
    assert [code for code in _codes(body) if code != "NPA215"] == (["NPA702"] if noted else [])
