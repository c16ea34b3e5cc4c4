"""The scripts that the SkyPilot documents carry, on the embedded engine."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from npac.backends.skypilot.documents import LaunchValues, link_documents, unlinked
from npac.ir.linking import LinkRecord
from npac.ir.program import Program, ToolSetup
from tests.ir.programs import single

LAUNCH_ID = "npa-launch-scripts"


def documents(program: Program) -> list[dict[str, Any]]:
    launch = LaunchValues(attempt=1, fence=1, launch_id=LAUNCH_ID, number=1)
    return link_documents(unlinked(program, program.waves()[0], 0), LinkRecord("run-1"), launch)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files, and a python3 that is the one of these tests."""
    programs = tmp_path / "bin"
    programs.mkdir()
    python = programs / "python3"
    python.write_text(f'#!/bin/bash\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def left_behind() -> list[Path]:
    return sorted(Path("/tmp").glob(f"npac-*{LAUNCH_ID}*"))


def test_a_step_without_a_tool_and_without_source(bench: Any, temporary: Path) -> None:
    engine = bench.engine()
    job = bench.launch(engine, *documents(single(argv=("python3", "-c", "print(6 * 7)"))))
    assert bench.finish(engine, job).status == "SUCCEEDED"
    assert bench.log(engine, job) == "42\n"
    assert list(Path(engine.root, "jobs", job, "0", "0.state").iterdir()) == []
    assert list(temporary.iterdir()) == []
    assert left_behind() == []


def test_a_requirement_is_installed_for_the_task_and_nowhere_else(bench: Any, temporary: Path) -> None:
    wheel = temporary.parent / "npac_engine_probe-1.0-py3-none-any.whl"
    about = "npac_engine_probe-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("npac_engine_probe.py", "VALUE = 'installed'\n")
        file.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: npac_engine_probe\nVersion: 1.0\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", "")
    program = single(
        argv=("python3", "-c", "import npac_engine_probe as probe; print(probe.VALUE)"),
        setup=ToolSetup(pip_requirements=(("python:npac_engine_probe", str(wheel)),)),
    )
    engine = bench.engine()
    (document,) = documents(program)
    document["envs"] = {**document.get("envs", {}), "PIP_NO_INDEX": "1"}
    job = bench.launch(engine, {**document, "num_nodes": 2})
    row = bench.finish(engine, job)
    folder = Path(engine.root, "jobs", job, "0")
    assert row.status == "SUCCEEDED", (folder / "0.log").read_text()
    for rank in (0, 1):
        assert (folder / f"{rank}.log").read_text().endswith("installed\n")
        assert (folder / f"{rank}.state" / "venv" / "bin" / "python").exists()
    there = subprocess.run([sys.executable, "-c", "import npac_engine_probe"], capture_output=True)
    assert there.returncode != 0
    assert list(temporary.iterdir()) == []
    assert left_behind() == []
