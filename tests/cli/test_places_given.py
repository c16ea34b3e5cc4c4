"""Paths of the wrong kind, and paths that are no text: what is there is said, and shown as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.command import invoke
from tests.cli.runs_of import home, sh, write

__all__ = ["home"]

ROOT = Path(__file__).resolve().parents[2]


def npac(folder: Path, *arguments: bytes) -> subprocess.CompletedProcess[bytes]:
    script = "from npac.cli.main import entry; entry()"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("restore", [(), ("--restore",)], ids=["verify", "restore"])
def test_verify_of_no_folder_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str], restore: tuple[str, ...]
) -> None:
    done = invoke(capsys, "verify", "nowhere", *restore)
    assert done.code == 2 and "there is no folder nowhere" in done.err and not done.out
    (home / "file").touch()
    done = invoke(capsys, "verify", "file", *restore)
    assert done.code == 2 and "file is not a folder, so it is no build" in done.err and not done.out


def test_verify_of_a_folder_without_a_build_is_a_finding(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "empty").mkdir()
    done = invoke(capsys, "verify", "empty")
    assert done.code == 1 and "lacking" in done.out


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("null", "null is a link to a device, pipe or socket, not a folder"),
        ("/dev/full", "/dev/full is a device, pipe or socket, not a folder"),
        ("file", "file is a file, not a folder"),
        ("linked", "linked is a link to a file, not a folder"),
        ("dead", "dead is a link that leads nowhere, not a folder"),
        ("file/below/it", "file is a file, not a folder, so no build can be written to file/below/it"),
        ("pipe", "pipe is a device, pipe or socket, not a folder"),
    ],
)
def test_a_build_is_not_written_to_what_is_no_folder(
    home: Path, capsys: pytest.CaptureFixture[str], output: str, words: str
) -> None:
    spec = write(home, f"  first: {sh('true', 'terminal: true')}\n")
    (home / "file").touch()
    os.mkfifo(home / "pipe")
    for name, target in (("null", "/dev/null"), ("linked", "file"), ("dead", "nowhere-at-all")):
        (home / name).symlink_to(target)
    done = invoke(capsys, "compile", spec, "-o", output)
    assert done.code == 2 and words in done.err, done
    assert "Choose another folder with -o" in done.err and "permission" not in done.err


@pytest.mark.parametrize("style", ["text", "concise", "github"])
def test_bytes_of_a_path_that_are_no_text_are_shown_as_bytes(tmp_path: Path, style: str) -> None:
    (tmp_path / os.fsdecode(b"\xff.yaml")).write_text("x: 1\n")
    done = npac(tmp_path, b"check", b"--format", style.encode(), b"\xff.yaml")
    assert done.returncode == 1 and rb"\xff.yaml" in done.stdout, done
    assert b"udcff" not in done.stdout.lower() and b"U+DC" not in done.stdout


def test_errors_show_such_paths_in_the_same_way(tmp_path: Path) -> None:
    for command in (b"check", b"verify", b"run"):
        done = npac(tmp_path, command, b"no-\xff\xe4")
        assert done.returncode == 2 and rb"no-\xff\xe4" in done.stderr and b"udc" not in done.stderr, done
