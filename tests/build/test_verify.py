from __future__ import annotations

import json
from pathlib import Path

import pytest

from npac.build.errors import BuildError
from npac.build.reader import read_build
from npac.build.store import object_path
from npac.build.verify import verify_build
from npac.ir.canonical import canonical_bytes, digest_bytes
from tests.api.command import invoke
from tests.build.test_writer import build


def _kinds(directory: Path) -> list[tuple[str, str]]:
    return [(problem.kind, problem.path) for problem in verify_build(directory)]


def test_what_was_changed_lacks_or_is_extra_is_named(tmp_path: Path) -> None:
    manifest = build(tmp_path)
    program = object_path(manifest.program)
    (tmp_path / "graph.mmd").write_text("x")
    (tmp_path / "waves" / "001-prepare.sky.yaml").unlink()
    (tmp_path / "waves" / "more.yaml").write_text("x")
    (tmp_path / program).write_bytes(b"{}")
    (tmp_path / "objects" / "sha256" / "00").mkdir(exist_ok=True)
    (tmp_path / "objects" / "sha256" / "00" / ("0" * 64)).write_text("x")
    assert _kinds(tmp_path) == sorted(
        [
            ("changed", "graph.mmd"),
            ("changed", program),
            ("extra", "objects/sha256/00/" + "0" * 64),
            ("lacking", "waves/001-prepare.sky.yaml"),
            ("extra", "waves/more.yaml"),
        ],
        key=lambda entry: entry[1],
    )
    with pytest.raises(BuildError, match="was changed"):
        read_build(tmp_path)


def test_a_link_to_a_folder_is_extra(tmp_path: Path) -> None:
    build(tmp_path / "out")
    (tmp_path / "out" / "more").symlink_to(tmp_path)
    assert _kinds(tmp_path / "out") == [("extra", "more")]


def test_every_single_file_is_covered(tmp_path: Path) -> None:
    build(tmp_path)
    for path in sorted(tmp_path.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        path.write_bytes(data + b" ")
        # A blank after the manifest's JSON changes nothing that it says.
        if path.name != "manifest.json":
            assert ("changed", path.relative_to(tmp_path).as_posix()) in _kinds(tmp_path)
        path.unlink()
        assert ("lacking", path.relative_to(tmp_path).as_posix()) in _kinds(tmp_path)
        path.write_bytes(data)
    assert _kinds(tmp_path) == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "not json", "[" * 100_000, '{"schema": "npac.manifest/v9"}', "\xff"]
)
def test_a_manifest_that_is_none_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_bytes(text.encode("latin-1"))
    assert _kinds(tmp_path) == [("unreadable", "manifest.json")]
    with pytest.raises(BuildError) as caught:
        read_build(tmp_path)
    assert "no manifest that this npac can read" in str(caught.value) and caught.value.remedy


def test_a_folder_without_a_build_is_said(tmp_path: Path) -> None:
    assert _kinds(tmp_path) == [("lacking", "manifest.json")]
    with pytest.raises(BuildError, match="is no build"):
        read_build(tmp_path / "nowhere")


def test_a_program_that_hashes_right_and_is_unsound_is_refused(tmp_path: Path) -> None:
    manifest = build(tmp_path)
    path = tmp_path / object_path(manifest.program)
    data = json.loads(path.read_bytes())
    data["nodes"][0]["number"] = 5
    body = canonical_bytes(data)
    forged = digest_bytes(body)
    target = tmp_path / object_path(forged)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(body)
    path.unlink()
    text = (tmp_path / "manifest.json").read_text(encoding="utf-8").replace(manifest.program, forged)
    (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(BuildError, match="is unsound: wave prepare has number 5"):
        read_build(tmp_path)
    assert _kinds(tmp_path) == [("unreadable", object_path(forged))]


def test_a_remedy_says_what_can_be_made_again(tmp_path: Path) -> None:
    manifest = build(tmp_path / "my build")
    folder = tmp_path / "my build"
    (folder / "graph.mmd").write_text("x")
    (folder / "waves" / "more.yaml").write_text("x")
    assert [problem.remedy for problem in verify_build(folder)] == [
        f"npac verify --restore '{folder}' makes the readable files again.",
        "Remove what is no part of the build, or move it away.",
    ]
    # Views are made from objects: without a whole object there is nothing to make them from.
    (folder / object_path(manifest.program)).write_bytes(b"{}")
    remedies = {problem.path: problem.remedy for problem in verify_build(folder)}
    assert remedies["graph.mmd"] == remedies[object_path(manifest.program)]
    assert remedies["graph.mmd"].startswith("Compile again")


def test_views_of_another_version_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path)
    (tmp_path / "graph.mmd").unlink()
    monkeypatch.setattr("npac.build.verify.__version__", "0.0.0")
    assert [problem.remedy[:13] for problem in verify_build(tmp_path)] == ["Compile again"]


def test_the_command_shows_each_remedy_once_and_it_helps(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    build(tmp_path)
    (tmp_path / "graph.mmd").unlink()
    (tmp_path / "program.json").write_text("{}")
    done = invoke(capsys, "verify", tmp_path)
    assert done.code == 1
    assert done.out.splitlines()[2:] == [
        f"  help: npac verify --restore {tmp_path} makes the readable files again."
    ]
    assert invoke(capsys, "verify", "--restore", tmp_path).code == 0
    assert invoke(capsys, "verify", tmp_path).code == 0
