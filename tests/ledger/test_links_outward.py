"""A directory counts by what is in it: what a link finds above it is not its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from npac.ledger.stores.file import FileStore
from tests.ledger.test_links import later, uri

STORE = FileStore()


def to_parent(out: Path) -> None:
    out.mkdir()
    (out / "up").symlink_to("..")
    os.mkfifo(out / "pipe")


def to_grandparent(out: Path) -> None:
    (out / "below").mkdir(parents=True)
    (out / "below" / "up").symlink_to(out.parent.parent)


def to_itself(out: Path) -> None:
    out.mkdir()
    (out / "again").symlink_to(out)
    (out / "empty").touch()


def is_its_parent(out: Path) -> None:
    out.symlink_to(".")


def elsewhere_and_back(out: Path) -> None:
    (out.parent / "real").mkdir()
    out.symlink_to("real")
    (out / "up").symlink_to(out.parent)


@pytest.mark.parametrize(
    "make",
    [to_parent, to_grandparent, to_itself, is_its_parent, elsewhere_and_back],
    ids=lambda m: m.__name__,
)
def test_links_to_what_holds_the_directory_give_nothing(tmp_path: Path, make: Callable[[Path], None]) -> None:
    (tmp_path / "place").mkdir()
    out = tmp_path / "place" / "out"
    make(out)
    (tmp_path / "place" / "other-output").write_text("fresh, and not in it")
    for end in ("", "/"):
        seen = STORE.observe(uri(out) + end, "directory")
        assert seen is not None and seen.empty, seen
    assert [entry.size for entry in STORE.list(uri(out))] in ([], [0])


def test_a_link_out_to_a_fresh_file_counts_and_one_to_an_old_file_does_not(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    mark = later(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").symlink_to(tmp_path / "old")
    assert STORE.stale(uri(out), "directory", mark)
    (tmp_path / "fresh").write_text("fresh")
    (out / "b").symlink_to(tmp_path / "fresh")
    seen = STORE.observe(uri(out), "directory")
    assert seen is not None and not seen.empty and not STORE.stale(uri(out), "directory", mark)


def test_what_is_fresh_above_makes_no_old_link_fresh(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    mark = later(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    (out / "a").symlink_to(tmp_path / "old")
    (out / "up").symlink_to(tmp_path)
    (tmp_path / "fresh").write_text("fresh")
    assert STORE.stale(uri(out), "directory", mark)
