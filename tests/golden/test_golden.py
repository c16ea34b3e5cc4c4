"""The golden builds under ``golden/`` are what the specs under ``workflows/`` compile to.

``make golden`` (or ``NPAC_UPDATE_GOLDEN=1 pytest tests -k golden``) writes them anew.
"""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from npac.build.verify import verify_build
from tests.golden.cases import CASES, GOLDEN, WORKFLOWS, Case, files, specs_below

UPDATE = os.environ.get("NPAC_UPDATE_GOLDEN") == "1"
SHOWN_LINES = 80


def differences(name: str, golden: Mapping[str, bytes], built: Mapping[str, bytes]) -> Iterator[str]:
    """Tell how a build differs from the golden one: what a person reads first, objects last."""

    def order(path: str) -> tuple[int, str]:
        return (2 if path.startswith("objects/") else 0 if path.startswith("waves/") else 1, path)

    for path in sorted({*golden, *built}, key=order):
        old, new = golden.get(path), built.get(path)
        if old == new:
            continue
        if old is None or new is None:
            yield f"golden/{name}/{path} {'is not there' if old is None else 'is no longer built'}"
        elif path.startswith("objects/"):
            yield f"golden/{name}/{path} does not hold what its name says"
        else:
            lines = difflib.unified_diff(
                old.decode().splitlines(),
                new.decode().splitlines(),
                f"golden/{name}/{path}",
                "built now",
                lineterm="",
            )
            shown = list(lines)
            yield "\n".join(shown[:SHOWN_LINES])
            if len(shown) > SHOWN_LINES:
                yield f"… {len(shown) - SHOWN_LINES} more lines of difference in {path}"


def problem(name: str, golden: Mapping[str, bytes], built: Mapping[str, bytes]) -> str:
    """Give the whole message about a build that is not the golden one; empty when it is."""
    found = list(differences(name, golden, built))
    if not found:
        return ""
    advice = "If this is what you meant, write the golden builds anew with `make golden` and commit them."
    return "\n".join([f"the build of {name} is not the golden one:", *found, advice])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder)
def test_golden_build(case: Case, tmp_path: Path) -> None:
    case.build(tmp_path / "build")
    target = GOLDEN / case.folder
    if UPDATE:
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(tmp_path / "build", target)
    found = problem(case.folder, files(target), files(tmp_path / "build"))
    if found:
        pytest.fail(found, pytrace=False)


def test_golden_builds_are_of_all_specs_and_of_nothing_else() -> None:
    assert {case.spec for case in CASES} == set(specs_below(WORKFLOWS)), "give every spec a case in this file"
    folders = {path.name for path in GOLDEN.iterdir() if path.is_dir()}
    assert folders == {case.folder for case in CASES}, "remove folders of golden/ that no case builds"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder)
def test_golden_builds_are_whole(case: Case) -> None:
    assert verify_build(GOLDEN / case.folder) == []


def test_a_difference_from_golden_is_shown_by_file_and_line() -> None:
    old = {"waves/001-a.sky.yaml": b"name: a\ncpus: 1\n", "objects/sha256/aa/aa": b"1", "gone.txt": b"x"}
    new = {"waves/001-a.sky.yaml": b"name: a\ncpus: 2\n", "objects/sha256/bb/bb": b"2"}
    text = problem("example", old, new)
    lines = text.splitlines()
    assert lines[:3] == [
        "the build of example is not the golden one:",
        "--- golden/example/waves/001-a.sky.yaml",
        "+++ built now",
    ]
    assert "-cpus: 1" in lines
    assert "+cpus: 2" in lines
    assert "golden/example/gone.txt is no longer built" in lines
    assert "golden/example/objects/sha256/bb/bb is not there" in lines
    assert "make golden" in lines[-1]
    assert problem("example", old, old) == ""
