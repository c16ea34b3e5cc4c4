"""Names that lead out of their folder, and links in the place of npac's own files: refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from npac.engines.local.engine import LocalEngine
from npac.engines.local.folder import JobFolder
from npac.engines.local.states import Outcome
from npac.launch.ports import EngineError
from npac.ledger.blobs import BlobFolder
from npac.ledger.ports import LedgerError
from npac.ledger.root import LedgerRoot
from tests.cli.runs_of import HEAD
from tests.security.planted import Place

OUTWARD = (
    "../x",
    "..",
    ".",
    "/x",
    "a/b",
    "a\\b",
    "../../etc/cron.d/x",
    "a\nb",
    "a\0b",
    "",
    "-x",
    "é",
    "x" * 97,
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def outside(place: Place) -> set[Path]:
    """Give what is below the place and not npac's state."""
    return {path for path in place.written() if place.state not in (path, *path.parents)}


@pytest.mark.parametrize("run_id", [name for name in OUTWARD if "\0" not in name])
def test_a_run_id_names_no_other_place(place: Place, run_id: str) -> None:
    spec = place.write("spec.yaml", f"{HEAD}states:\n  a: {{run: {{argv: ['true']}}, terminal: true}}\n")
    before = outside(place)
    assert place.npac("run", str(spec), f"--run-id={run_id}") == 2, place.said[-1]
    for command in ("status", "why", "resume", "cancel", "retry", "events", "logs"):
        assert place.npac(command, "--", run_id) == 2, place.said[-1]
    assert outside(place) == before
    assert not (place.state / "runs").exists() or os.listdir(place.state / "runs") == []


@pytest.mark.parametrize("name", [name for name in OUTWARD if name])
def test_a_state_names_no_other_place(place: Place, name: str) -> None:
    import json

    quoted = json.dumps(name)
    spec = place.write(
        "spec.yaml", f"{HEAD}states:\n  {quoted}: {{run: {{argv: ['true']}}, terminal: true}}\n"
    )
    before = outside(place)
    code = place.npac("run", str(spec), "--run-id", "r")
    built = place.npac("compile", str(spec), "-o", str(place.folder / "work" / "build"))
    assert (code, built) == (1, 1), place.said
    assert outside(place) == before
    assert not (place.state / "runs").exists()


@pytest.mark.parametrize("job", ["../1", "1/../1", "..", "", "1 ", "٣", "1e1", "9" * 30])
def test_a_job_id_names_no_other_job(tmp_path: Path, job: str) -> None:
    engine = LocalEngine(tmp_path / "engine", slots=1)
    assert engine.job(job) is None
    for ask in (engine.cancel, engine.logs):
        with pytest.raises(EngineError, match="has no job"):
            ask(job)


@pytest.mark.parametrize("digest", ["../" + "a" * 61, "A" * 64, "a" * 63, "a" * 65, "aa/" + "a" * 61, ""])
def test_a_blob_is_named_by_its_digest_alone(tmp_path: Path, digest: str) -> None:
    with pytest.raises(LedgerError, match="is not the sha256 of a blob"):
        BlobFolder(tmp_path).get(digest)


@pytest.mark.parametrize("name", ["jobs", "incoming", "queue.sqlite", "lock", "engine-instance.new"])
def test_a_link_in_the_engines_folder_is_not_followed(tmp_path: Path, name: str) -> None:
    root, other = tmp_path / "engine", tmp_path / "other"
    root.mkdir(mode=0o777)
    if name in ("jobs", "incoming"):
        other.mkdir(mode=0o755)
    else:
        other.write_text("another's")
    mode = other.stat().st_mode
    (root / name).symlink_to(other)
    with pytest.raises(EngineError, match="cannot be used") as caught:
        LocalEngine(root, slots=1)
    assert caught.value.phase == "rejected" and caught.value.remedy
    assert other.stat().st_mode == mode
    assert os.listdir(other) == [] if other.is_dir() else other.read_text() == "another's"


def test_a_link_to_the_engines_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "engine").symlink_to(tmp_path / "other")
    with pytest.raises(EngineError, match="symbolic link"):
        LocalEngine(tmp_path / "engine", slots=1)
    assert os.listdir(tmp_path / "other") == []


def test_links_in_a_jobs_folder_are_not_followed(tmp_path: Path) -> None:
    root, other = tmp_path / "engine", tmp_path / "other"
    LocalEngine(root, slots=1)
    other.write_text("1 0 1 1\n")
    folder = JobFolder(str(root), 1)
    os.makedirs(folder.work(0, 0), mode=0o700)
    for name in ("leaders", "wake", "lock", "0/outcome.json", "0/outcome.json.new"):
        os.symlink(other, os.path.join(folder.path, name))
    for touch in (
        lambda: folder.add_leader(0, 0, 1, 1),
        folder.leaders,
        folder.lock,
        folder.listen,
        lambda: folder.read_outcome(0, "work"),
        lambda: folder.write_outcome(0, Outcome("work", "SUCCEEDED", 0)),
    ):
        with pytest.raises(OSError, match="symbolic links"):
            touch()
    assert folder.wake() is False
    assert other.read_text() == "1 0 1 1\n"


def test_a_ledger_that_is_a_link_is_neither_read_nor_written(place: Place) -> None:
    spec = place.write("spec.yaml", f"{HEAD}states:\n  a: {{run: {{argv: ['true']}}, terminal: true}}\n")
    assert place.npac("run", str(spec), "--run-id", "real") == 0, place.said
    runs = place.state / "runs"
    (runs / "alias").symlink_to(runs / "real")
    before = sorted(os.listdir(runs / "real"))
    assert place.npac("run", str(spec), "--run-id", "alias") == 2, place.said[-1]
    for command in ("status", "resume", "retry", "cancel", "events"):
        assert place.npac(command, "alias") == 2, place.said[-1]
    assert sorted(os.listdir(runs / "real")) == before
    (runs / "real" / "ledger.sqlite").rename(place.folder / "ledger.sqlite")
    (runs / "real" / "ledger.sqlite").symlink_to(place.folder / "ledger.sqlite")
    assert place.npac("status", "real") == 2 and b"not a regular file" in place.said[-1][1]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_all_that_is_made_on_the_way_is_the_owners_alone(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        LocalEngine(tmp_path / "state" / "npac" / "engines" / "local", slots=1)
        LedgerRoot(str(tmp_path / "other" / "npac" / "runs")).create("r").close()
    finally:
        os.umask(before)
    for path in tmp_path.rglob("*"):
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
