"""The tests that lie beside the example specs pass, and every spec has some."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPECS = ROOT / "workflows"


def test_every_spec_has_tests_and_they_pass() -> None:
    specs = [path for path in SPECS.rglob("*.yaml") if not path.name.endswith(".test.yaml")]
    untested = [path.name for path in specs if not path.with_suffix(".test.yaml").exists()]
    assert specs and not untested
    done = subprocess.run(
        [sys.executable, "-c", "from npac.cli.main import entry; entry()", "test", str(SPECS)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("passed")
