"""Artifacts: who writes which URI, with which label, and whether two runs would meet there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related, Severity
from npac.flow.counters import loop_bound
from npac.flow.flow import Flow
from npac.flow.passes import reaching
from npac.flow.steps import SymbolicArtifact
from npac.flow.symbolic import hole_names, written
from npac.ir.values import Hole, Value, concat
from npac.rules.tokens.resolved import is_resolved

CODES = (
    ("NPA701", "racing-outputs", Severity.ERROR, "two members of a parallel group write one URI"),
    ("NPA702", "rewritten-output", Severity.NOTE, "one URI is written more than once"),
    ("NPA703", "output-shared-by-runs", Severity.WARNING, "an output's URI does not depend on the run"),
    ("NPA704", "label-mismatch", Severity.WARNING, "an input's label is not its producer's"),
    ("NPA705", "kind-undeclared", Severity.NOTE, "an output looks like a directory but does not say so"),
)
"""What this rule reports: code, name, severity and a summary."""

_SCHEMES = ("s3://", "file://")
_FILES = frozenset(("Dockerfile", "Makefile"))
"""Files that have no suffix, as have those in capitals: README, LICENSE, _SUCCESS."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report races, rewritten and shared outputs, and labels that differ."""
    writers: dict[Value, list[tuple[str, SymbolicArtifact]]] = {}
    for name, step in flow.steps.by_state.items():
        for output in step.outputs:
            if not is_resolved(flow, name, output.decl.uri) or not _in_store(output.uri):
                continue  # that is an error of its own
            yield from _shape(name, output)
            writers.setdefault(_place(output), []).append((name, output))
    meets = _Meetings(flow, writers)
    for items in writers.values():
        yield from _same_uri(flow, items, meets)
    yield from _labels(flow, writers)


def _shape(name: str, output: SymbolicArtifact) -> Iterator[Diagnostic]:
    uri = output.uri
    at = output.decl.uri.node.span
    names: set[str] = set()
    hole_names(uri, names)
    if "run.id" not in names and not any(hole.startswith("state.") for hole in names):
        message = (
            f"the output {written(uri)!r:.160} of {name!r} is the same for every run: "
            "two runs overwrite each other"
        )
        yield finding("output-shared-by-runs", message, at, "put {{run.id}} or {{run.prefix}} into it")
    if not output.declared_kind and _looks_like_folder(uri):
        message = f"the output {written(uri)!r:.160} of {name!r} looks like a folder, and is taken for a file"
        help_text = "end it with a slash, or add kind: directory (or kind: file)"
        yield finding("kind-undeclared", message, at, help_text)


def _in_store(uri: Value) -> bool:
    """Say whether a URI begins as one that npac can look at, or may do so."""
    begin = uri if isinstance(uri, str) else getattr(uri, "parts", (None,))[0]
    return not isinstance(begin, str) or begin.startswith(_SCHEMES)


def _place(item: SymbolicArtifact) -> Value:
    """Give the URI of an artifact, that of a directory always with a slash at its end."""
    return item.uri if item.declared_kind != "directory" or _ends_in_slash(item.uri) else _slashed(item.uri)


def _slashed(uri: Value) -> Value:
    return concat((uri, "/"))


def _ends_in_slash(uri: Value) -> bool:
    tail = uri if isinstance(uri, str) else getattr(uri, "parts", ("",))[-1]
    return isinstance(tail, str) and tail.endswith("/")


def _looks_like_folder(uri: Value) -> bool:
    """Say whether a URI ends in a written-out name without a suffix, and without a slash."""
    tail = uri if isinstance(uri, str) else getattr(uri, "parts", ("",))[-1]
    if not isinstance(tail, str) or "/" not in tail:
        return False
    last = tail.rpartition("/")[2]
    return last != "" and "." not in last and not last.isupper() and last not in _FILES


def _same_uri(
    flow: Flow, items: list[tuple[str, SymbolicArtifact]], meets: _Meetings
) -> Iterator[Diagnostic]:
    shown = f"{written(items[0][1].uri)!r:.160}"
    beside: dict[str, list[tuple[str, SymbolicArtifact]]] = {}  # by group: the first two that differ
    for other, item in items:
        parent = flow.structure.parent.get(other)
        if parent is None or flow.spec.states[parent].parallel is None:
            continue
        others = beside.setdefault(parent, [])
        for first, earlier in others:
            if first != other:
                related = (Related(f"{first!r} writes it here", earlier.decl.uri.node.span),)
                message = f"{first!r} and {other!r} run at one time and both write {shown}"
                help_text = "give each member a URI of its own"
                yield finding("racing-outputs", message, item.decl.uri.node.span, help_text, related=related)
                break
        if len(others) < 2 and all(first != other for first, _ in others):
            others.append((other, item))
    yield from _rewritten(flow, items, shown, meets)


def _rewritten(
    flow: Flow, items: list[tuple[str, SymbolicArtifact]], shown: str, meets: _Meetings
) -> Iterator[Diagnostic]:
    if flow.graph is None or flow.circles:
        return  # what a circle writes again is mended with the circle
    leaves = [(name, item) for name, item in items if name not in flow.structure.members]
    for name, output in leaves:
        names: set[str] = set()
        hole_names(output.uri, names)
        loop = (
            name if flow.spec.states[name].loop is not None else flow.structure.loop_around(flow.spec, name)
        )
        while loop is not None and (f"loop.{loop}" in names or loop_bound(flow, loop) == 1):
            loop = flow.structure.loop_around(flow.spec, loop)
        if loop is not None and not any(hole.startswith("state.") for hole in names):
            message = f"every iteration of {loop!r} writes {shown} anew"
            help_text = f"put {{{{loop.{loop}}}}} into the URI to keep each iteration's"
            yield finding("rewritten-output", message, output.decl.uri.node.span, help_text)
    for at, earlier in enumerate(meets.earlier(leaves)):
        if earlier is not None:
            (first, before), (other, item) = earlier, leaves[at]
            related = (Related(f"{first!r} writes it here", before.decl.uri.node.span),)
            message = f"{other!r} writes {shown}, which {first!r} wrote before on some path"
            yield finding(
                "rewritten-output", message, item.decl.uri.node.span, "use another URI", related=related
            )


class _Meetings:
    """Which writers of one URI some path runs both, in either order: worked out for all URIs at once."""

    def __init__(self, flow: Flow, writers: Mapping[Value, list[tuple[str, SymbolicArtifact]]]) -> None:
        self._work: dict[str, int] = {}
        self._bit: dict[int, int] = {}
        self._meets: dict[int, int] = {}
        graph = flow.graph
        if graph is None:
            return
        for name in flow.steps.by_state:
            at = graph.work.get(name)
            if at is not None and name not in flow.structure.members and flow.reached(at):
                self._work[name] = at
        several: set[int] = set()
        for items in writers.values():
            points = {self._work[name] for name, _ in items if name in self._work} if len(items) > 1 else ()
            if len(points) > 1:
                several.update(points)
        if several:
            # in the order of the states, so that the lowest bit is the first writer
            marks = list(dict.fromkeys(at for at in self._work.values() if at in several))
            self._bit = {at: bit for bit, at in enumerate(marks)}
            self._meets = reaching(graph, flow.order, marks)

    def earlier(
        self, leaves: list[tuple[str, SymbolicArtifact]]
    ) -> Iterator[tuple[str, SymbolicArtifact] | None]:
        """Give for each of the writers of one URI the first before it that a path runs too, if any."""
        first: dict[int, int] = {}
        seen = 0
        for place, (name, _) in enumerate(leaves):
            bit = self._bit.get(self._work.get(name, -1))
            if bit is None:
                yield None
                continue
            met = seen & self._meets[self._work[name]] & ~(1 << bit)
            yield leaves[first[(met & -met).bit_length() - 1]] if met else None
            if bit not in first:
                first[bit] = place
                seen |= 1 << bit


def _labels(flow: Flow, writers: dict[Value, list[tuple[str, SymbolicArtifact]]]) -> Iterator[Diagnostic]:
    known: dict[Value, _Producers] = {}
    for name, step in flow.steps.by_state.items():
        for item in step.inputs:
            if not is_resolved(flow, name, item.decl.uri):
                continue
            place = _place(item)
            makers = known.get(place)
            if makers is None:
                makers = known[place] = _Producers(_producers(flow, place, writers))
            other = makers.other_than(name)
            if other is None or makers.gives(item.schema, name) or makers.gives("", name):
                continue
            producer, made = other
            at = made.decl.schema.span if made.decl.schema is not None else made.decl.span
            related = (Related(f"{producer!r} writes it as {made.schema}", at),)
            what = f"as {item.schema!r:.80}" if item.schema else "without a label"
            message = f"{name!r} reads {what} what {producer!r} writes as {made.schema!r:.80}"
            here = item.decl.schema.span if item.decl.schema is not None else item.decl.uri.node.span
            help_text = f"give both the same schema label: {made.schema:.80}"
            yield finding("label-mismatch", message, here, help_text, related=related)


class _Producers:
    """The outputs at one URI, asked for what others than one state write."""

    __slots__ = ("_by_label", "_firsts")

    def __init__(self, entries: list[tuple[str, SymbolicArtifact]]) -> None:
        firsts: dict[str, tuple[str, SymbolicArtifact]] = {}
        self._by_label: dict[str, set[str]] = {}
        for entry in entries:
            firsts.setdefault(entry[0], entry)
            self._by_label.setdefault(entry[1].schema, set()).add(entry[0])
        self._firsts = list(firsts.values())[:2]

    def other_than(self, name: str) -> tuple[str, SymbolicArtifact] | None:
        return next((entry for entry in self._firsts if entry[0] != name), None)

    def gives(self, label: str, other_than: str) -> bool:
        names = self._by_label.get(label, ())
        return len(names) > 1 or (len(names) == 1 and other_than not in names)


def _producers(
    flow: Flow, uri: Value, writers: dict[Value, list[tuple[str, SymbolicArtifact]]]
) -> list[tuple[str, SymbolicArtifact]]:
    """Give the outputs at ``uri``; a state token names its output itself."""
    if isinstance(uri, Hole) and uri.name.startswith("state."):
        state, _, number = uri.name.removeprefix("state.").rpartition(".")
        return [(state, flow.steps.by_state[state].outputs[int(number) - 1])]
    found = writers.get(uri)
    if found is None and not _ends_in_slash(uri):
        found = writers.get(_slashed(uri))  # a folder that is read without saying so
    return found or []
