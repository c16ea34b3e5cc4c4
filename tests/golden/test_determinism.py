"""The same specs compile to the same bytes, whatever surrounds the compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.golden.cases import CASES, REPOSITORY, WORKFLOWS, Case, files

SPECS = (
    "quickstart.yaml",
    "testing/gate-loop.yaml",
    "testing/parallel-sweep.yaml",
    "main/gridworld-policy.yaml",
)


def compile_in(folder: Path, *arguments: str, **environment: str) -> dict[str, bytes]:
    """Copy the specs to a folder of their own, compile them there in a new process, and give all files."""
    shutil.copytree(WORKFLOWS, folder / "workflows")
    (folder / "elsewhere").mkdir()
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    subprocess.run(
        [
            sys.executable,
            "-c",
            "from npac.cli.main import entry; entry()",
            "compile",
            *arguments,
            "-o",
            "built",
        ],
        cwd=folder / "elsewhere",
        env={**inherited, "PYTHONPATH": str(REPOSITORY), **environment},
        check=True,
        capture_output=True,
        timeout=120,
    )
    return files(folder / "elsewhere" / "built")


def test_builds_do_not_depend_on_place_hash_seed_time_zone_or_language(tmp_path: Path) -> None:
    specs = [f"../workflows/{spec}" for spec in SPECS]
    (tmp_path / "a").mkdir()
    (tmp_path / "a much longer folder name").mkdir()
    one = compile_in(tmp_path / "a", *specs, PYTHONHASHSEED="1", TZ="UTC", LANG="C")
    other = compile_in(
        tmp_path / "a much longer folder name",
        *specs,
        PYTHONHASHSEED="4242",
        TZ="Pacific/Chatham",
        LANG="tr_TR.UTF-8",
        PYTHONUTF8="1",
        COLUMNS="40",
        NO_COLOR="1",
        AWS_ENDPOINT_URL="https://storage.example.com",
        NPA_SRC_S3_URI="s3://bucket/source",
    )
    assert sorted(one) == sorted(other)
    assert [path for path in one if one[path] != other[path]] == []
    assert {path.split("/")[0] for path in one} == {Path(spec).stem for spec in SPECS}


def test_linked_builds_do_not_depend_on_them_either(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.run_id is not None)
    (tmp_path / "a").mkdir()
    built = compile_in(
        tmp_path / "a",
        f"../workflows/{case.spec}",
        "--run-id",
        str(case.run_id),
        PYTHONHASHSEED="77",
        TZ="Asia/Kathmandu",
    )
    case.build(tmp_path / "here")
    assert built == files(tmp_path / "here")


def test_the_name_of_the_spec_file_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    shutil.copy(WORKFLOWS / "quickstart.yaml", tmp_path / "renamed.yaml")
    built = compile_in(tmp_path / "a", str(tmp_path / "renamed.yaml"))
    Case("quickstart", "quickstart.yaml").build(tmp_path / "here")
    assert built == files(tmp_path / "here")
