"""Findings as text for people and as data for machines: one renderer a module, loaded when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from npac.diagnostics.collector import ordered
from npac.diagnostics.render.options import DEFAULT_WIDTH, Options, rule_command

if TYPE_CHECKING:
    from typing import TextIO

    from npac.diagnostics.diagnostic import Diagnostic
    from npac.text.source import Span

__all__ = ["FORMATS", "RENDERERS", "Options", "Renderer", "emit", "render", "rule_command"]

RENDERERS = {
    "text": "npac.diagnostics.render.text",
    "concise": "npac.diagnostics.render.concise",
    "json": "npac.diagnostics.render.json",
    "sarif": "npac.diagnostics.render.sarif",
    "github": "npac.diagnostics.render.github",
}
FORMATS = tuple(RENDERERS)


class Renderer(Protocol):
    """What a renderer's module offers."""

    def render(self, diagnostics: Sequence[Diagnostic], options: Options) -> str:
        """Give the output for findings that are already in order."""
        ...


def render(
    name: str,
    diagnostics: Iterable[Diagnostic],
    *,
    color: bool = False,
    checked: int | None = None,
    hidden: Iterable[Span] = (),
    width: int = DEFAULT_WIDTH,
    raw: int = 0,
    silenced: int = 0,
    lesser: int = 0,
    quiet: bool = False,
) -> str:
    """Show findings in the format ``name``, one of ``FORMATS``; see ``Options`` for the rest.

    The findings are put in order (path, position, code).  The result is empty or ends with a
    newline.  Raises ``KeyError`` for a format that does not exist.
    """
    renderer = cast(Renderer, import_module(RENDERERS[name]))
    options = Options(color, checked, tuple(hidden), width, raw, silenced, lesser, quiet)
    return renderer.render(ordered(diagnostics), options)


def emit(text: str, stream: TextIO) -> None:
    """Write ``text``; characters that the stream's encoding lacks are written as escapes."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
