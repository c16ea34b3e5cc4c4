"""The lines of a source that a finding is about, with marks under the very characters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from npac.diagnostics.render.visible import TAB_WIDTH, columns, glyph, visible
from npac.text.source import SourceFile
from npac.text.stretches import Stretches

HIDDEN = "[hidden]"
_SHOWN_LINES = 4
_MOST = 4
"""Most characters that are shown for a column, for the width as a whole."""


class Label(NamedTuple):
    """A place to mark: the finding's own (``primary``) or another, with what is to be said there."""

    start: int
    end: int
    message: str
    primary: bool


class Row(NamedTuple):
    """A row to print: a source line with its number, marks (``number`` None), or a gap."""

    kind: str  # "source", "primary", "secondary", "gap"
    number: int | None
    text: str


class _Segment(NamedTuple):
    """The part of a label that lies on one line; offsets into the source."""

    start: int
    end: int
    message: str
    primary: bool


class _Window(NamedTuple):
    """A stretch of a line as shown, with where its characters stand.

    ``offsets`` grow, and ``places`` has a column for each of them: that of all characters from there
    up to the next offset.  Both count from ``first``; without offsets each character takes a column.
    """

    first: int
    last: int
    text: str
    shift: int = 0
    offsets: Sequence[int] = ()
    places: Sequence[int] = ()

    def column(self, at: int) -> int:
        """Give the column at which the character ``at`` of the source is shown."""
        if not self.offsets:
            return self.shift + at - self.first
        return self.shift + self.places[bisect_right(self.offsets, at - self.first) - 1]


def excerpt(
    source: SourceFile,
    labels: Sequence[Label],
    *,
    width: int,
    hidden: Stretches | Iterable[tuple[int, int]] = (),
) -> list[Row]:
    """Give the rows for ``labels``, lines in file order.

    A label over several lines is marked on each (on the first three and the last when there are
    more than four); its message stands at the last.  A line of more than ``width`` columns is
    shown around its labels, cut with ``…``.  Characters of ``hidden`` (offsets from, up to) show
    as ``[hidden]``.
    """
    masks = hidden if isinstance(hidden, Stretches) else Stretches(hidden)
    lines: dict[int, list[_Segment]] = {}
    for label in labels:
        for line, segment in _segments(source, label):
            lines.setdefault(line, []).append(segment)
    rows: list[Row] = []
    before: int | None = None
    for line in sorted(lines):
        if before is not None and line == before + 2:
            rows.extend(_line_rows(source, before + 1, [], width, masks))
        elif before is not None and line > before + 2:
            rows.append(Row("gap", None, "..."))
        rows.extend(_line_rows(source, line, lines[line], width, masks))
        before = line
    return rows


def _bounds(source: SourceFile, line: int) -> tuple[int, int]:
    """Give where a line's characters begin and end, without its line end."""
    return source.line_starts[line - 1], source.line_end(line)


def _segments(source: SourceFile, label: Label) -> list[tuple[int, _Segment]]:
    size = len(source.text)
    start = min(max(label.start, 0), size)
    end = min(max(label.end, start), size)
    first = bisect_right(source.line_starts, start)
    last = bisect_right(source.line_starts, end - 1 if end > start else end)

    def part(line: int) -> tuple[int, _Segment] | None:
        low, high = _bounds(source, line)
        left, right = max(low, start), min(high, end)
        if first != last:
            stretch = source.text[left:right]
            right -= len(stretch) - len(stretch.rstrip())
            if line != first:
                left = min(left + len(stretch) - len(stretch.lstrip()), right)
        if left >= right:
            return None
        return line, _Segment(left, right, "", label.primary)

    found: list[tuple[int, _Segment]] = []
    line = first
    many = last - first >= _SHOWN_LINES
    while line <= last and not (many and len(found) == _SHOWN_LINES - 1):
        if piece := part(line):
            found.append(piece)
        line += 1
    tail = last
    while many and tail >= line:
        if piece := part(tail):
            found.append(piece)
            break
        tail -= 1
    if not found:  # an empty span, or one over a line end only
        at = min(start, _bounds(source, first)[1])
        found.append((first, _Segment(at, at, "", label.primary)))
    line, segment = found[-1]
    found[-1] = (line, segment._replace(message=label.message))
    return found


def _line_rows(
    source: SourceFile, line: int, segments: list[_Segment], width: int, masks: Stretches
) -> list[Row]:
    low, high = _bounds(source, line)
    # The finding's own mark stands first, the others from left to right.
    waiting = sorted(segments, key=lambda segment: (not segment.primary, segment.start, segment.end))
    rows: list[Row] = []
    while True:
        anchor = waiting[0] if waiting else _Segment(low, low, "", False)
        window = _window(source.text, low, high, anchor, width, masks)
        rows.append(Row("source", line, window.text.rstrip()))
        later: list[_Segment] = []
        for segment in waiting:
            if segment is anchor or window.first <= segment.start <= segment.end <= window.last:
                rows.append(_marks(segment, window))
            else:
                later.append(segment)
        if not later:
            return rows
        waiting = later


def _window(text: str, low: int, high: int, anchor: _Segment, width: int, masks: Stretches) -> _Window:
    """Lay out as much of ``text[low:high]`` as fits into ``width`` columns, ``anchor`` in sight."""
    if high - low <= width:
        whole = _layout(text, low, high, low, width, masks)
        if whole.last == high:
            return whole
    room = max(width - 2, TAB_WIDTH)  # a cut may need its mark at both ends
    right = min(anchor.start + room * 2 // 3, high)
    near = max(anchor.start - room, low)
    if _is_plain(text[near:right]):
        first = max(low, anchor.start - room + right - anchor.start)
    else:
        # characters without a column of their own may go on without end
        right = anchor.start
        limit = min(high, right + _MOST * room)
        ahead = 0
        while right < limit and ahead < room * 2 // 3:
            ahead += columns(text[right])
            right += 1
        first = anchor.start
        limit = max(low, first - _MOST * room)
        left = room - ahead
        while first > limit and columns(text[first - 1]) <= left:
            first -= 1
            left -= columns(text[first])
        while limit < first < high and columns(text[first]) == 0:
            first -= 1
    part = _layout(text, first, high, anchor.start, room, masks)
    head = "…" if first > low else ""
    tail = "…" if part.last < high else ""
    return part._replace(text=head + part.text + tail, shift=len(head))


def _is_plain(text: str) -> bool:
    """Say whether every character is one that takes a column and is shown as it is."""
    return text.isascii() and text.isprintable()


def _layout(text: str, first: int, high: int, wanted: int, room: int, masks: Stretches) -> _Window:
    """Place characters from ``first`` on until ``room`` is full, but at least up to ``wanted``."""
    last = min(high, max(first + room, wanted))
    part = text[first:last]
    if _is_plain(part) and not masks.meets(first, last):
        return _Window(first, last, part)
    shown: list[str] = []
    offsets, places = [0], [0]
    column = 0
    at = first
    while at < high:
        char = text[at]
        after = min(masks.end(at), high)
        if after > at:
            piece, size = HIDDEN, len(HIDDEN)
        elif char == "\t":
            size = TAB_WIDTH - column % TAB_WIDTH
            piece = " " * size
        else:
            piece, size = glyph(char), columns(char)
        if at >= wanted and (column + size > room or len(shown) > _MOST * room):
            break
        shown.append(piece)
        column += size
        offsets.append(at + 1 - first)  # what is hidden ends where it begins
        places.append(column)
        at = max(after, at + 1)
    return _Window(first, at, "".join(shown), offsets=offsets, places=places)


def _marks(segment: _Segment, window: _Window) -> Row:
    begin = window.column(segment.start)
    end = window.column(min(segment.end, window.last))
    if end == begin and segment.end > segment.start and begin:
        begin -= 1  # combining characters alone: mark the character that carries them
    mark = "^" if segment.primary else "-"
    text = " " * begin + mark * max(end - begin, 1)
    if segment.message:
        text += " " + visible(segment.message)
    return Row("primary" if segment.primary else "secondary", None, text)
