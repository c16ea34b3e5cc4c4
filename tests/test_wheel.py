"""The wheel: all that npac needs is in it, and it works far from the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("hatchling", reason="hatchling is not installed, so no wheel can be built here")

ROOT = Path(__file__).resolve().parents[1]
SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: far-away}
config:
  words: as they are
  copy: FOLDER/copy.txt
initial: write
states:
  write:
    run: {shell: "printf '%s' '{{config.words}}' > FOLDER/words.txt"}
    outputs: [{uri: "file://FOLDER/words.txt", schema: text}]
    next: read
  read:
    run: {argv: [cp, FOLDER/words.txt, "{{config.copy}}"]}
    inputs: [{uri: "file://FOLDER/words.txt", schema: text}]
    outputs: [{uri: "file://{{config.copy}}", schema: text}]
    terminal: true
"""


class Installed(NamedTuple):
    """An environment that has the wheel, and whose ``npac`` is called from the root folder."""

    wheel: Path
    python: Path

    def npac(self, home: Path, *argv: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.python.with_name("npac")), *argv]
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home)}
        return subprocess.run(command, cwd="/", env=env, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check"]
    # Built by the back end and run by the libraries that are here already: no index is asked.
    build = [
        "wheel",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run([*pip, *build], check=True)
    (wheel,) = folder.glob("npac-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run(
        [*pip, "--python", str(python), "install", "--no-index", "--no-deps", str(wheel)], check=True
    )
    said = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    # The path of the libraries, and not what their .pth files add: so npac itself is the wheel's.
    libraries = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    Path(said.stdout.strip(), "libraries.pth").write_text("".join(f"{path}\n" for path in libraries))
    return Installed(wheel, python)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC.replace("FOLDER", str(tmp_path)), encoding="utf-8")
    return path


def test_the_wheel_has_every_file_and_no_other(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as file:
        held = {name for name in file.namelist() if ".dist-info/" not in name}
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    moved = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert {"grammar", "schemas"} <= set(moved)
    assert held == {
        f"{to}/{path.relative_to(ROOT / top).as_posix()}"
        for top, to in {"npac": "npac", **moved}.items()
        for path in (ROOT / top).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def test_what_runs_is_the_wheel(installed: Installed) -> None:
    code = "import npac; print(npac.__file__)"
    done = subprocess.run([installed.python, "-c", code], cwd="/", capture_output=True, text=True, check=True)
    assert Path(done.stdout).is_relative_to(installed.python.parents[1])


def test_the_version_is_the_packages(installed: Installed, home: Path) -> None:
    done = installed.npac(home, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"npac {installed.wheel.name.split('-')[1]}\n"


def test_check_compile_and_verify(installed: Installed, home: Path, spec: Path, tmp_path: Path) -> None:
    done = installed.npac(home, "check", str(spec))
    assert done.returncode == 0, done.stdout + done.stderr
    build = tmp_path / "build"
    done = installed.npac(home, "compile", str(spec), "-o", str(build))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (build / "manifest.json").is_file()
    done = installed.npac(home, "verify", str(build))
    assert done.returncode == 0, done.stdout + done.stderr
    assert os.listdir(home) == []


def test_a_fault_is_shown_with_its_place(installed: Installed, home: Path, spec: Path) -> None:
    spec.write_text(spec.read_text().replace("config.words", "config.werds"))
    done = installed.npac(home, "check", str(spec))
    assert done.returncode == 1
    assert f"{spec}:10:" in done.stdout and "did you mean 'words'?" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_run_goes_to_its_end(installed: Installed, home: Path, spec: Path, tmp_path: Path) -> None:
    done = installed.npac(home, "run", str(spec), "--run-id", "far-1", "--poll-seconds", "0.1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "copy.txt").read_text() == "as they are"
    done = installed.npac(home, "status", "far-1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "succeeded" in done.stdout.lower()
