"""A program folded back to its flow: each state once, loops as edges that lead back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from npac.ir.program import PROMOTE, End, Gate, Node, Program, Wave, successors
from npac.report.captions import counted, shorten
from npac.report.drawing import Box, Drawing, Edge, Group, Outline
from npac.report.frames import TITLE, gate_box, parallel_boxes, wave_box
from npac.report.paths import Place, place

DECISIONS = (PROMOTE, "loop_back")


@dataclass(slots=True)
class _Bundle:
    """All edges of the program that are one edge of the drawing."""

    again: str
    end: str = ""
    decisions: dict[str, None] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    taken: bool = False


def fold(
    program: Program,
    late: Mapping[str, str],
    outline: Outline = Outline(),
    path: Sequence[Node] | None = None,
) -> Drawing:
    """Draw the flow of a program.  With ``path``, what that walk does not come to is marked as off."""
    return _Folding(program, late, outline, path).drawing()


def walked(path: Sequence[Node] | None) -> set[tuple[str, str]]:
    """Give the pairs of node ids that follow one another on a path."""
    ids = [node.id for node in path or ()]
    return set(pairwise(ids))


class _Folding:
    def __init__(
        self, program: Program, late: Mapping[str, str], outline: Outline, path: Sequence[Node] | None
    ) -> None:
        self.program = program
        self.late = late
        self.outline = outline
        self.path = path
        self.index = program.index()
        self.places = {node.id: place(node.id) for node in program.nodes}
        self.visited = {self.places[node.id].key for node in path or ()}
        self.entered = {
            "/".join((*here.groups, here.state)[:depth])
            for here in (self.places[node.id] for node in path or ())
            for depth in range(1, len(here.groups) + 2)
        }
        self.rounds: dict[str, int] = {}
        self.until: dict[str, str] = {}
        self.loop_group: dict[str, str] = {}
        self.groups: dict[str, Group] = {}
        self.boxes: dict[str, Box] = {}
        self.keys: dict[str, str] = {}
        """The box or parallel group of each node."""

    def drawing(self) -> Drawing:
        self._loops()
        for node in self.program.nodes:
            if not isinstance(node, End):
                self.keys[node.id] = self._box(node)
        start = Box("start", "start")
        entry = self.program.entry
        edges: list[Edge] = []
        ends: list[Box] = []
        if entry in self.keys:
            edges.append(Edge("start", self.keys[entry]))
        else:
            ends.append(Box("end", "end", self._named(self.outline.ends.get(("", ""), ""))))
            edges.append(Edge("start", "end"))
        for (source, target), bundle in self._bundles().items():
            off = self.path is not None and not bundle.taken
            if bundle.end or target.startswith("end:"):
                ends.append(Box(target, "end", self._named(bundle.end), off=off))
            edges.append(self._edge(source, target, bundle, off))
        footnotes = []
        if self.outline.unreached:
            footnotes.append(f"No path comes to {_listed(self.outline.unreached)}.")
        return Drawing(
            self.program.workflow,
            self._subtitle(),
            (start, *self.boxes.values(), *ends),
            tuple(self.groups.values()),
            tuple(edges),
            tuple(footnotes),
        )

    def _loops(self) -> None:
        for node in self.program.nodes:
            if isinstance(node, End):
                continue
            here = self.places[node.id]
            for name, iteration in node.loops.items():
                self.rounds[name] = max(self.rounds.get(name, 0), iteration)
                if name not in self.loop_group:
                    chain = (*here.groups, here.state)
                    self.loop_group[name] = "/".join(chain[: chain.index(name) + 1])
            if isinstance(node, Gate) and node.role == "until":
                self.until[node.state] = node.leaves_on

    def _box(self, node: Wave | Gate) -> str:
        here = self.places[node.id]
        key = f"{'wave' if isinstance(node, Wave) else node.role}:{here.key}"
        if key in self.boxes or key in self.groups:
            return key
        off = self.path is not None and here.key not in self.visited
        around = self._frames(here, own=here.state in node.loops)
        if isinstance(node, Gate):
            self.boxes[key] = gate_box(key, node, self.late, group=around, off=off)
        elif node.group:
            frame, boxes = parallel_boxes(
                key, node, self.program, self.late, self.outline, group=around, off=off
            )
            self.groups[key] = frame
            self.boxes.update((box.id, box) for box in boxes)
        else:
            self.boxes[key] = wave_box(
                key, node, self.program, self.late, self.outline, group=around, off=off
            )
        return key

    def _frames(self, here: Place, *, own: bool) -> str:
        """Make the groups around a place (and a loop on the leaf itself) and give the innermost."""
        parent = ""
        names = (*here.groups, here.state) if own else here.groups
        for depth, name in enumerate(names, 1):
            key = "/".join(names[:depth])
            if key not in self.groups:
                kind, line = "sequence", "in order"
                if self.loop_group.get(name) == key:
                    kind, line = "loop", self._loop_line(name)
                note = self.outline.descriptions.get(name, "")
                off = self.path is not None and key not in self.entered
                self.groups[key] = Group(key, kind, shorten(name, TITLE), (line,), note, parent, 0, off)
            parent = key
        return parent

    def _loop_line(self, name: str) -> str:
        rounds = counted(self.rounds[name], "round")
        return f"at most {rounds}, until {self.until[name]}" if name in self.until else rounds

    def _bundles(self) -> dict[tuple[str, str], _Bundle]:
        bundles: dict[tuple[str, str], _Bundle] = {}
        steps = walked(self.path)
        decided = _decided(self.path)
        for node in self.program.nodes:
            decisions = DECISIONS if isinstance(node, Gate) else ("",)
            for decision, follow in zip(decisions, successors(node), strict=False):
                source = self.keys[node.id]
                after = self.index[follow]
                end = ""
                if isinstance(after, End):
                    end = self._end(node, decision)
                    target = f"end:{source}:{end}"
                    again = ""
                else:
                    target = self.keys[follow]
                    again = self._again(node, after)
                key = (source, f"{target}\n{again}" if again else target)
                bundle = bundles.setdefault(key, _Bundle(again, end))
                bundle.decisions[decision] = None
                if not again:
                    bundle.left = self._left(node, after)
                taken = decided.get(node.id, decision) == decision
                bundle.taken = bundle.taken or ((node.id, follow) in steps and taken)
        return bundles

    def _again(self, node: Node, after: Node) -> str:
        """Give the group of the loop whose next round an edge begins; empty for none."""
        assert not isinstance(node, End) and not isinstance(after, End)
        for name, iteration in node.loops.items():
            if after.loops.get(name, iteration) > iteration:
                return self.loop_group[name]
        return ""

    def _left(self, node: Node, after: Node) -> tuple[str, ...]:
        assert not isinstance(node, End)
        inside = after.loops if not isinstance(after, End) else {}
        return tuple(name for name in node.loops if name not in inside and self.rounds[name] > 1)

    def _end(self, node: Node, decision: str) -> str:
        here = self.places[node.id]
        for name in (here.state, *reversed(here.groups)):
            found = self.outline.ends.get((name, decision)) or self.outline.ends.get((name, ""))
            if found:
                return found
        return ""

    def _named(self, name: str) -> str:
        return shorten(name, TITLE) if name else "end"

    def _edge(self, source: str, target: str, bundle: _Bundle, off: bool) -> Edge:
        target = target.partition("\n")[0]
        decisions = tuple(item for item in DECISIONS if item in bundle.decisions)
        left = list(bundle.left)
        kind, label = "next", ""
        role, _, key = source.partition(":")
        own = place(key).state
        if bundle.again and bundle.again.rpartition("/")[2] != own:
            # the last thing of an outer loop's round; its frame says how often
            return Edge(source, target, kind, label, bundle.again, off)
        if len(decisions) == 1:
            kind = label = decisions[0]
            if own in left:
                left.remove(own)
        elif decisions and role == "until" and self.rounds[own] > 1:
            kind = self.until[own]
            label = f"{kind}, or after round {self.rounds[own]}"
            if own in left:
                left.remove(own)
        elif decisions:
            label = "either decision"
        if left:
            rounds = " × ".join(f"{self.rounds[name]:,}" for name in left)
            after = f"after {rounds} rounds"
            label = f"{label}; {after} of {', '.join(left)}" if label else after
        return Edge(source, target, kind, label, bundle.again, off)

    def _subtitle(self) -> str:
        states = {step.state for step in self.program.steps}
        gates = {gate.state + gate.role for gate in self.program.gates()}
        parts = [counted(len(states), "step"), counted(len(gates), "gate"), counted(len(self.rounds), "loop")]
        return ", ".join(part for part in parts if not part.startswith("0 "))


def _decided(path: Sequence[Node] | None) -> dict[str, str]:
    """Give the decision taken at each gate of a path, where the edge alone tells it."""
    found: dict[str, str] = {}
    for node, after in zip(path or (), (path or ())[1:], strict=False):
        if isinstance(node, Gate) and node.promote != node.loop_back:
            found[node.id] = PROMOTE if after.id == node.promote else "loop_back"
    return found


def _listed(names: Sequence[str], limit: int = 6) -> str:
    shown = ", ".join(names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown
