"""A drawing without any geometry: boxes, groups of boxes, edges.

It is what the programs' two views (folded, unrolled) make and what the three writers (SVG, Mermaid,
DOT) read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Outline:
    """What a spec says and its program does not keep.

    ``descriptions`` are by state.  ``ends`` names the terminal state that a state leads to when it
    does no work itself, by (state, decision); the decision is empty where none is read.
    ``unreached`` are the states that no path comes to.
    """

    descriptions: Mapping[str, str] = field(default_factory=dict)
    ends: Mapping[tuple[str, str], str] = field(default_factory=dict)
    unreached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Box:
    """One thing that is drawn as one shape.

    ``kind`` is ``start``, ``wave``, ``gate``, ``end``, ``more`` (members that are not drawn) or, in
    Mermaid only, ``group`` (a whole parallel group as one box).
    ``note`` is for the tooltip; ``off`` says that a chosen path does not come here.
    """

    id: str
    kind: str
    title: str = ""
    lines: tuple[str, ...] = ()
    note: str = ""
    group: str = ""
    off: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A frame around boxes: ``kind`` is ``sequence``, ``loop`` or ``parallel``."""

    id: str
    kind: str
    title: str
    lines: tuple[str, ...] = ()
    note: str = ""
    group: str = ""
    """The group around this one; empty for none."""
    columns: int = 0
    """How many members of a parallel group stand side by side (a batch, where it is small enough)."""
    off: bool = False


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between boxes or parallel groups.

    ``kind`` is ``next``, ``promote_checkpoint`` or ``loop_back``.  ``again`` is the loop whose next
    round the edge begins (it leads back up); empty for an edge that leads on.
    """

    source: str
    target: str
    kind: str = "next"
    label: str = ""
    again: str = ""
    off: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole drawing; boxes, groups and edges stand in the order of the program."""

    title: str
    subtitle: str
    boxes: tuple[Box, ...]
    groups: tuple[Group, ...]
    edges: tuple[Edge, ...]
    footnotes: tuple[str, ...] = ()


def description(drawing: Drawing, limit: int = 60) -> str:
    """Say in sentences what a drawing shows, for who cannot see it; at most ``limit`` edges are named."""
    names = {box.id: box.title or box.kind for box in drawing.boxes}
    names |= {group.id: group.title for group in drawing.groups}
    shown = [edge for edge in drawing.edges if names[edge.source] != "start"]
    parts = [f"{drawing.subtitle}."]
    for edge in shown[:limit]:
        how = f" ({edge.label})" if edge.label else ""
        parts.append(
            f"{names[edge.source]} leads {'back ' if edge.again else ''}to {names[edge.target]}{how}."
        )
    if len(shown) > limit:
        parts.append(f"And {len(shown) - limit} more edges.")
    return " ".join(parts)
