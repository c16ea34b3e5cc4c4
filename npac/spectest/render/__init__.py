"""Results of test files as text for people and as data for machines: one renderer a module."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol, cast

from npac.spectest.run import FileResult

RENDERERS = {
    "text": "npac.spectest.render.text",
    "json": "npac.spectest.render.json",
    "junit": "npac.spectest.render.junit",
}
FORMATS = tuple(RENDERERS)


class Renderer(Protocol):
    """What a renderer's module offers."""

    def render(self, results: Sequence[FileResult], *, color: bool) -> str:
        """Give the output for all files; it ends with a line feed."""
        ...


def render(name: str, results: Sequence[FileResult], *, color: bool = False) -> str:
    """Show results in the format ``name``.  Raises ``KeyError`` for a format that does not exist."""
    renderer = cast(Renderer, import_module(RENDERERS[name]))
    return renderer.render(results, color=color)
