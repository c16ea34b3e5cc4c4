"""Files that are written for good, one or many."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from npac.build import durable
from npac.build.durable import TEMPORARY, Batch, write_atomic
from npac.build.errors import BuildError


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BuildError) as caught:
        write_atomic(tmp_path / "file" / "child", b"x")
    assert "could not be written" in caught.value.message and caught.value.remedy


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_bytes_and_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(BuildError) as caught:
        write_atomic(path, b"new")
    assert "the disk is full" in str(caught.value) and "Free some space" in caught.value.remedy
    assert path.read_bytes() == b"old"
    assert not list(tmp_path.glob(f"{TEMPORARY}*"))


def test_a_really_full_disk(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    # A write through the same calls to a device that is always full.
    with pytest.raises(OSError) as caught, full.open("wb") as file:
        file.write(b"x")
        file.flush()
    assert caught.value.errno == errno.ENOSPC


def _names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_batch_writes_whole_files_and_the_folders_they_need(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number % 3}" / "deep" / f"{number}" for number in range(300)]
    with Batch() as batch:
        for path in paths:
            batch.write(str(path), (b"begun ", path.name.encode()))
        batch.settle()
    assert [path.read_bytes() for path in paths] == [b"begun " + path.name.encode() for path in paths]
    assert len(_names(tmp_path)) == len(paths)


def test_every_file_is_synced_before_it_has_its_name_and_each_folder_once_after_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, str]] = []
    places: dict[int, str] = {}
    real = {name: getattr(os, name) for name in ("open", "fsync", "replace")}

    def opened(path: Any, *rest: Any, **more: Any) -> int:
        descriptor: int = real["open"](path, *rest, **more)
        places[descriptor] = os.fspath(path)
        return descriptor

    def synced(descriptor: int) -> None:
        real["fsync"](descriptor)
        events.append(("sync", places[descriptor]))

    def named(source: str, target: str) -> None:
        assert ("sync", source) in events
        real["replace"](source, target)
        events.append(("name", target))

    for name, stand_in in (("open", opened), ("fsync", synced), ("replace", named)):
        monkeypatch.setattr(os, name, stand_in)
    with Batch() as batch:
        for number in range(40):
            batch.write(str(tmp_path / "out" / f"{number % 2}" / str(number)), b"x")
        batch.settle()
    last = max(at for at, (kind, _) in enumerate(events) if kind == "name")
    folders = [path for _, path in events[last + 1 :]]
    assert sorted(folders) == sorted(map(str, (tmp_path, tmp_path / "out", *(tmp_path / "out").iterdir())))
    assert len(events) == 40 * 2 + len(folders)


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("at", [1, 2, 7])
def test_a_batch_that_fails_leaves_nothing_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, at: int
) -> None:
    real = getattr(os, failing)
    lock = threading.Lock()
    calls = 0

    def full(*arguments: Any) -> None:
        nonlocal calls
        with lock:
            calls += 1
            number = calls
        if number >= at:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(*arguments)

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(BuildError, match="the disk is full"), Batch() as batch:
        for number in range(10):
            batch.write(str(tmp_path / str(number)), b"x")
        batch.settle()
    assert not [name for name in _names(tmp_path) if name.startswith(TEMPORARY)]


def test_data_that_fails_to_come_leaves_nothing(tmp_path: Path) -> None:
    def parts() -> Any:
        yield b"one"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError), Batch() as batch:
        batch.write(str(tmp_path / "file"), parts())
    assert _names(tmp_path) == []


def test_only_so_many_files_are_open_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "WAITING", 5)
    with Batch() as batch:
        for number in range(23):
            batch.write(str(tmp_path / str(number)), b"x")
            waiting = [name for name in _names(tmp_path) if name.startswith(TEMPORARY)]
            assert len(waiting) == (number + 1) % 5
        batch.settle()
    assert len(_names(tmp_path)) == 23
