"""A plan as text for people: the waves as a table, and below it what the run asks of the world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from npac.ir.program import PROMOTE, Artifact, End, Gate, Node, Program, Step, Wave
from npac.ir.values import Value, bind, show
from npac.report.analysis import Analysis
from npac.report.captions import counted, runs, shorten, trigger_text
from npac.report.commands import command
from npac.report.demand import accelerator_text
from npac.report.paths import Place, place
from npac.report.plan_summary import detail_text, summary
from npac.report.rounds import merged

NARROWEST = 60
INDENT = 2


@dataclass(slots=True)
class Row:
    """One line of the table: number, state, what it runs, accelerators, nodes; or one free text.

    ``cut`` says that what it runs is a command, of which the beginning says the most; ``depth`` is
    that of the loops around it.  ``detail`` rows give a name (``out``), a text and a schema label.
    """

    number: str = ""
    state: str = ""
    runs: str = ""
    accelerators: str = ""
    nodes: str = ""
    depth: int = 0
    heading: bool = False
    cut: bool = False
    details: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above the table."""

    workflow: str
    run_id: str
    digest: str
    assume: str = ""
    decided: bool = False
    replaced: tuple[tuple[str, str], ...] = ()
    """Images and accelerators as the plan shows them, each with what is run in its place."""


def plan_text(
    program: Program,
    path: Sequence[Node] | None,
    analysis: Analysis,
    late: Mapping[str, str],
    head: Head,
    width: int | None = None,
) -> str:
    """Give the plan of one path, or of a whole program folded by its loops.

    ``width`` is the number of columns that lines may have; with None nothing is shortened, and each
    command has a line of its own.
    """
    table = _Table(program, late, whole=width is None)
    rows = table.of_path(path) if path is not None else table.of_program()
    lines = [*_head(program, path, head), ""]
    limit = max(width, NARROWEST) if width is not None else None
    base = common_folder(table.uris) if limit is not None else ""
    if base:
        lines += [f"…/ is {base}", ""]
    lines += _lines(rows, limit, base)
    lines += ["", *summary(program, analysis, limit, base)]
    if limit is not None:
        lines = [shorten(line, limit) for line in lines]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def common_folder(uris: Iterable[str]) -> str:
    """Give the folder whose name, left out, shortens the URIs the most; empty for none worth it."""
    uses: dict[str, int] = {}
    for uri in uris:
        at = uri.find("://") + 3
        while (at := uri.find("/", at) + 1) > 0:
            uses[uri[:at]] = uses.get(uri[:at], 0) + 1
    shared = [folder for folder, count in uses.items() if count > 1]
    return max(shared, key=lambda folder: (uses[folder] * (len(folder) - 2), folder), default="")


class _Table:
    def __init__(self, program: Program, late: Mapping[str, str], *, whole: bool) -> None:
        self.program = program
        self.late = late
        self.whole = whole
        self.uris: list[str] = []

    def of_path(self, path: Sequence[Node]) -> list[Row]:
        """Give every wave and gate that a walk comes to."""
        rows: list[Row] = []
        loops: dict[str, int] = {}
        for node, after in pairwise(path):
            if isinstance(node, End):
                continue
            if node.loops != loops and node.loops:
                title = ", ".join(f"{name} round {iteration}" for name, iteration in node.loops.items())
                rows.append(Row(state=title, heading=True))
            loops = node.loops
            depth = 1 if loops else 0
            if isinstance(node, Wave):
                rows += self._wave_rows([node], str(node.number), depth)
            else:
                rows.append(self._gate_row([node], _taken(node, after), depth))
        return rows

    def of_program(self) -> list[Row]:
        """Give every wave and gate once, with the numbers of all its rounds."""
        seen: dict[str, list[Node]] = {}
        places: dict[str, Place] = {}
        for node in self.program.nodes:
            if not isinstance(node, End):
                here = place(node.id)
                seen.setdefault(here.key, []).append(node)
                places.setdefault(here.key, here)
        rounds = _rounds(self.program)
        until = {gate.state: gate.leaves_on for gate in self.program.gates() if gate.role == "until"}
        leads = self._leads(rounds)
        rows: list[Row] = []
        open_loops: tuple[str, ...] = ()
        for key in _by_group(places):
            nodes = seen[key]
            first = nodes[0]
            assert not isinstance(first, End)
            loops = tuple(first.loops)
            for depth, name in enumerate(loops):
                if open_loops[: depth + 1] != loops[: depth + 1]:
                    how = counted(rounds[name], "round")
                    if name in until:
                        how = f"at most {how}, until {until[name]}"
                    rows.append(Row(state=f"{name}: {how}", depth=depth, heading=True))
                    open_loops = loops[: depth + 1]
            open_loops = loops
            if isinstance(first, Wave):
                waves = [node for node in nodes if isinstance(node, Wave)]
                rows += self._wave_rows(waves, _numbers(waves), len(loops))
            else:
                gates = [node for node in nodes if isinstance(node, Gate)]
                row = self._gate_row(gates, "", len(loops))
                row.details[:0] = leads[key]
                rows.append(row)
        return rows

    def _wave_rows(self, waves: Sequence[Wave], number: str, depth: int) -> list[Row]:
        """Give the rows of a wave, or of all rounds of one; members stand below their group."""
        wave = waves[0]
        rows: list[Row] = []
        if wave.group:
            count = len(wave.members)
            how = f"{min(wave.max_concurrency, count)} at once"
            if len(wave.batches) > 1:
                how += f", {len(wave.batches)} batches"
            rows.append(Row(number, wave.group, f"{counted(count, 'step')}, {how}", depth=depth))
            self._artifacts(rows[-1], "out", [item.outputs for item in waves])
            number = ""
        for at, member in enumerate(wave.members):
            steps = [self.program.steps[item.members[at].step] for item in waves if at < len(item.members)]
            step = self.program.steps[member.step]
            nodes = str(step.num_nodes)
            row = Row(number, step.state, runs(step), accelerator_text(step), nodes, depth + bool(wave.group))
            self._command(row, steps)
            self._details(row, wave, steps)
            rows.append(row)
        return rows

    def _command(self, row: Row, steps: Sequence[Step]) -> None:
        """Add the command: in the table, as far as there is room, or whole on a line of its own."""
        if not self.whole and steps[0].tool_ref:
            return
        text, rounds = self._merged([command(step, self.late) for step in steps])
        if not self.whole and text:
            row.runs, row.cut = text, True
        elif text and (text != row.runs or rounds):
            row.details.append(("run", text, rounds))

    def _details(self, row: Row, wave: Wave, steps: Sequence[Step]) -> None:
        step = steps[0]
        if step.image:
            row.details.append(("image", step.image, ""))
        if step.secrets:
            row.details.append(("secrets", ", ".join(step.secrets), ""))
        for trigger in wave.triggers:
            if trigger.state == step.state:
                row.details.append(("first", trigger_text(trigger, self.late), ""))
        self._artifacts(row, "in", [item.inputs for item in steps])
        self._artifacts(row, "out", [item.outputs for item in steps])

    def _artifacts(self, row: Row, name: str, rounds: Sequence[Sequence[Artifact]]) -> None:
        """Add the artifacts of all rounds; a URI that differs in numbers only is written once."""
        for at, item in enumerate(rounds[0]):
            text, rest = self._merged([self._text(items[at].uri) for items in rounds if at < len(items)])
            self.uris.append(text)
            row.details.append((name, text, f"{item.schema} {rest}".strip()))

    def _merged(self, texts: Sequence[str]) -> tuple[str, str]:
        """Give one text for those of all rounds, and what it leaves out."""
        text = merged(texts)
        return (text, "") if text is not None else (texts[0], f"(first of {len(set(texts))})")

    def _gate_row(self, gates: Sequence[Gate], decision: str, depth: int) -> Row:
        gate = gates[0]
        row = Row("?", gate.state, f"decides: {decision}" if decision else "decides", depth=depth)
        uri = merged([self._text(item.uri) for item in gates]) or self._text(gate.uri)
        self.uris.append(uri)
        row.details.append(("reads", uri, ""))
        return row

    def _leads(self, rounds: Mapping[str, int]) -> dict[str, list[tuple[str, str, str]]]:
        """Say for every gate where each decision leads."""
        index = self.program.index()
        found: dict[str, dict[str, dict[str, dict[str, None]]]] = {}
        for gate in self.program.gates():
            ways = found.setdefault(place(gate.id).key, {PROMOTE: {}, "loop_back": {}})
            for decision, target in ((PROMOTE, gate.promote), ("loop_back", gate.loop_back)):
                when, name = _destination(gate, decision, index[target], rounds)
                ways[decision].setdefault(when, {})[name] = None
        return {
            key: [
                (decision, "; ".join(when + " or ".join(names) for when, names in targets.items()), "")
                for decision, targets in ways.items()
            ]
            for key, ways in found.items()
        }

    def _text(self, value: Value) -> str:
        return show(bind(value, self.late))


def _destination(gate: Gate, decision: str, after: Node, rounds: Mapping[str, int]) -> tuple[str, str]:
    """Name where a gate leads to, with what must be before: its loop's last round, where it stays in it."""
    if isinstance(after, End):
        name = "end"
    else:
        again = [name for name, at in gate.loops.items() if after.loops.get(name, at) > at]
        if again[:1] == [gate.state]:
            return "", f"next round of {gate.state}"
        name = f"next round of {again[0]}" if again else place(after.id).state
    stays = gate.role == "until" and decision != gate.leaves_on and rounds[gate.state] > 1
    return (f"after round {rounds[gate.state]}: " if stays else ""), name


def _taken(gate: Gate, after: Node) -> str:
    if gate.promote == gate.loop_back:
        return "either way the same"
    return PROMOTE if after.id == gate.promote else "loop_back"


def _rounds(program: Program) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in program.nodes:
        if not isinstance(node, End):
            for name, iteration in node.loops.items():
                found[name] = max(found.get(name, 0), iteration)
    return found


def _by_group(places: Mapping[str, Place]) -> list[str]:
    """Order keys so that what is in one group stands together, where the first of it stands."""
    order: dict[tuple[str, ...], int] = {}
    rank: dict[str, tuple[int, ...]] = {}
    for key, here in places.items():
        path = (*here.groups, here.state)
        for depth in range(1, len(path) + 1):
            order.setdefault(path[:depth], len(order))
        rank[key] = tuple(order[path[:depth]] for depth in range(1, len(path) + 1))
        if here.role:  # a gate follows what is in its group
            rank[key] = (*rank[key], len(places) * (2 if here.role == "until" else 3))
    return sorted(places, key=rank.__getitem__)


def _numbers(waves: Sequence[Wave]) -> str:
    found = sorted(wave.number for wave in waves)
    return str(found[0]) if len(found) == 1 else f"{found[0]}…{found[-1]} ×{len(found)}"


def _head(program: Program, path: Sequence[Node] | None, head: Head) -> list[str]:
    waves, gates = program.waves(), program.gates()
    if path is None:
        what = f"whole program: {counted(len(waves), 'wave')}, {counted(len(gates), 'gate')}"
    else:
        count = sum(isinstance(node, Wave) for node in path)
        how = "as decided" if head.decided else "with loops run to their bound"
        if head.assume:
            how = f"{'as decided, else ' if head.decided else ''}assuming {head.assume}"
        what = f"one path: {counted(count, 'wave')}" + (f", {how}" if gates else "")
    lines = [f"{head.workflow}  {what}", f"run {head.run_id}, program sha256:{head.digest[:16]}"]
    # The program keeps what the spec wrote, and so does the table: it is told here what a run puts for it.
    return lines + [f"{written} is shown as written; a run takes {taken}" for written, taken in head.replaced]


def _lines(rows: Sequence[Row], limit: int | None, base: str) -> list[str]:
    table = [row for row in rows if not row.heading]
    columns = [
        [row.number for row in table],
        [" " * (INDENT * row.depth) + row.state for row in table],
        [row.runs for row in table],
        [row.accelerators for row in table],
        [row.nodes for row in table],
    ]
    names = ["#", "STATE", "RUNS", "ACCELERATORS", "NODES"]
    widths = [
        max([len(name), *(len(text) for text in column)]) for name, column in zip(names, columns, strict=True)
    ]
    if not any(row.accelerators for row in table):
        names[3], widths[3] = "", 0
    if limit is not None:
        _fit(widths, limit)
    lines = [_line(names, widths)]
    for row in rows:
        indent = " " * (INDENT * row.depth)
        if row.heading:
            lines.append(" " * (widths[0] + 2) + indent + row.state)
            continue
        what = row.runs
        if row.cut and len(what) > widths[2]:
            what = f"{what[: widths[2] - 1]}…"
        lines.append(_line([row.number, indent + row.state, what, row.accelerators, row.nodes], widths))
        margin = " " * (widths[0] + 2) + indent + "  "
        longest = max((len(name) for name, _, _ in row.details), default=0)
        for name, text, label in row.details:
            lead = f"{margin}{name:<{max(longest, 5)}}  "
            lines.append(lead + detail_text(text, label, None if limit is None else limit - len(lead), base))
    return lines


def _fit(widths: list[int], limit: int) -> None:
    """Take room from the two wide columns until a line fits."""
    spare = sum(widths) + 2 * (len(widths) - 1) - limit
    for at, least in ((2, 12), (1, 24)):
        if spare > 0:
            taken = min(spare, max(0, widths[at] - least))
            widths[at] -= taken
            spare -= taken


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    cells = [f"{shorten(texts[0], widths[0]):>{widths[0]}}"]
    for text, width in zip(texts[1:], widths[1:], strict=True):
        cells.append(f"{shorten(text, width):<{width}}")
    return "  ".join(cells)
