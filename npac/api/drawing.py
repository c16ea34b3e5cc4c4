"""Drawing specs: states, groups, loops and gates as SVG, Mermaid or Graphviz text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from npac.api.checking import DEFAULTS, Options, PathLike
from npac.api.planning import Planned, planned
from npac.api.writing import write_file
from npac.errors import NpacError

if TYPE_CHECKING:
    from npac.report.drawing import Drawing

GRAPH_FORMATS = ("svg", "mmd", "dot")
"""Formats of drawings: SVG, Mermaid, Graphviz."""

MOST_BOXES = 800
"""Boxes of the largest SVG; laying out more takes long, and nobody can read it."""

_ENDINGS = {"mermaid": "mmd", "gv": "dot"}


class Drawn(NamedTuple):
    """A spec as boxes and edges; ``subtitle`` counts what it has."""

    planned: Planned
    drawing: Drawing
    unrolled: bool = False

    @property
    def subtitle(self) -> str:
        """Say in a few words what is drawn."""
        return self.drawing.subtitle

    def as_text(self, format: str = "svg") -> str:
        """Give the drawing in one of :data:`GRAPH_FORMATS`.

        Raises :class:`NpacError` for a format that there is not, and for an SVG that would be too large.
        """
        _demand_format(format)
        if format == "mmd":
            from npac.report.mermaid import mermaid

            return mermaid(self.drawing)
        if format == "dot":
            from npac.report.dot import dot

            return dot(self.drawing)
        from npac.report.svg import svg

        boxes = len(self.drawing.boxes)
        if boxes > MOST_BOXES:
            instead = "Draw it without --unrolled, " if self.unrolled else "Look at it with npac plan, "
            raise NpacError(
                f"the drawing would have {boxes:,} boxes, and an SVG is drawn up to {MOST_BOXES}",
                remedy=f"{instead}or write it as .dot and lay it out with Graphviz.",
            )
        return svg(self.drawing)

    def write(self, output: PathLike, format: str | None = None) -> None:
        """Write the drawing to a file, in the format that its ending says if none is given.

        The file is written whole or not at all.  Raises :class:`NpacError`.
        """
        write_file(output, self.as_text(format or graph_format(output)).encode("utf-8"))


def graph(
    path: PathLike,
    options: Options = DEFAULTS,
    *,
    format: str = "svg",
    unrolled: bool = False,
    run_id: str | None = None,
    assume: str | None = None,
    decide: Mapping[str, Sequence[str]] | None = None,
    data: bytes | None = None,
) -> str:
    """Draw a spec or a build and give the text of the drawing, in one of :data:`GRAPH_FORMATS`.

    Drawn is the flow, each state once; with ``unrolled``, the program, each round of a loop by itself.
    With ``assume`` or ``decide`` (see :func:`plan`), what that path does not come to is faint.  Raises
    like :func:`compile`.
    """
    _demand_format(format)
    item = drawn(path, options, unrolled=unrolled, run_id=run_id, assume=assume, decide=decide, data=data)
    return item.as_text(format)


def drawn(
    path: PathLike,
    options: Options = DEFAULTS,
    *,
    unrolled: bool = False,
    run_id: str | None = None,
    assume: str | None = None,
    decide: Mapping[str, Sequence[str]] | None = None,
    data: bytes | None = None,
) -> Drawn:
    """Draw like :func:`graph`, and give the drawing itself, for any number of formats."""
    from npac.report.outline import outline

    if unrolled:
        from npac.report.unrolled import unroll as view
    else:
        from npac.report.folded import fold as view
    item = planned(path, options, run_id=run_id, assume=assume, decide=decide, data=data)
    unit = item.checked.unit if item.checked is not None else None
    notes = outline(unit.flow if unit is not None else None)
    return Drawn(item, view(item.program, {"run.id": item.run_id}, notes, item.path), unrolled)


def graph_format(output: PathLike) -> str:
    """Give the format that a file's ending says.  Raises :class:`NpacError` for an ending that says none."""
    ending = os.path.splitext(os.fspath(output))[1].removeprefix(".").lower()
    kind = _ENDINGS.get(ending, ending)
    if kind not in GRAPH_FORMATS:
        raise NpacError(
            f"the ending of {os.fspath(output)} names no format that npac draws",
            remedy="End it in .svg, .mmd or .dot, or add --format.",
        )
    return kind


def _demand_format(format: str) -> None:
    if format not in GRAPH_FORMATS:
        raise NpacError(f"npac draws no {format!r}", remedy=f"Choose one of {', '.join(GRAPH_FORMATS)}.")
