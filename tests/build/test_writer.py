from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from npac._version import __version__
from npac.build.errors import BuildError
from npac.build.folder import PENDING
from npac.build.manifest import Manifest, manifest_from_bytes
from npac.build.reader import read_build, read_link, read_spec
from npac.build.verify import verify_build
from npac.build.writer import write_build
from npac.ir.canonical import digest
from npac.ir.errors import LinkError
from npac.ir.linking import LinkRecord
from npac.ir.program import Program
from tests.ir.programs import everything, single

ROOT = Path(__file__).resolve().parents[2]
CATALOG = "c" * 64


def build(directory: Path, program: Program | None = None, **changes: Any) -> Manifest:
    options: dict[str, Any] = {
        "spec_bytes": b"apiVersion: npa.workflow/v0.0.1\n",
        "catalog_digest": CATALOG,
        "overrides": {"var": {"k": "v"}},
        "options": {"max_nodes": 250000},
        **changes,
    }
    return write_build(directory, program or everything(), **options)


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def test_a_build_reads_back(tmp_path: Path) -> None:
    manifest = build(tmp_path)
    assert read_build(tmp_path) == (manifest, everything())
    assert verify_build(tmp_path) == []
    assert read_spec(tmp_path, manifest) == b"apiVersion: npa.workflow/v0.0.1\n"
    assert read_link(tmp_path, manifest) is None


def test_the_manifest_names_all_that_determines_the_build(tmp_path: Path) -> None:
    manifest = build(tmp_path)
    assert manifest.compiler == __version__
    assert manifest.program == digest(everything())
    assert manifest.spec == hashlib.sha256(b"apiVersion: npa.workflow/v0.0.1\n").hexdigest()
    assert manifest.catalogs == (CATALOG,)
    assert manifest.overrides == {"var": {"k": "v"}} and manifest.options == {"max_nodes": 250000}
    assert [(entry.node, entry.number, entry.batch, entry.label, entry.view) for entry in manifest.waves] == [
        ("prepare", 1, 0, "prepare", "waves/001-prepare.sky.yaml"),
        ("fan", 2, 1, "fan", "waves/002-b1-fan.sky.yaml"),
        ("fan", 2, 2, "fan", "waves/002-b2-fan.sky.yaml"),
        ("fan", 2, 3, "fan", "waves/002-b3-fan.sky.yaml"),
        ("loop[1]/train", 3, 0, "train", "waves/003-train.sky.yaml"),
        ("loop[1]/judge", 4, 0, "judge", "waves/004-judge.sky.yaml"),
        ("loop[2]/train", 5, 0, "train", "waves/003-train.sky.yaml"),
        ("loop[2]/judge", 6, 0, "judge", "waves/004-judge.sky.yaml"),
        ("report", 7, 0, "report", "waves/007-report.sky.yaml"),
    ]
    for entry in manifest.objects:
        assert len((tmp_path / "objects/sha256" / entry.digest[:2] / entry.digest).read_bytes()) == entry.size


def test_the_manifest_is_plain_sorted_json_and_valid(tmp_path: Path) -> None:
    build(tmp_path)
    text = (tmp_path / "manifest.json").read_text(encoding="utf-8")
    data = json.loads(text)
    assert text == json.dumps(data, sort_keys=True, indent=2) + "\n"
    schema = json.loads((ROOT / "schemas" / "npac.manifest.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(data)
    data["views"][0]["path"] = "/etc/passwd"
    assert not jsonschema.Draft202012Validator(schema).is_valid(data)
    with pytest.raises(ValueError, match="views/0/path"):
        manifest_from_bytes(json.dumps(data).encode())


def test_views_show_open_values_by_name(tmp_path: Path) -> None:
    build(tmp_path)
    (task,) = yaml.safe_load_all((tmp_path / "waves/003-train.sky.yaml").read_text(encoding="utf-8"))
    assert task["envs"]["NPA_WORKFLOW_RUN_ID"] == "<run.id>"
    assert task["envs"]["NPA_WORKFLOW_FENCE_SEQUENCE"] == "<wave.number>"
    header, *tasks = yaml.safe_load_all((tmp_path / "waves/002-b1-fan.sky.yaml").read_text(encoding="utf-8"))
    assert header == {"name": "fan", "execution": "parallel"} and len(tasks) == 2
    program = json.loads((tmp_path / "program.json").read_bytes())
    assert program["workflow"] == "everything"
    graph = (tmp_path / "graph.mmd").read_text(encoding="utf-8")
    assert graph.startswith("flowchart TD\n")
    assert '  n1[["2. fan: shard-0, shard-1, shard-2, shard-3, shard-4"]]\n' in graph
    assert "  n4 -->|promote_checkpoint| n8\n  n4 -->|loop_back| n5\n" in graph


def test_a_linked_build_holds_the_final_documents(tmp_path: Path) -> None:
    link = LinkRecord("run-7", endpoint_url="https://e.example", accelerators={"H100": "B200"})
    manifest = build(tmp_path, link=link)
    assert verify_build(tmp_path) == []
    assert read_link(tmp_path, manifest) == link
    second = (tmp_path / "waves/005-train.sky.yaml").read_text(encoding="utf-8")
    (task,) = yaml.safe_load_all(second)
    assert task["envs"]["NPA_WORKFLOW_RUN_ID"] == "run-7"
    assert task["envs"]["NPA_WORKFLOW_FENCE_SEQUENCE"] == "5"
    assert task["envs"]["NPA_WORKFLOW_FENCE_ATTEMPT"] == "1"
    assert "<run.id>" not in second and "<source.uri>" not in second
    shard = list(yaml.safe_load_all((tmp_path / "waves/002-b1-fan.sky.yaml").read_text(encoding="utf-8")))[1]
    assert shard["resources"]["accelerators"] == "B200:2"
    with pytest.raises(LinkError, match="the run id"):
        build(tmp_path / "other", link=LinkRecord("../x"))
    assert not (tmp_path / "other").exists()


def test_the_same_build_twice_changes_nothing(tmp_path: Path) -> None:
    build(tmp_path)
    before = files(tmp_path)
    build(tmp_path)
    assert files(tmp_path) == before


def test_what_an_earlier_build_left_goes_and_foreign_files_stay(tmp_path: Path) -> None:
    build(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "waves" / "mine.yaml").write_text("mine")
    build(tmp_path, single())
    fresh = tmp_path / "fresh"
    build(fresh, single())
    expected = files(fresh)
    got = {name: data for name, data in files(tmp_path).items() if not name.startswith("fresh/")}
    assert got.pop("notes.txt") == b"mine" and got.pop("waves/mine.yaml") == b"mine"
    assert got == expected


@pytest.mark.parametrize("name", ["program.json", "graph.mmd", "waves/001-prepare.sky.yaml", "manifest.json"])
def test_a_foreign_file_in_the_way_is_never_overwritten(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    with pytest.raises(BuildError) as caught:
        build(tmp_path)
    assert str(path) in str(caught.value) and caught.value.remedy
    assert path.read_text() == "mine"
    assert files(tmp_path) == {name: b"mine"}


def test_a_link_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = tmp_path / "out"
    out.mkdir()
    (out / "waves").symlink_to(elsewhere)
    with pytest.raises(BuildError, match="not a plain folder"):
        build(out)
    assert list(elsewhere.iterdir()) == []


def test_an_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    with pytest.raises(BuildError, match="is a file, not a folder"):
        build(tmp_path / "out")


@pytest.mark.parametrize("at", range(0, 30, 3))
def test_a_disk_that_fills_leaves_no_build_that_verifies_and_the_next_one_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    build(tmp_path, single())
    old = files(tmp_path)
    left = at
    real = os.fsync

    def fsync(descriptor: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(BuildError, match="the disk is full"):
            build(tmp_path)
    problems = verify_build(tmp_path)
    assert problems or files(tmp_path) == old
    build(tmp_path)
    assert verify_build(tmp_path) == []
    fresh = tmp_path.parent / f"fresh-{at}"
    build(fresh)
    assert files(tmp_path) == files(fresh)


def test_a_killed_build_is_taken_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.replace

    def killed(source: str, target: str) -> None:
        if target.endswith(".sky.yaml"):
            raise KeyboardInterrupt
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            build(tmp_path)
    assert (tmp_path / PENDING).exists()
    assert [problem.path for problem in verify_build(tmp_path)] == ["manifest.json"]
    # The views that were written are npac's own, though no manifest says so.
    build(tmp_path, single())
    assert verify_build(tmp_path) == []
    assert not (tmp_path / PENDING).exists()


def test_an_unsound_program_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="unsound"):
        build(tmp_path / "out", single(num_nodes=99))
    assert not (tmp_path / "out").exists()


def test_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.build.test_writer import build;"
        "build(Path(sys.argv[1]))"
    )
    trees = []
    for at, (seed, zone, lang) in enumerate(
        (("0", "UTC", "C"), ("7", "Asia/Tokyo", "C.UTF-8"), ("99", "", "tr_TR"))
    ):
        out = tmp_path / f"out {at}"
        env = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": lang, "PYTHONPATH": str(ROOT)}
        env["HOME"] = str(tmp_path / f"home{at}")
        subprocess.run(
            [sys.executable, "-c", code, str(out)], env=env, cwd="/" if at else tmp_path, check=True
        )
        trees.append(files(out))
    assert trees[0] == trees[1] == trees[2]
    assert str(tmp_path).encode() not in b"".join(trees[0].values())


def test_what_is_durable_and_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are on disk before the manifest is, and what was removed is gone before the note is."""
    build(tmp_path / "out", everything())
    events: list[tuple[str, str]] = []
    open_files: dict[int, str] = {}

    def record(name: str, place: int = 0) -> None:
        real = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = real(*args, **kwargs)
            if name == "open":
                open_files[result] = os.fspath(args[0])
            elif name == "fsync":
                events.append((name, open_files[args[0]]))
            else:
                events.append((name, os.fspath(args[place])))
            return result

        monkeypatch.setattr(os, name, call)

    for name, place in (("open", 0), ("fsync", 0), ("replace", 1), ("unlink", 0), ("mkdir", 0), ("rmdir", 0)):
        record(name, place)
    build(tmp_path / "out", single())
    manifest = events.index(("replace", str(tmp_path / "out" / "manifest.json")))
    note = events.index(("unlink", str(tmp_path / "out" / PENDING)))
    assert events[-1] == ("fsync", str(tmp_path / "out")) and note == len(events) - 2
    for at, (name, path) in enumerate(events):
        folder = str(Path(path).parent)
        if name in ("replace", "mkdir") and at < manifest:
            assert ("fsync", folder) in events[at:manifest], (name, path)
        if name == "unlink" and at < note and Path(folder).is_dir():
            assert ("fsync", folder) in events[at:note], (name, path)
        if name == "rmdir":
            assert ("fsync", folder) in events[at:note], (name, path)
    assert any(name == "rmdir" for name, _ in events) and any(name == "mkdir" for name, _ in events)
