"""What the tests of this folder share: codes, and findings made from a text and a part of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from npac.diagnostics.diagnostic import Code, Diagnostic, Fix, Related, Severity
from npac.text.source import SourceFile, Span

STATE = Code("NPA302", "unknown-state", Severity.ERROR, "a state that is named does not exist")
SPELLING = Code("NPA106", "old-spelling", Severity.WARNING, "a snake_case spelling of a key")
NOTE = Code("NPA215", "unused-config-key", Severity.NOTE, "nothing reads a config key")


def part(source: SourceFile, text: str, at: int | None = None) -> Span:
    """Give the place of ``text``: the first one, or the one that begins at ``at``."""
    start = source.text.index(text) if at is None else at
    assert source.text[start : start + len(text)] == text
    return source.span(start, start + len(text))


Make = Callable[..., Diagnostic]


@pytest.fixture
def make() -> Make:
    """Give a function that makes a finding about ``needle`` in ``text``."""

    def finding(
        text: str | SourceFile,
        needle: str,
        *,
        at: int | None = None,
        code: Code = STATE,
        message: str = "no state `trian`",
        help: str = "",
        path: str = "specs/a.yaml",
        related: tuple[tuple[str, str], ...] = (),
        fix: Fix | None = None,
    ) -> Diagnostic:
        source = text if isinstance(text, SourceFile) else SourceFile(path, text)
        others = tuple(Related(said, part(source, place)) for said, place in related)
        return Diagnostic(code, message, part(source, needle, at), others, help, fix)

    return finding


@pytest.fixture
def codes() -> tuple[Code, Code, Code]:
    """Give an error's, a warning's and a note's code."""
    return STATE, SPELLING, NOTE


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Give a function that writes files below a fresh folder."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        return tmp_path

    return write
