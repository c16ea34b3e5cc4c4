"""``npac.api``: drawings as text and as files."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from npac import api
from npac.api import NpacError, Options
from tests.api.command import ROOT, invoke, spawn
from tests.api.specs import BROKEN, GOOD

NOWHERE = Options(use_project=False)
BEGINNINGS = {"svg": "<svg ", "mmd": "%% sample", "dot": "digraph"}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_every_format_is_text_and_what_the_command_prints(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(BEGINNINGS) == set(api.GRAPH_FORMATS)
    for format, begin in BEGINNINGS.items():
        text = api.graph(spec, format=format)
        assert text.startswith(begin) and text.endswith("\n")
        assert invoke(capsys, "graph", spec, "--format", format).out == text


def test_a_drawing_is_made_once_for_all_formats(spec: Path) -> None:
    item = api.drawn(spec, unrolled=True, decide={"refine": ["loop_back", "promote"]})
    assert item.subtitle == "4 waves, 3 gates, unrolled"
    assert len(item.planned.path or ()) == 6
    assert item.as_text("mmd").count(":::gate") == 2  # the third gate is faint: it is not come to
    assert item.as_text("dot").startswith("digraph")
    whole = api.graph("spec.yaml", NOWHERE, data=GOOD.encode(), format="mmd")
    assert whole == api.drawn(spec).as_text("mmd")


def test_what_cannot_be_drawn_is_refused(spec: Path) -> None:
    for draw in (lambda: api.graph(spec, format="png"), lambda: api.drawn(spec).as_text("png")):
        with pytest.raises(NpacError, match="png") as caught:
            draw()
        assert "svg, mmd, dot" in caught.value.remedy
    with pytest.raises(NpacError, match="names no format"):
        api.graph_format("x.png")
    with pytest.raises(api.SpecError):
        api.graph("x.yaml", NOWHERE, data=BROKEN.encode())


def test_a_file_is_written_in_the_format_of_its_ending(spec: Path, tmp_path: Path) -> None:
    item = api.drawn(spec)
    output = tmp_path / "x.gv"
    item.write(output)
    assert output.read_text(encoding="utf-8") == item.as_text("dot")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(output.stat().st_mode) == 0o666 & ~umask
    link = tmp_path / "link.svg"
    link.symlink_to(output)
    output.chmod(0o640)
    item.write(link)
    assert link.is_symlink() and output.read_text(encoding="utf-8") == item.as_text("svg")
    assert stat.S_IMODE(output.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.svg", "spec.yaml", "x.gv"]


@pytest.mark.parametrize(
    ("place", "reason", "remedy"),
    [
        ("absent/x.svg", "No such file or directory", "Make the folder {folder}/absent first"),
        ("spec.yaml/x.svg", "Not a directory", "Make the folder {folder}/spec.yaml first"),
        ("folder.svg", "Is a directory", "name a file in it"),
        ("n" * 300 + ".svg", "File name too long", "shorter"),
    ],
)
def test_a_place_that_cannot_be_written_is_named_with_a_remedy(
    place: str, reason: str, remedy: str, spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder.svg").mkdir()
    output = tmp_path / place
    done = invoke(capsys, "graph", spec, "-o", output)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {output} cannot be written: {reason}\n  help: ")
    assert remedy.format(folder=tmp_path) in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.svg", "spec.yaml"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_is_named_with_a_remedy(spec: Path) -> None:
    done = spawn("graph", spec, "--format", "svg", "-o", "/dev/full")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: /dev/full cannot be written: No space left on device\n")
    assert "  help: Make room " in done.err


def test_a_write_that_is_cut_off_leaves_the_old_file_whole(spec: Path, tmp_path: Path) -> None:
    output = tmp_path / "x.svg"
    output.write_text("old", encoding="utf-8")
    item = api.drawn(spec)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(NpacError, match=r"x\.svg cannot be written: File too large") as caught:
            item.write(output)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.remedy
    assert output.read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spec.yaml", "x.svg"]


def test_a_pipe_is_written_to_and_stays(spec: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        api.drawn(spec).write(pipe, "mmd")
        assert os.read(reading, 9) == b"%% sample"
    finally:
        os.close(reading)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try another user's permissions")
def test_permissions_of_a_file_and_of_its_folder_are_those_of_the_user() -> None:
    code = (
        "import os, sys; from npac.api.writing import write_file; from npac.errors import NpacError\n"
        "os.setuid(65534)\n"
        "for name in ('open', 'locked', 'new'):\n"
        "    try: write_file(os.path.join(sys.argv[1], name), b'new')\n"
        "    except NpacError as error: print(error, error.remedy)\n"
    )
    folder = Path(tempfile.mkdtemp(prefix="npac-test-"))
    try:
        for name, mode in (("open", 0o666), ("locked", 0o444)):
            (folder / name).write_text("old", encoding="utf-8")
            (folder / name).chmod(mode)
        folder.chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", code, folder], cwd=ROOT, capture_output=True, text=True, check=True
        )
        said = "cannot be written: Permission denied Mend its permissions"
        assert [line.split(" and ")[0] for line in done.stdout.splitlines()] == [
            f"{folder}/{name} {said}" for name in ("locked", "new")
        ]
        assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == {
            "open": "new",
            "locked": "old",
        }
    finally:
        shutil.rmtree(folder)
