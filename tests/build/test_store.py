from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from npac.build.durable import write_atomic
from npac.build.errors import BuildError
from npac.build.store import ObjectStore, object_path


def _put(root: Path, data: bytes) -> str:
    digest = hashlib.sha256(data).hexdigest()
    write_atomic(root / object_path(digest), data)
    return digest


def test_an_object_stands_at_its_digest(tmp_path: Path) -> None:
    digest = _put(tmp_path, b"hello")
    assert (tmp_path / "objects" / "sha256" / digest[:2] / digest).read_bytes() == b"hello"
    assert ObjectStore(tmp_path).get(digest) == b"hello"


def test_an_object_that_was_damaged_is_not_given(tmp_path: Path) -> None:
    digest = _put(tmp_path, b"hello")
    (tmp_path / object_path(digest)).write_bytes(b"hellO")
    with pytest.raises(BuildError, match="was changed"):
        ObjectStore(tmp_path).get(digest)


def test_a_lacking_object_is_said(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="lacks the object"):
        ObjectStore(tmp_path).get("0" * 64)
