"""Faults of raw SkyPilot YAML are shown where they stand, each with what to do."""

from __future__ import annotations

import pytest

from npac.catalog import load_catalog
from npac.checking import Checked, check_bytes
from npac.pipeline import Settings


def checked(text: str) -> Checked:
    return check_bytes("raw.yaml", text.encode(), Settings(load_catalog()))


GOOD = "name: line\n---\nname: a\nrun: x\n---\n"


@pytest.mark.parametrize(
    ("text", "place", "shown", "help"),
    [
        ("name: b\nrun: [x]\n", (7, 1), "run", "write run as text"),
        ("name: ../b\nrun: x\n", (6, 1), "name", "use letters, digits"),
        ("- list\n", (6, 1), "- list", "write the task as a mapping"),
        ("name: b\n", (6, 1), "name: b", "add run"),
        ("run: x\nnum_nodes: 99\n", (7, 1), "num_nodes", "write a whole number from 1 to 32"),
        ("run: x\nenvs:\n  A: 1\n  B: [1]\n", (9, 3), "B", "quote it"),
        ("run: x\nenvs: {A: 1, 'C-D': 2}\n", (7, 14), "'C-D'", "use letters, digits and underscores"),
        ("run: x\nconfig:\n  é: [1, {at: 2026-08-22}]\n", (8, 11), "at", "quote it"),
        ("run: x\nconfig:\n  - 1\n", (7, 1), "config", "write config as a mapping"),
        ("run: x\nconfig: {k: [1, .nan]}\n", (7, 17), ".nan", "quote it"),
        ("run: x\nexecution: parallel\n", (7, 1), "execution", "move it into a header document"),
        ("run: x\n3: y\n", (7, 1), "3", "quote it"),
        ("run: x\nsecrets: [A]\n", (7, 1), "secrets", "write it as 'NAME:' lines"),
    ],
)
def test_a_fault_of_a_later_document_has_its_own_place(
    text: str, place: tuple[int, int], shown: str, help: str
) -> None:
    found = checked(GOOD + text).findings
    assert len(found) == 1, found
    assert found[0].span.range()[:2] == place and found[0].span.text == shown
    assert found[0].help.startswith(help) and "mend the file" not in found[0].help


@pytest.mark.parametrize(
    ("text", "line", "help"),
    [
        ("run: x\nenvs: {A: [\n", 3, "mend the YAML in this line"),
        ("run: x\nenvs: &e {A: b}\nconfig: *e\n", 3, "write its text out"),
        ("run: x\nconfig:\n  " + "[" * 70 + "]" * 70 + "\n", 3, "nest it less deeply"),
        ("run: x\n\nconfig: !!python/name:os.system\n", 3, "mend the YAML in this line"),
    ],
)
def test_a_text_that_cannot_be_read_is_shown_at_its_line(text: str, line: int, help: str) -> None:
    (found,) = checked(text).findings
    assert found.span.range()[0] == line and found.help == help


def test_faults_of_a_job_group_stand_at_its_names() -> None:
    found = checked(
        "\ufeffname: end\r\nexecution: parallel\r\n---\r\nname: a\r\nrun: x\r\n---\r\nname: a\r\nrun: x\r\n"
    )
    assert [item.span.range()[:2] for item in found.findings] == [(1, 1), (7, 1)]
    assert [item.help for item in found.findings] == ["rename it", "give each its own name"]


def test_empty_documents_are_not_counted_and_the_last_of_equal_keys_is_shown() -> None:
    (found,) = checked("---\n---\nrun: x\nrun: [y]\n").findings
    assert found.span.range()[:2] == (4, 1)


def test_a_secrets_value_is_hidden_wherever_its_line_is_shown() -> None:
    result = checked("secrets: {T: hunter2, U: {V: hunter3}}\nrun: [x]\n")
    assert [span.text for span in result.hidden] == ["hunter2", "hunter3"]
    assert len(result.findings) == 3
    assert not any("hunter" in item.message + item.help for item in result.findings)


def test_more_faults_than_are_listed_are_counted() -> None:
    found = checked("run: x\nenvs:\n" + "".join(f"  A{at}: null\n" for at in range(40))).findings
    assert len(found) == 33 and any("8 more problems follow" in item.message for item in found)
    assert len({item.span.start for item in found}) == 32


def test_a_sound_file_has_no_findings() -> None:
    assert checked(GOOD + "name: b\nrun: y\n").findings == []
