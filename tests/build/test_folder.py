"""What a folder must be for a build to be put there, and what is done to one that holds a build."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from npac.build.durable import TEMPORARY
from npac.build.errors import BuildError
from npac.build.folder import PENDING
from npac.build.verify import verify_build
from npac.ir.linking import LinkRecord
from tests.build.test_writer import build, files
from tests.ir.programs import everything, single


@pytest.mark.parametrize(
    "names",
    [["notes.txt"], [".git/config"], [".gitignore"], ["a", "b", "c", "d", "e"], ["program.json", "other"]],
    ids=" ".join,
)
def test_a_folder_of_other_things_is_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    before = files(tmp_path)
    with pytest.raises(BuildError, match="holds other things") as caught:
        build(tmp_path)
    first = next(name for name in names if name != "program.json").partition("/")[0]
    assert first in caught.value.message and "new or an empty folder" in caught.value.remedy
    assert ("and 2 more" in caught.value.message) == (len(names) == 5)
    assert files(tmp_path) == before


@pytest.mark.parametrize("left", ["nothing", "a file without a name", "the note", "a build without manifest"])
def test_a_folder_that_is_npacs_own_is_taken(tmp_path: Path, left: str) -> None:
    out = tmp_path / "out"
    if left == "a build without manifest":
        build(out)
        (out / "manifest.json").unlink()
    else:
        out.mkdir()
    if left == "a file without a name":
        (out / f"{TEMPORARY}0123").write_text("half of a no")
    if left == "the note":
        (out / PENDING).write_text("[]")
        (out / "notes.txt").write_text("mine")
    build(out)
    if left == "the note":
        assert (out / "notes.txt").read_text() == "mine"
        (out / "notes.txt").unlink()
    build(tmp_path / "fresh")
    assert verify_build(out) == [] and files(out) == files(tmp_path / "fresh")


def test_other_things_may_stand_beside_a_build(tmp_path: Path) -> None:
    build(tmp_path, single())
    (tmp_path / "notes.txt").write_text("mine")
    build(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert [problem.path for problem in verify_build(tmp_path)] == ["notes.txt"]


class _Writes:
    """Counts what is done to the disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.named: list[str] = []
        self.synced = 0
        replace, fsync = os.replace, os.fsync

        def name(source: str, target: str) -> None:
            self.named.append(target)
            replace(source, target)

        def sync(descriptor: int) -> None:
            self.synced += 1
            fsync(descriptor)

        monkeypatch.setattr(os, "replace", name)
        monkeypatch.setattr(os, "fsync", sync)


def test_a_build_that_is_there_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    (tmp_path / f"{TEMPORARY}0123").write_text("half of a no")
    writes = _Writes(monkeypatch)
    build(tmp_path)
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert (writes.named, writes.synced) == ([], 0)
    assert before.keys() == after.keys()
    assert {path for path in before if before[path] != after[path]} <= {tmp_path}


def test_only_what_is_not_right_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path)
    whole = files(tmp_path)
    damaged = max((tmp_path / "objects").rglob("?" * 64))
    damaged.write_bytes(b"x" * damaged.stat().st_size)
    (tmp_path / "graph.mmd").unlink()
    writes = _Writes(monkeypatch)
    build(tmp_path)
    assert files(tmp_path) == whole
    assert sorted(Path(path).name for path in writes.named) == sorted([PENDING, "graph.mmd", damaged.name])


def test_what_a_cut_off_build_left_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be right and not on the disk yet, so that only writing it makes sure."""
    build(tmp_path)
    whole = files(tmp_path)
    (tmp_path / PENDING).write_text("[]")
    writes = _Writes(monkeypatch)
    build(tmp_path)
    assert {Path(path).relative_to(tmp_path).as_posix() for path in writes.named} == {*whole, PENDING}
    assert files(tmp_path) == whole


@pytest.mark.parametrize("options", [{}, {"link": LinkRecord("run-7")}], ids=["open", "linked"])
def test_the_disk_is_synced_once_for_each_file_and_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    writes = _Writes(monkeypatch)
    out = tmp_path / "out"
    build(out, everything(), **options)
    found = [path for path in out.rglob("*") if path.is_file()]
    folders = [path for path in out.rglob("*") if path.is_dir()]
    # the note and the manifest with the folder each, the folder when the note goes, and all folders
    assert writes.synced == (len(found) - 1) + 4 + 1 + len(folders) + 1
