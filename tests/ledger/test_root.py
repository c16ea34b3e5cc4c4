"""Where ledgers are, what may be their names, and who may read them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from npac.ledger.ports import LedgerCorrupt, LedgerError
from npac.ledger.root import LedgerRoot, default_root


def modes(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): stat.S_IMODE(p.lstat().st_mode) for p in folder.rglob("*")}


@pytest.fixture(params=[0o000, 0o077, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    old = os.umask(request.param)
    yield request.param
    os.umask(old)


def test_only_the_owner_can_read_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    root = LedgerRoot(str(tmp_path))
    ledger = root.create("run-1")
    fence = ledger.take({})
    ledger.append("a", {"x_blob": ledger.put_blob(b"x")}, fence)
    for path, mode in modes(tmp_path).items():
        if os.path.isdir(tmp_path / path):
            assert mode == 0o700, path
        else:
            assert mode == 0o600, path
    assert len(ledger.events()) == 2


def test_the_root_that_is_made_is_the_owners(root: LedgerRoot) -> None:
    assert not root.path.exists()
    assert root.runs() == []
    root.create("run-1")
    assert stat.S_IMODE(root.path.stat().st_mode) == 0o700


def test_default_root_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NPAC_HOME", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert default_root() == tmp_path / ".local/state/npac"
    monkeypatch.setenv("XDG_STATE_HOME", "relative/is/ignored")
    assert default_root() == tmp_path / ".local/state/npac"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert default_root() == tmp_path / "state/npac"
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    assert LedgerRoot().path == tmp_path / "home"
    assert LedgerRoot("").path == tmp_path / "home"


def test_a_root_is_a_path_or_a_file_url(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert LedgerRoot("sub").path == tmp_path / "sub"
    assert LedgerRoot(f"file://{tmp_path}/with%20blank").path == tmp_path / "with blank"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert LedgerRoot("~/x").path == tmp_path / "x"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("s3://bucket/runs", "is not a file URI"),
        ("file://host/runs", "names the host"),
        ("gs://bucket/runs", "is not a file URI"),
        ("~nobody-of-that-name/x", "no ledger root"),
    ],
)
def test_other_roots_are_refused(url: str, reason: str) -> None:
    with pytest.raises(LedgerError, match=reason) as caught:
        LedgerRoot(url)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "run_id",
    ["", ".", "..", "a/b", "../x", "-a", "_a", "a b", "a\n", "\u00e4", "a" * 97, ".new-x", "/tmp", "a\0"],
)
def test_no_name_leads_out_of_the_root(root: LedgerRoot, run_id: str) -> None:
    for act in (root.create, root.open):
        with pytest.raises(LedgerError, match="cannot be a run id"):
            act(run_id)
    assert not root.path.exists()


def test_create_refuses_and_open_needs_an_existing_run(root: LedgerRoot) -> None:
    with pytest.raises(LedgerError, match="there is no run run-1"):
        root.open("run-1")
    ledger = root.create("run-1")
    ledger.take({})
    with pytest.raises(LedgerError, match="run run-1 exists already") as caught:
        root.create("run-1")
    assert "npac resume run-1" in caught.value.remedy
    assert len(root.open("run-1").events()) == 1
    assert sorted(os.listdir(root.path)) == ["run-1"]


def test_runs_passes_over_what_is_no_run(root: LedgerRoot, tmp_path: Path) -> None:
    for run_id in ("b", "a", "A" * 96):
        root.create(run_id)
    (root.path / "empty-folder").mkdir()
    (root.path / ".new-left-over").mkdir()
    (root.path / "file").write_text("x")
    (root.path / "bad name").mkdir()
    (root.path / "bad name" / "ledger.sqlite").write_text("x")
    (root.path / "link").symlink_to(root.path / "a")
    assert root.runs() == ["A" * 96, "a", "b"]
    with pytest.raises(LedgerError, match="exists already"):
        root.create("empty-folder")


def test_a_ledger_is_never_reached_by_a_link(root: LedgerRoot, tmp_path: Path) -> None:
    root.create("real").close()
    (root.path / "linked").symlink_to(root.path / "real")
    with pytest.raises(LedgerError, match="not a folder"):
        root.open("linked")
    with pytest.raises(LedgerError, match="exists already"):
        root.create("linked")
    (root.path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(LedgerError, match="exists already"):
        root.create("dangling")
    inner = root.path / "inner"
    inner.mkdir()
    (inner / "ledger.sqlite").symlink_to(root.path / "real" / "ledger.sqlite")
    with pytest.raises(LedgerError, match="not a regular file"):
        root.open("inner")


def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    LedgerRoot(str(tmp_path / "link")).create("run-1")
    assert LedgerRoot(str(tmp_path / "disk")).runs() == ["run-1"]


@pytest.mark.parametrize("content", [b"", b"not a database at all, though it is long enough" * 50])
def test_what_is_no_ledger_is_damaged_not_new(root: LedgerRoot, content: bytes) -> None:
    (root.path / "run-1").mkdir(parents=True)
    (root.path / "run-1" / "ledger.sqlite").write_bytes(content)
    with pytest.raises(LedgerCorrupt) as caught:
        root.open("run-1")
    assert "run-1/ledger.sqlite" in str(caught.value) and caught.value.remedy


def test_a_root_that_is_a_file_is_an_error_not_an_empty_list(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    root = LedgerRoot(str(tmp_path / "file"))
    for act in (root.runs, lambda: root.create("a"), lambda: root.open("a")):
        with pytest.raises(LedgerError):
            act()


def test_what_cannot_be_opened_under_the_name_of_a_run_is_told(root: LedgerRoot, tmp_path: Path) -> None:
    assert root.strays() == []
    root.create("real").close()
    (root.path / "linked").symlink_to(root.path / "real")
    (root.path / "dangling").symlink_to(tmp_path / "nowhere")
    lost = root.create("lost")
    lost.put_blob(b"x")
    lost.close()
    (root.path / "lost" / "ledger.sqlite").unlink()
    (root.path / "other-folder").mkdir()
    (root.path / "other-link").symlink_to(tmp_path)
    (root.path / "file").write_text("x")
    assert root.runs() == ["real"]
    told = dict(root.strays())
    assert sorted(told) == ["dangling", "linked", "lost"]
    assert "never reached by a link" in told["linked"] and str(root.path / "real") in told["linked"]
    assert "where nothing is" in told["dangling"]
    assert "has lost its ledger.sqlite" in told["lost"]
    with pytest.raises(LedgerCorrupt, match=r"has lost its ledger\.sqlite"):
        root.open("lost")


def test_a_name_is_free_or_held_or_in_the_way(root: LedgerRoot, tmp_path: Path) -> None:
    assert root.holds("run-1") is False
    root.create("run-1").close()
    assert root.holds("run-1") is True
    (root.path / "folder").mkdir()
    (root.path / "file").write_text("x")
    (root.path / "linked").symlink_to(root.path / "run-1")
    for name in ("folder", "file", "linked"):
        with pytest.raises(LedgerError, match="is not the ledger of a run") as caught:
            root.holds(name)
        assert "resume" not in caught.value.remedy
