"""The decision that ends a loop is written anew in each of its iterations."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related
from npac.flow.counters import loop_bound
from npac.flow.flow import Flow
from npac.flow.symbolic import hole_names, substitute, written
from npac.ir.values import Hole, Value
from npac.text.source import Span

_MOST = 4
"""Writers that are shown beside a finding."""
_DEEPEST = 64
"""Loops around one and writers that are looked at, and how far URIs are followed from state to state."""

_LONGEST = 4096
"""Characters of a URI that is compared beyond what stands in it; no store has a longer one."""


class _Writer(NamedTuple):
    """A state that writes a URI: its place among the members of groups, its name, and where it says so."""

    place: int
    state: str
    span: Span


def stale(flow: Flow, gates: Sequence[tuple[str, Value]]) -> Iterator[Diagnostic]:
    """Report loops whose ``until`` reads in every iteration what was written before the first one.

    ``gates`` are loops with ``until`` and the URIs that they read, each written on every path to it.  A
    loop's body has no branches, so that whatever stands in it runs in every iteration: one state in it
    that has the URI among its outputs is enough.  A URI that a counter of the loop, or a state in it,
    makes another one in each iteration is not left over from the one before: that it is written is proven.
    """
    gates = [(loop, uri) for loop, uri in gates if loop_bound(flow, loop) != 1]
    if not gates:
        return
    writings = _Writings(flow, (uri for _, uri in gates))
    for loop, uri in gates:
        if not writings.within(loop, uri):
            yield _finding(flow, loop, uri, writings)


def _finding(flow: Flow, loop: str, uri: Value, writings: _Writings) -> Diagnostic:
    state = flow.spec.states[loop]
    assert state.loop is not None and state.loop.until is not None
    related: list[Related] = []
    again = ""
    for writer, outer in writings.before(loop, uri):
        if outer is not None:
            again = again or f", or put until on {outer}, in whose iterations {writer.state} writes it"
            said = f"{writer.state!r} writes it here, later in each iteration of {outer!r}"
        else:
            said = f"{writer.state!r} writes it here, outside the loop"
        related.append(Related(said, writer.span))
    what = f"no state in the loop {loop!r} writes" if state.is_group else f"the loop {loop!r} does not write"
    message = f"{what} the decision that its until reads, {written(uri)}: every iteration reads the same one"
    who = f"a member of {loop}" if state.is_group else loop
    help_text = f"let {who} write it (writesDecision: true, with that URI as its output){again}"
    at = state.loop.until.span
    return finding("stale-decision", message, at, help_text, related=tuple(related[:_MOST]))


class _Writings:
    """The states that write each of some URIs, as their decision or among their outputs."""

    def __init__(self, flow: Flow, uris: Iterable[Value]) -> None:
        self.flow = flow
        self._fixed: dict[str, Value | None] = {}
        self._rank: dict[int, int] = {}
        self._writers: dict[Value, list[_Writer]] = {self._settled(uri): [] for uri in uris}
        self._names: dict[Value, set[str]] = {}
        for name, step in flow.steps.by_state.items():
            spans: dict[Value, Span] = {}
            for number, output in enumerate(step.outputs, 1):
                for uri in (output.uri, Hole(f"state.{name}.{number}")):
                    spans.setdefault(self._settled(uri), output.decl.uri.node.span)
            if step.state.writes_decision and step.decision_uri is not None:
                spans.setdefault(self._settled(step.decision_uri), step.state.key_span("writesDecision"))
            place = flow.structure.place(name) or (0, 0)
            for uri, span in spans.items():
                if uri in self._writers:
                    self._writers[uri].append(_Writer(place[0], name, span))
        for uri, writers in self._writers.items():
            writers.sort(key=lambda writer: writer.place)
            self._names[uri] = {writer.state for writer in writers}

    def within(self, loop: str, uri: Value) -> bool:
        """Say whether a state in a loop, or the loop itself, writes a URI."""
        settled = self._settled(uri)
        if loop in self._names[settled]:
            return True
        place, writers = self.flow.structure.place(loop), self._writers[settled]
        if place is None:
            return False
        index = bisect_right(writers, place[0], key=lambda writer: writer.place)
        return index < len(writers) and writers[index].place < place[1]

    def before(self, loop: str, uri: Value) -> Iterator[tuple[_Writer, str | None]]:
        """Give writers of a URI whose decision a loop may read that writes none itself.

        One that comes later in a loop around it is given with that loop.
        """
        around = list(islice(self._around(loop), _DEEPEST))
        own = self.flow.structure.place(loop)
        for writer in self._writers[self._settled(uri)][:_DEEPEST]:
            outer = next((name for name in around if self.flow.structure.encloses(name, writer.state)), None)
            if outer is not None and own is not None and own[1] < writer.place:
                yield writer, outer
            elif outer is not None or self._comes_before(writer.state, loop):
                yield writer, None

    def _around(self, loop: str) -> Iterator[str]:
        """Give the loops around one, the innermost first."""
        at = self.flow.structure.loop_around(self.flow.spec, loop)
        while at is not None:
            yield at
            at = self.flow.structure.loop_around(self.flow.spec, at)

    def _comes_before(self, state: str, loop: str) -> bool:
        """Say whether a state comes before a loop, if both are on one path."""
        graph = self.flow.graph
        assert graph is not None
        if not self._rank:
            self._rank = {at: rank for rank, at in enumerate(self.flow.order)}
        at = self._rank.get(graph.done[state])
        return at is not None and at < self._rank[graph.begin[loop]]

    def _settled(self, uri: Value) -> Value:
        """Give a URI with the outputs of other states filled in where these never change."""
        names: set[str] = set()
        hole_names(uri, names)
        env = {name: value for name in names if (value := self._always(name, 0)) is not None}
        return substitute(uri, env) if env else uri

    def _always(self, hole: str, depth: int) -> Value | None:
        """Give the URI that a hole stands for when only the run's id is not known of it."""
        if hole in self._fixed or not hole.startswith("state.") or depth > _DEEPEST:
            return self._fixed.get(hole)
        state, _, number = hole.removeprefix("state.").rpartition(".")
        uri = self.flow.steps.by_state[state].outputs[int(number) - 1].uri
        self._fixed[hole] = None  # for one that names itself
        names: set[str] = set()
        hole_names(uri, names)
        env = {name: self._always(name, depth + 1) for name in names if name != "run.id"}
        found = {name: value for name, value in env.items() if value is not None}
        if len(found) == len(env):
            whole = substitute(uri, found)
            # texts that name one another twice would grow without bound
            self._fixed[hole] = whole if len(written(whole)) <= _LONGEST else None
        return self._fixed[hole]
