"""The readable files of a build can be made again from its objects."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from npac import api

SPEC = b"""\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: restored}
resources: {default: {cloud: kubernetes, image: "docker.io/nginx:1"}}
states:
  a: {run: {argv: [echo, "{{run.id}}"]}, next: b}
  b: {run: {shell: "echo b"}, terminal: true}
"""
PIN = {"docker.io/nginx:1": f"docker.io/nginx@sha256:{'0' * 64}"}


def tree(folder: Path) -> dict[str, bytes]:
    """Give every file of a folder by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("run_id", [None, "r1"])
def test_lost_and_changed_views_come_back_byte_for_byte(tmp_path: Path, run_id: str | None) -> None:
    built = tmp_path / "build"
    options = api.Options(pins=PIN, use_project=False)
    api.build(api.compile("restored.yaml", options, data=SPEC), built, run_id=run_id)
    whole = tree(built)
    shutil.rmtree(built / "waves")
    (built / "program.json").write_text("{}")
    assert {problem.path for problem in api.verify(built)} >= {"program.json"}
    api.restore(built)
    assert tree(built) == whole
    assert api.verify(built) == []


def test_a_damaged_object_gives_nothing_to_restore_from(tmp_path: Path) -> None:
    built = tmp_path / "build"
    api.build(api.compile("restored.yaml", api.Options(use_project=False), data=SPEC), built)
    for path in (built / "objects").rglob("*"):
        if path.is_file():
            path.write_bytes(b"damaged")
    with pytest.raises(api.NpacError) as refused:
        api.restore(built)
    assert refused.value.remedy


def test_a_folder_that_is_no_build_is_refused(tmp_path: Path) -> None:
    with pytest.raises(api.NpacError):
        api.restore(tmp_path)
