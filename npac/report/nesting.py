"""Frames within frames: each group is laid out by itself and is then one node of what is around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from npac.report.drawing import Box, Drawing, Edge, Group
from npac.report.layout import Link, Point, Rect, Route, Size, lay_out
from npac.report.typeset import mono_width, sans_width

TITLE_SIZE = 12.5
LINE_SIZE = 11.0
LABEL_SIZE = 11.0
TITLE_LINE = 17.0
LINE = 14.5
PAD = 14.0
BESIDE = 14.0
LANE = 20.0
LABEL_BOX = 16.0


@dataclass(slots=True)
class Placement:
    """Where everything of a drawing is, in pixels from its upper left corner.

    ``boxes`` and ``groups`` map ids to rectangles; ``routes`` stand in the order of the edges.
    """

    boxes: dict[str, Rect] = field(default_factory=dict)
    groups: dict[str, Rect] = field(default_factory=dict)
    routes: list[Route] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def box_size(box: Box) -> Point:
    """Give the width and height that a box needs."""
    if box.kind == "start":
        return (12.0, 12.0)
    text = max([mono_width(box.title, TITLE_SIZE), *(sans_width(line, LINE_SIZE) for line in box.lines)])
    if box.kind == "end":
        return (max(46.0, text + 26), 24.0)
    if box.kind == "gate":
        return _diamond(box)
    return (max(96.0, text + 28), TITLE_LINE + LINE * len(box.lines) + 15)


def _diamond(box: Box) -> Point:
    """Give a diamond that holds each line where it is wide enough: |x|/w + |y|/h <= 1/2."""
    height = 30.0 + TITLE_LINE + LINE * len(box.lines)
    lines = [(mono_width(box.title, TITLE_SIZE), TITLE_LINE)]
    lines += [(sans_width(line, LINE_SIZE), LINE) for line in box.lines]
    total = sum(tall for _, tall in lines)
    at = -total / 2
    width = 110.0
    for wide, tall in lines:
        # the letters take up two thirds of their line
        far = max(abs(at + tall / 6), abs(at + tall * 5 / 6))
        width = max(width, (wide + 6) / (1 - 2 * far / height))
        at += tall
    return (min(width, 420.0), height)


def heading_height(group: Group) -> float:
    """Give the height of a group's title and lines."""
    return 10 + TITLE_LINE + LINE * len(group.lines)


def _heading_width(group: Group) -> float:
    texts = [sans_width(line, LINE_SIZE) for line in group.lines]
    return max([mono_width(group.title, TITLE_SIZE), *texts]) + 2 * PAD


def label_size(label: str) -> Point:
    """Give the room of an edge's label."""
    return (sans_width(label, LABEL_SIZE) + 8, LABEL_BOX)


def nest(drawing: Drawing) -> Placement:
    """Lay out a drawing."""
    return _Nesting(drawing).place()


@dataclass(slots=True)
class _Inside:
    """A group laid out by itself: its size, where its edges meet it, and what is where in it."""

    width: float
    height: float
    axis: float
    rects: dict[str, Rect]
    routes: dict[int, Route]


class _Nesting:
    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.boxes = {box.id: box for box in drawing.boxes}
        self.groups = {group.id: group for group in drawing.groups}
        self.children: dict[str, list[str]] = {"": [], **{group.id: [] for group in drawing.groups}}
        self.order: list[str] = []
        self.inside: dict[str, _Inside] = {}
        self.edges: dict[str, list[int]] = {key: [] for key in self.children}
        """The edges that are laid out in each group, by number."""
        for item in self._in_order():
            self.children[self._around(item)].append(item)
        for at, edge in enumerate(drawing.edges):
            self.edges[edge.again or self._common(edge)].append(at)

    def place(self) -> Placement:
        for key in reversed(self.order):
            group = self.groups[key]
            self.inside[key] = self._grid(group) if group.kind == "parallel" else self._frame(group)
        whole = self._flow("")
        placement = Placement(width=whole.width, height=whole.height)
        routes: dict[int, Route] = {}
        waiting: list[tuple[_Inside, float, float]] = [(whole, 0.0, 0.0)]
        while waiting:
            inside, dx, dy = waiting.pop()
            routes |= {at: route.moved(dx, dy) for at, route in inside.routes.items()}
            for item, rect in inside.rects.items():
                moved = rect.moved(dx, dy)
                if item in self.groups:
                    placement.groups[item] = moved
                    waiting.append((self.inside[item], moved.x, moved.y))
                else:
                    placement.boxes[item] = moved
        for at, edge in enumerate(self.drawing.edges):
            placement.routes.append(self._from_source(edge, routes[at], placement))
        return placement

    def _in_order(self) -> list[str]:
        """Give groups and boxes, each in the place where the drawing first comes to it."""
        found: dict[str, None] = {}

        def enter(item: str) -> None:
            chain = [item]
            while (around := self._around(chain[-1])) and around not in found:
                chain.append(around)
            for each in reversed(chain):
                if each not in found and each in self.groups:
                    self.order.append(each)
                found[each] = None

        for box in self.drawing.boxes:
            enter(box.id)
        return list(found)

    def _around(self, item: str) -> str:
        return self.groups[item].group if item in self.groups else self.boxes[item].group

    def _chain(self, item: str) -> list[str]:
        """Give an item and the groups around it, outwards, the whole last."""
        chain = [item]
        while chain[-1]:
            chain.append(self._around(chain[-1]))
        return chain

    def _common(self, edge: Edge) -> str:
        above = self._chain(edge.target)[1:]
        return next(item for item in self._chain(edge.source)[1:] if item in above)

    def _child(self, group: str, item: str) -> str:
        """Give the child of ``group`` that holds ``item``."""
        chain = self._chain(item)
        return chain[chain.index(group) - 1]

    def _size(self, item: str) -> Size:
        if item in self.inside:
            inside = self.inside[item]
            return Size(item, inside.axis, inside.width - inside.axis, inside.height)
        width, height = box_size(self.boxes[item])
        return Size(item, width / 2, width / 2, height)

    def _flow(self, key: str) -> _Inside:
        """Lay out the children of a group by their edges; rounds that begin again come later."""
        sizes = [self._size(item) for item in self.children[key]]
        forward = [at for at in self.edges[key] if not self.drawing.edges[at].again]
        links = []
        for at in forward:
            edge = self.drawing.edges[at]
            size = label_size(edge.label) if edge.label else None
            links.append(Link(self._child(key, edge.source), self._child(key, edge.target), size))
        laid = lay_out(sizes, links)
        rects = {
            size.id: Rect(
                laid.axis[size.id] - size.left, laid.top[size.id], size.left + size.right, size.height
            )
            for size in sizes
        }
        axis = self._axis(key, laid.axis)
        return _Inside(laid.width, laid.height, axis, rects, dict(zip(forward, laid.routes, strict=True)))

    def _axis(self, key: str, axes: dict[str, float]) -> float:
        """Give the axis of the child that edges leave the group from, else of the last one."""
        for edge in self.drawing.edges:
            if key and not edge.again and key in self._chain(edge.source)[1:]:
                chain = self._chain(edge.source)
                if key not in self._chain(edge.target):
                    return axes[chain[chain.index(key) - 1]]
        return axes[self.children[key][-1]] if self.children[key] else 0.0

    def _frame(self, group: Group) -> _Inside:
        """Put a frame with a title around a sequence or a loop, with lanes for its next rounds."""
        flow = self._flow(group.id)
        head = heading_height(group) + 10
        again = [at for at in self.edges[group.id] if self.drawing.edges[at].again]
        lanes = self._lanes(group, flow, again)
        left = min([-PAD, *(lane - PAD - 2 for lane in lanes)])
        width = max(flow.width + PAD - left, _heading_width(group))
        # a title wider than the contents leaves room on both sides of them
        shift = -left if width <= flow.width + PAD - left else -left + (width - flow.width - PAD + left) / 2
        rects = {item: rect.moved(shift, head) for item, rect in flow.rects.items()}
        routes = {at: route.moved(shift, head) for at, route in flow.routes.items()}
        for lane, at in zip(lanes, again, strict=True):
            routes[at] = self._back(group.id, self.drawing.edges[at], lane, flow).moved(shift, head)
        return _Inside(width, head + flow.height + PAD + 2, flow.axis + shift, rects, routes)

    def _lanes(self, group: Group, flow: _Inside, again: Sequence[int]) -> list[float]:
        """Give the x of the vertical part of every edge that leads back."""
        lanes: list[float] = []
        for number, at in enumerate(again):
            edge = self.drawing.edges[at]
            lane = -LANE - BESIDE * number
            if edge.label:
                start = flow.rects[self._child(group.id, edge.source)].x
                lane = min(lane, start - label_size(edge.label)[0] - 12)
            lanes.append(lane)
        return lanes

    def _back(self, group: str, edge: Edge, lane: float, flow: _Inside) -> Route:
        """Lead an edge from the left of its source up a lane to the left of its target."""
        source = self._child(group, edge.source)
        target = self._child(group, edge.target)
        one, other = flow.rects[source], flow.rects[target]
        is_gate = source in self.boxes and self.boxes[source].kind == "gate"
        leave = one.y + one.height / 2 if is_gate else one.y + one.height - min(14.0, one.height / 3)
        arrive = other.y + min(20.0, other.height / 3)
        label = None
        if edge.label:
            width, height = label_size(edge.label)
            label = Rect(one.x - width - 4, leave - height - 1, width, height)
        points = ((one.x, leave), (lane, leave), (lane, arrive), (other.x, arrive))
        return Route((points,), label)

    def _grid(self, group: Group) -> _Inside:
        """Put the members of a parallel group side by side, a row for every so many."""
        members = self.children[group.id]
        sizes = [box_size(self.boxes[item]) for item in members]
        columns = max(1, min(group.columns or len(members), len(members)))
        wide = [max(size[0] for size in sizes[at::columns]) for at in range(columns)]
        head = heading_height(group) + 9
        y = head
        content = sum(wide) + BESIDE * (columns - 1)
        width = max(content + 2 * PAD, _heading_width(group))
        rects: dict[str, Rect] = {}
        for row in range(0, len(members), columns):
            x = (width - content) / 2
            tall = max(size[1] for size in sizes[row : row + columns])
            for at, item in enumerate(members[row : row + columns]):
                rects[item] = Rect(x, y, wide[at], tall)
                x += wide[at] + BESIDE
            y += tall + BESIDE
        return _Inside(width, y - BESIDE + PAD, width / 2, rects, {})

    def _from_source(self, edge: Edge, route: Route, placement: Placement) -> Route:
        """Let an edge that leaves a frame begin at the box inside it."""
        if edge.again:
            return route
        x, y = route.pieces[0][0]
        rect = placement.boxes.get(edge.source) or placement.groups[edge.source]
        bottom = rect.y + rect.height
        if bottom >= y - 0.01:
            return route
        start = (rect.x + rect.width / 2, bottom)
        first = route.pieces[0]
        if abs(start[0] - x) < 0.01 and len(first) > 1 and first[1][0] == x:
            first = first[1:]
        return Route(((start, *first), *route.pieces[1:]), route.label)
