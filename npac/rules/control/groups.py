"""Groups: who may be a member, once, and with which exits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related, Severity
from npac.flow.flow import Flow
from npac.flow.origins import count_origin
from npac.flow.steps import read_count
from npac.rules.control.reach import way_round
from npac.syntax.ast import State
from npac.syntax.language import MAX_CONCURRENCY
from npac.text.yaml_nodes import Scalar

CODES = (
    ("NPA307", "repeated-member", Severity.ERROR, "a state stands more than once in groups"),
    ("NPA308", "group-in-itself", Severity.ERROR, "a state contains itself"),
    ("NPA309", "child-with-next", Severity.ERROR, "a sequence's child has its own next"),
    ("NPA310", "terminal-child", Severity.ERROR, "a sequence's child is terminal"),
    ("NPA311", "terminal-with-exit", Severity.ERROR, "a terminal state has an exit"),
    ("NPA316", "too-few-members", Severity.ERROR, "a parallel group of fewer than two"),
    ("NPA317", "bad-member", Severity.ERROR, "a parallel member is no plain leaf"),
    ("NPA318", "count-mismatch", Severity.ERROR, "parallelCount is not the number of members"),
)
"""What this rule reports: code, name, severity and a summary."""

_MOST = 8
"""Links of a chain that are shown beside a finding."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report self-containing groups, repeated members, and members that may not be ones."""
    first: dict[str, tuple[str, Scalar]] = {}
    for name, state in flow.spec.states.items():
        if not state.is_group:
            continue
        for member in state.members:
            if (name, member.value) in flow.structure.closing:
                continue  # it closes a chain of groups, which is an error of its own
            earlier = first.get(member.value)
            if earlier is None:
                first[member.value] = (name, member)
                continue
            where = (
                "twice in one group" if earlier[0] == name else f"in the groups {earlier[0]!r} and {name!r}"
            )
            related = (Related("first named here", earlier[1].span),)
            message = f"the state {member.value!r} stands {where}"
            help_text = "a state stands once; make a second state for a second use"
            yield finding("repeated-member", message, member.span, help_text, related=related)
        if state.parallel is not None:
            yield from _parallel(flow, state)
        elif state.sequence is not None:
            yield from _sequence(flow, state)
    for cycle in flow.structure.cycles:
        yield _ring(flow, cycle)
    for state in flow.spec.states.values():
        yield from _terminal(state)


def _ring(flow: Flow, ring: tuple[str, ...]) -> Diagnostic:
    """Report a group that contains itself, with the links of the chain beside it."""
    links = list(pairwise((*ring, ring[0])))
    related = [
        Related(f"{member!r} is a member of {name!r} here", scalar.span)
        for name, member in links
        for scalar in flow.spec.states[name].members
        if scalar.value == member
    ]
    shown = related if len(related) <= _MOST else [*related[: _MOST - 1], related[-1]]
    last, first = links[-1]
    message = f"the group {first!r} contains itself: {way_round((*ring, first))}"
    help_text = f"a group cannot be inside itself: take {first} out of {last}, or break the chain elsewhere"
    at = flow.spec.states[first].name.span
    return finding("group-in-itself", message, at, help_text, related=tuple(shown))


def _terminal(state: State) -> Iterator[Diagnostic]:
    if not state.terminal:
        return
    for key in ("next", "transitions"):
        if key in state.keys:
            message = f"the terminal state {state.name.value!r} has {key}, and a terminal state ends the run"
            related = (Related("terminal is set here", state.key_span("terminal")),)
            yield finding(
                "terminal-with-exit",
                message,
                state.key_span(key),
                f"remove {key} or terminal",
                related=related,
            )


def _sequence(flow: Flow, group: State) -> Iterator[Diagnostic]:
    for member in group.members:
        child = flow.spec.states.get(member.value)
        if child is None or (group.name.value, member.value) in flow.structure.closing:
            continue
        related = (Related(f"{member.value!r} is a member of {group.name.value!r}", member.span),)
        if child.next is not None:
            message = (
                f"{member.value!r} has a next, but the sequence {group.name.value!r} decides what follows it"
            )
            yield finding("child-with-next", message, child.key_span("next"), "remove next", related=related)
        if child.terminal:
            message = (
                f"{member.value!r} is terminal, but the sequence {group.name.value!r} would go on after it"
            )
            help_text = "make the sequence terminal instead, or move the state out of it"
            yield finding("terminal-child", message, child.key_span("terminal"), help_text, related=related)


def _parallel(flow: Flow, group: State) -> Iterator[Diagnostic]:
    name = group.name.value
    if len(group.members) == 1:
        message = f"the parallel group {name!r} has one member; it takes two or more"
        yield finding(
            "too-few-members", message, group.key_span("parallel"), "add members, or run the state by itself"
        )
    for member in group.members:
        child = flow.spec.states.get(member.value)
        if child is None or (name, member.value) in flow.structure.closing:
            continue
        why = _bad_member(child)
        if why is not None:
            key, text = why
            message = f"{member.value!r} {text}, so it cannot be a member of the parallel group {name!r}"
            related = (Related(f"it is a member of {name!r} here", member.span),)
            help_text = "members are plain states with a run or a toolRef; the group owns what follows"
            yield finding("bad-member", message, child.key_span(key), help_text, related=related)
    report: list[Diagnostic] = []
    if group.parallel_count is not None:
        count = read_count(flow.config, group.parallel_count, "parallelCount", report)
        if count is not None and count != len(group.members):
            message = f"parallelCount is {count}, and {name!r} has {len(group.members)} members"
            help_text = "add or remove members, or correct the number"
            origin = count_origin(flow.config, group.parallel_count)
            at = group.parallel_count.node.span
            report.append(finding("count-mismatch", message, at, help_text, related=origin))
    if group.max_concurrency is not None:
        limit = read_count(flow.config, group.max_concurrency, "maxConcurrency", report)
        if limit is not None and not 1 <= limit <= MAX_CONCURRENCY:
            message = f"maxConcurrency is {limit}"
            help_text = f"give a number from 1 to {MAX_CONCURRENCY}"
            origin = count_origin(flow.config, group.max_concurrency)
            at = group.max_concurrency.node.span
            report.append(finding("bad-number", message, at, help_text, related=origin))
    yield from report


def _bad_member(child: State) -> tuple[str, str] | None:
    if child.is_group:
        return ("sequence" if child.sequence is not None else "parallel"), "is a group itself"
    if child.loop is not None:
        return "loop", "has a loop"
    if child.terminal:
        return "terminal", "is terminal"
    if child.next is not None:
        return "next", "has a next"
    if child.transitions:
        return "transitions", "has transitions"
    if not child.works and "run" not in child.keys and "toolRef" not in child.keys:
        return "", "runs nothing"
    return None
