"""Links count as what they lead to, and only what has changed since a mark is new."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from npac.ledger.ports import StoreError
from npac.ledger.stores import links
from npac.ledger.stores.file import FileStore

STORE = FileStore()


def uri(path: Path) -> str:
    return f"file://{path}"


def later(path: Path) -> str:
    """Give a mark that is later than everything now in ``path``: the stamps of files move in ticks."""
    first = links.mark(str(path))
    while (mark := links.mark(str(path))) == first:
        pass
    return mark


@pytest.fixture
def old(tmp_path: Path) -> Path:
    folder = tmp_path / "old"
    (folder / "below").mkdir(parents=True)
    (folder / "file").write_text("old")
    (folder / "below" / "file").write_text("old")
    return folder


def test_a_mark_leaves_nothing_behind(tmp_path: Path) -> None:
    before = tmp_path.stat().st_mtime_ns
    assert int(STORE.mark(uri(tmp_path / "out"))) > 0
    assert list(tmp_path.iterdir()) == [] and tmp_path.stat().st_mtime_ns == before
    assert STORE.mark(uri(tmp_path / "no" / "folder")) == ""


def test_without_unnamed_files_a_named_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    assert int(links.mark(str(tmp_path))) > 0
    assert list(tmp_path.iterdir()) == []


def copy(old: Path, out: Path) -> None:
    shutil.copy2(old / "file", out)


def link(old: Path, out: Path) -> None:
    out.symlink_to(old / "file")


def link_and_write(old: Path, out: Path) -> None:
    out.symlink_to(old / "file")
    out.write_text("new")


def link_and_forge(old: Path, out: Path) -> None:
    (old / "file").write_text("new")
    os.utime(old / "file", ns=(1, 1))
    out.symlink_to(old / "file")


def chain_of_links(old: Path, out: Path) -> None:
    (out.parent / "between").symlink_to(old / "file")
    out.symlink_to("between")


@pytest.mark.parametrize(
    ("make", "stale"),
    [(copy, False), (link, True), (link_and_write, False), (link_and_forge, False), (chain_of_links, True)],
)
def test_a_file(tmp_path: Path, old: Path, make: Callable[[Path, Path], None], stale: bool) -> None:
    mark = later(tmp_path)
    make(old, tmp_path / "out")
    assert STORE.stale(uri(tmp_path / "out"), "file", mark) is stale
    assert STORE.stale(uri(tmp_path / "out"), "file", "") is (make is not copy)


def whole_link(old: Path, out: Path) -> None:
    out.symlink_to(old)


def whole_link_and_write(old: Path, out: Path) -> None:
    out.symlink_to(old)
    (out / "below" / "new").write_text("new")


def links_inside(old: Path, out: Path) -> None:
    out.mkdir()
    (out / "a").symlink_to(old / "file")
    (out / "b").symlink_to(old / "below")
    (out / "nowhere").symlink_to("nowhere-at-all")
    (out / "loop").symlink_to(out)
    (out / "empty").touch()


def links_and_a_file(old: Path, out: Path) -> None:
    links_inside(old, out)
    (out / "own").write_text("new")


def copies(old: Path, out: Path) -> None:
    shutil.copytree(old, out)


@pytest.mark.parametrize(
    ("make", "stale"),
    [
        (whole_link, True),
        (whole_link_and_write, False),
        (links_inside, True),
        (links_and_a_file, False),
        (copies, False),
    ],
)
def test_a_directory(tmp_path: Path, old: Path, make: Callable[[Path, Path], None], stale: bool) -> None:
    mark = later(tmp_path)
    make(old, tmp_path / "out")
    for end in ("", "/"):
        assert STORE.stale(uri(tmp_path / "out") + end, "directory", mark) is stale


def test_what_cannot_be_looked_at_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("nowhere")
    with pytest.raises(StoreError, match="could not look at"):
        STORE.stale(uri(tmp_path / "out"), "file", "1")
