"""The fenced blocks of the documentation, by what they say of themselves.

A block's info string is a language and then words: ``yaml spec`` is a spec that checks without a
warning, ``yaml broken NAME`` one whose findings stand in ``text output NAME``, ``yaml excerpt PATH``
lines of a file below ``golden/``, ``yaml catalog NAME`` a catalog file, ``yaml spec catalog=NAME`` a
spec that needs it, ``python example`` a program that runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
_BLOCK = re.compile(r"^```([^\n`]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block; ``line`` is that of its first line of text."""

    page: Path
    line: int
    words: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"


def blocks(*words: str) -> list[Block]:
    """Give all blocks whose info string begins with these words, page by page."""
    return [block for page in PAGES for block in _of(page) if block.words[: len(words)] == words]


def _of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        yield Block(page, line, tuple(match[1].split()), match[2])


def replace(block: Block, text: str) -> None:
    """Write another text into a block of its page."""
    whole = block.page.read_text(encoding="utf-8")
    fence = f"```{' '.join(block.words)}\n"
    assert whole.count(fence + block.text) == 1
    block.page.write_text(whole.replace(f"{fence}{block.text}```", f"{fence}{text}```"), encoding="utf-8")
