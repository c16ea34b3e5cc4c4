"""git waits for ever to read ignore patterns from a pipe; npac does not."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from npac import discovery
from npac.discovery import find_specs, find_tests
from npac.errors import NpacError
from tests.api.specs import PLAIN


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "plain.yaml").write_text(PLAIN, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("place", [".gitignore", "deep/.gitignore", ".git/info/exclude"])
def test_a_pipe_of_patterns_is_named(repository: Path, place: str) -> None:
    pipe = repository / place
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    begun = time.monotonic()
    for find, folder in ((find_specs, repository), (find_tests, repository / "deep")):
        with pytest.raises(NpacError, match="no regular file, and git cannot read it") as caught:
            find(str(folder))
        assert str(pipe) in str(caught.value)
    assert time.monotonic() - begun < 30


def test_patience_with_git_ends(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(repository / ".gitignore")
    monkeypatch.setattr(discovery, "GIT_QUIET", 0.1)
    monkeypatch.setattr(discovery, "GIT_PATIENCE", 0.1)
    monkeypatch.setattr(discovery, "_odd_ignore_file", lambda folder: None)
    with pytest.raises(NpacError, match="git does not answer"):
        find_specs(str(repository))


def test_a_slow_git_is_waited_for(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "GIT_QUIET", 0.0)
    assert find_specs(str(repository)) == [str(repository / "deep" / "plain.yaml")]
