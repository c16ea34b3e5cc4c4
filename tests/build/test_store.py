from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from npac.build.errors import BuildError
from npac.build.store import TEMPORARY, ObjectStore, object_path, write_atomic


def test_an_object_stands_at_its_digest(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    digest = store.put(b"hello")
    assert digest == hashlib.sha256(b"hello").hexdigest()
    assert (tmp_path / "objects" / "sha256" / digest[:2] / digest).read_bytes() == b"hello"
    assert store.get(digest) == b"hello"
    assert list(store.digests()) == [digest]


def test_an_object_that_is_there_is_verified_and_mended(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    digest = store.put(b"hello")
    path = tmp_path / object_path(digest)
    before = path.stat().st_ino
    assert store.put(b"hello") == digest and path.stat().st_ino == before
    path.write_bytes(b"hellO")
    with pytest.raises(BuildError, match="was changed"):
        store.get(digest)
    store.put(b"hello")
    assert store.get(digest) == b"hello"


def test_a_lacking_object_is_said(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="lacks the object"):
        ObjectStore(tmp_path).get("0" * 64)


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
