"""A drawing as SVG: one file without scripts, fonts or links, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from npac.report.drawing import Box, Drawing, Edge, Group, description
from npac.report.layout import Point, Rect, Route
from npac.report.nesting import (
    LABEL_SIZE,
    LINE,
    LINE_SIZE,
    PAD,
    TITLE_LINE,
    TITLE_SIZE,
    Placement,
    nest,
)
from npac.report.typeset import mono_width, sans_width

MARGIN = 24.0
HEAD = 46.0
ARROW = 7.0
CORNER = 8.0

STYLE = """\
.npac text{font-family:ui-sans-serif,system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}
.npac .m{font-family:ui-monospace,'SF Mono',Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;\
font-weight:600}
.npac .h{fill:#6f7787}
.npac .wave rect{fill:#eef3fd;stroke:#5b84d8}.npac .wave text{fill:#15233f}.npac .wave .s{fill:#4c5a76}
.npac .gate path{fill:#fff3d1;stroke:#cf9418}.npac .gate text{fill:#473203}.npac .gate .s{fill:#7a5a10}
.npac .end rect{fill:#dff3e6;stroke:#2f9a5c}.npac .end text{fill:#12452a}
.npac .start circle{fill:#6f7787}
.npac .more rect{fill:none;stroke:#6f7787;stroke-dasharray:3 3}.npac .more text{fill:#6f7787}
.npac .sequence>rect{fill:#7f8797;fill-opacity:.06;stroke:#8a93a5;stroke-dasharray:4 3}
.npac .sequence>text{fill:#6f7787}
.npac .loop>rect{fill:#8257e6;fill-opacity:.07;stroke:#8f6be8}.npac .loop>text{fill:#8257e6}
.npac .parallel>rect{fill:#0f8b7e;fill-opacity:.08;stroke:#2a9d90}.npac .parallel>text{fill:#0f857a}
.npac .e path{fill:none;stroke-width:1.5}.npac .e{stroke-linecap:round;stroke-linejoin:round}
.npac .next path{stroke:#7c8597}.npac .next polygon{fill:#7c8597}.npac .next text{fill:#6f7787}
.npac .promote_checkpoint path{stroke:#238c50}.npac .promote_checkpoint polygon{fill:#238c50}
.npac .promote_checkpoint text{fill:#1f8a4c}
.npac .loop_back path{stroke:#cc6114}.npac .loop_back polygon{fill:#cc6114}.npac .loop_back text{fill:#c4590e}
.npac .off{opacity:.38}
@media (prefers-color-scheme:dark){
.npac .wave rect{fill:#1a2740}.npac .wave text{fill:#e4ecfb}.npac .wave .s{fill:#a9b8d6}
.npac .gate path{fill:#3a2f12}.npac .gate text{fill:#fbeecb}.npac .gate .s{fill:#dcbf7a}
.npac .end rect{fill:#16321f}.npac .end text{fill:#cdeed9}
}
"""

_KEPT = "\n\t"


def svg(drawing: Drawing) -> str:
    """Give the SVG text of a drawing; equal drawings give equal bytes."""
    placed = nest(drawing)
    head_width = max(mono_width(drawing.title, 16), sans_width(drawing.subtitle, 12))
    notes = [sans_width(note, LABEL_SIZE) for note in drawing.footnotes]
    content = max([placed.width, head_width, *notes])
    width = content + 2 * MARGIN
    foot = 22.0 * bool(drawing.footnotes) + 16 * len(drawing.footnotes)
    height = placed.height + HEAD + foot + 2 * MARGIN
    dx, dy = MARGIN + (content - placed.width) / 2, MARGIN + HEAD
    key = f"npac-{escape(drawing.title)}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="npac" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="img" aria-labelledby="{key}-title {key}-desc">',
        f'<title id="{key}-title">{escape(drawing.title)}</title>',
        f'<desc id="{key}-desc">{escape(description(drawing))}</desc>',
        f"<style>\n{STYLE}</style>",
        _text(MARGIN, MARGIN + 14, drawing.title, 16, "m h"),
        _text(MARGIN, MARGIN + 33, drawing.subtitle, 12, "h"),
        f'<g transform="translate({_n(dx)} {_n(dy)})">',
    ]
    lines += [_group(group, placed.groups[group.id]) for group in _outermost_first(drawing, placed)]
    lines += [_edge(edge, route) for edge, route in zip(drawing.edges, placed.routes, strict=True)]
    lines += [_box(box, placed.boxes[box.id]) for box in drawing.boxes]
    lines.append("</g>")
    for at, note in enumerate(drawing.footnotes):
        lines.append(
            _text(MARGIN, height - MARGIN - 16 * (len(drawing.footnotes) - 1 - at), note, LABEL_SIZE, "h")
        )
    return "\n".join((*lines, "</svg>", ""))


def escape(text: str) -> str:
    """Give a text for XML; what XML cannot hold, and what turns the direction of text, is replaced."""
    clean = "".join(char if _sound(char) else "\ufffd" for char in text)
    return (
        clean.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )


def _sound(char: str) -> bool:
    code = ord(char)
    if code < 0x20:
        return char in _KEPT
    if 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE:
        return False
    return not (0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 or code in (0x200E, 0x200F))


def _outermost_first(drawing: Drawing, placed: Placement) -> list[Group]:
    return sorted(drawing.groups, key=lambda group: -placed.groups[group.id].width)


def _group(group: Group, at: Rect) -> str:
    lines = [
        f'<g class="{group.kind}{_off(group.off)}" data-id="{escape(group.id)}">{_note(group.note)}'
        f'<rect x="{_n(at.x)}" y="{_n(at.y)}" width="{_n(at.width)}" height="{_n(at.height)}" rx="10"/>',
        _text(at.x + PAD, at.y + 10 + TITLE_SIZE, group.title, TITLE_SIZE, "m"),
    ]
    for row, line in enumerate(group.lines, 1):
        lines.append(_text(at.x + PAD, at.y + 10 + TITLE_SIZE + LINE * row + 2, line, LINE_SIZE, ""))
    return "".join(lines) + "</g>"


def _box(box: Box, at: Rect) -> str:
    opening = f'<g class="{box.kind}{_off(box.off)}" data-id="{escape(box.id)}">{_note(box.note)}'
    middle = at.x + at.width / 2
    if box.kind == "start":
        return (
            f'{opening}<circle cx="{_n(middle)}" cy="{_n(at.y + at.height / 2)}" r="{_n(at.width / 2)}"/></g>'
        )
    if box.kind == "gate":
        level, right, low = at.y + at.height / 2, at.x + at.width, at.y + at.height
        shape = (
            f'<path d="M{_n(middle)} {_n(at.y)}L{_n(right)} {_n(level)}L{_n(middle)} {_n(low)}'
            f'L{_n(at.x)} {_n(level)}Z"/>'
        )
    else:
        radius = at.height / 2 if box.kind == "end" else 7
        shape = (
            f'<rect x="{_n(at.x)}" y="{_n(at.y)}" width="{_n(at.width)}" height="{_n(at.height)}" '
            f'rx="{_n(radius)}"/>'
        )
    total = TITLE_LINE + LINE * len(box.lines)
    y = at.y + (at.height - total) / 2 + 12.5
    texts = [_text(middle, y, box.title, TITLE_SIZE, "m", middle=True)]
    for row, line in enumerate(box.lines, 1):
        texts.append(_text(middle, y + LINE * row + 2, line, LINE_SIZE, "s", middle=True))
    return f"{opening}{shape}{''.join(texts)}</g>"


def _edge(edge: Edge, route: Route) -> str:
    parts = []
    tip, before = route.pieces[-1][-1], route.pieces[-1][-2]
    for number, piece in enumerate(route.pieces):
        points = list(piece)
        if number == len(route.pieces) - 1:
            points[-1] = _drawn_back(tip, before, edge.again != "")
        parts.append(f'<path d="{_rounded(points) if edge.again else curve(points)}"/>')
    parts.append(_arrow(tip, sideways=edge.again != ""))
    if route.label is not None:
        label = route.label
        parts.append(
            _text(
                label.x + label.width / 2,
                label.y + label.height - 4.5,
                edge.label,
                LABEL_SIZE,
                "",
                middle=True,
            )
        )
    return (
        f'<g class="e {edge.kind}{_off(edge.off)}" data-from="{escape(edge.source)}" '
        f'data-to="{escape(edge.target)}">{"".join(parts)}</g>'
    )


def curve(points: Sequence[Point]) -> str:
    """Give a path that leaves and enters every point vertically."""
    parts = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for (x, y), (right, low) in pairwise(points):
        if abs(x - right) < 0.05:
            parts.append(f"L{_n(right)} {_n(low)}")
        else:
            middle = (y + low) / 2
            parts.append(f"C{_n(x)} {_n(middle)} {_n(right)} {_n(middle)} {_n(right)} {_n(low)}")
    return "".join(parts)


def _rounded(points: Sequence[Point]) -> str:
    """Give a path along horizontal and vertical lines with rounded corners."""
    parts = [f"M{_n(points[0][0])} {_n(points[0][1])}"]
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(CORNER, _length(before, at) / 2, _length(at, after) / 2)
        one, other = _towards(at, before, radius), _towards(at, after, radius)
        parts.append(f"L{_n(one[0])} {_n(one[1])}Q{_n(at[0])} {_n(at[1])} {_n(other[0])} {_n(other[1])}")
    parts.append(f"L{_n(points[-1][0])} {_n(points[-1][1])}")
    return "".join(parts)


def _length(one: Point, other: Point) -> float:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _towards(start: Point, end: Point, by: float) -> Point:
    length = _length(start, end) or 1.0
    return (start[0] + (end[0] - start[0]) / length * by, start[1] + (end[1] - start[1]) / length * by)


def _drawn_back(tip: Point, before: Point, sideways: bool) -> Point:
    """End a line a little before its arrow's tip, so that it does not show beside it."""
    return (tip[0] - ARROW + 1, tip[1]) if sideways else (tip[0], tip[1] - ARROW + 1)


def _arrow(tip: Point, *, sideways: bool) -> str:
    x, y = tip
    half = ARROW * 0.55
    if sideways:
        corners = ((x, y), (x - ARROW, y - half), (x - ARROW, y + half))
    else:
        corners = ((x, y), (x - half, y - ARROW), (x + half, y - ARROW))
    return f'<polygon points="{" ".join(f"{_n(a)},{_n(b)}" for a, b in corners)}"/>'


def _text(x: float, y: float, text: str, size: float, style: str, *, middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    name = f' class="{style}"' if style else ""
    return f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}"{anchor}{name}>{escape(text)}</text>'


def _note(note: str) -> str:
    return f"<title>{escape(note)}</title>" if note else ""


def _off(off: bool) -> str:
    return " off" if off else ""


def _n(number: float) -> str:
    """Write a coordinate with at most one decimal."""
    text = f"{number:.1f}"
    text = text[:-2] if text.endswith(".0") else text
    return "0" if text == "-0" else text
