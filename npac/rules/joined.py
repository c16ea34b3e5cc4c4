"""Findings with one cause put together: one stays, and has the places of the others beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from npac.diagnostics.diagnostic import Diagnostic, Related
from npac.flow.flow import Flow
from npac.flow.origins import GIVEN
from npac.rules.unread import Unread
from npac.syntax.ast import State
from npac.syntax.language import PARALLEL, STATE
from npac.syntax.templates import parse_template

_PARALLEL_ONLY = frozenset(key for key in STATE.names if STATE.keys[key].on == (PARALLEL,))
_USES = ("unknown-config-key", "value-not-text", "unknown-loop", "unknown-state-value", "unknown-run-key")
_OF_VALUES = (
    "bad-number",
    "bad-quantity",
    "bad-image",
    "unknown-tool-image",
    "unknown-cloud",
    "late-structure",
    "no-such-node",
)
_ENDS = ("no-terminal", "count-mismatch", "dead-end")
_MOST = 8
"""Places that are shown beside a finding."""


def joined(flow: Flow, unread: Unread, findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Give the findings with those of one cause joined, in the order of their places."""
    found = sorted(findings, key=lambda item: (item.span.source.path, item.span.start))
    found = _misnamed(unread, found)
    found = _uses(found)
    found = _values(found)
    found = _idle(unread, found)
    found = _decisions(flow, unread, found)
    return _ways(flow, unread, found)


def is_idle(unread: Unread, item: Diagnostic) -> bool:
    """Say whether a finding (no-work) is about a state that does nothing, not about an empty command."""
    state = unread.owner(item.span)
    return state is not None and item.span == state.name.span


def _fold(
    findings: Sequence[Diagnostic],
    group: Callable[[Diagnostic], object],
    said: Callable[[Diagnostic], str],
) -> list[Diagnostic]:
    """Join findings of one group (None: no group) into the first of them."""
    first: dict[object, Diagnostic] = {}
    others: dict[object, list[Related]] = {}
    for item in findings:
        mark = group(item)
        if mark is None:
            continue
        if mark in first:
            others[mark].append(Related(said(item), item.span))
        else:
            first[mark] = item
            others[mark] = []
    kept = []
    for item in findings:
        mark = group(item)
        if mark is None:
            kept.append(item)
        elif first[mark] is item:
            kept.append(_beside(item, others[mark]))
    return kept


def _beside(item: Diagnostic, places: Sequence[Related]) -> Diagnostic:
    return item._replace(related=(*item.related, *places[:_MOST])) if places else item


def _misnamed(unread: Unread, findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Drop the lack of a key where another key stands that the language does not know: that is it."""
    unknown: dict[int, list[Diagnostic]] = {}
    for item in findings:
        if item.code.name == "unknown-key" and not unread.is_read(item):
            unknown.setdefault(_place(unread.owner(item.span)), []).append(item)

    def echo(item: Diagnostic) -> bool:
        if item.code.name not in ("missing-key", "no-states"):
            return False
        others = unknown.get(_place(unread.owner(item.span)), ())
        return any(unread.same_mapping(item, other) for other in others)

    return [item for item in findings if not echo(item)]


def _values(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Join what several places say of one config value that none of them can read."""

    def group(item: Diagnostic) -> object:
        if item.code.name not in _OF_VALUES:
            return None
        return next((other.span for other in item.related if other.message == GIVEN), None)

    return _fold(findings, group, lambda item: item.message)


def _uses(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Join the uses of one name that is missing where it should be declared: one declaration mends all."""

    def group(item: Diagnostic) -> object:
        if item.help.startswith("did you mean"):  # then it is the use that is wrong
            return None
        state = _missing_state(item)
        if state is not None:
            return "state", state
        if item.code.name == "unknown-profile":
            return "profile", item.span.text
        return (item.code.id, item.message) if item.code.name in _USES else None

    return _fold(findings, group, lambda item: "it is also named here")


def _missing_state(item: Diagnostic) -> str | None:
    """Give the state that a finding says does not exist."""
    if item.code.name == "unknown-state":
        return item.span.text.strip("'\"")
    if item.code.name not in ("unknown-state-value", "unknown-loop"):
        return None
    if not item.message.startswith("there is no state") and not item.message.endswith("does not exist"):
        return None
    tokens = parse_template(item.span.text).tokens
    path = tokens[0].path if tokens else ""
    return path if item.code.name == "unknown-loop" else path.rpartition(".")[0] or path


def _idle(unread: Unread, findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Join what is said of a state that runs nothing: of each of its keys, and of its group."""
    idle = {
        state.name.span
        for item in findings
        if item.code.name == "no-work" and is_idle(unread, item) and (state := unread.owner(item.span))
    }

    def group(item: Diagnostic) -> object:
        state = unread.owner(item.span)
        if state is None or state.works or state.is_group:
            return None
        if item.code.name == "key-not-for-group":
            return state.name.span, item.span.text in _PARALLEL_ONLY
        return (state.name.span, False) if item.code.name == "trigger-without-work" else None

    kept = []
    for item in findings:
        state = unread.owner(item.span)
        of_idle = state is not None and state.name.span in idle
        if not of_idle or item.code.name not in ("key-not-for-group", "trigger-without-work", "bad-member"):
            kept.append(item)
    return _fold(kept, group, lambda item: f"nor has {item.span.text}")


def _decisions(flow: Flow, unread: Unread, findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Drop what readers of decisions miss where a writer does not say where it writes, or never runs."""
    homeless = {
        state.name.value
        for item in findings
        if item.code.name == "no-decision-source"
        and (state := unread.owner(item.span))
        and item.span == state.key_span("writesDecision") != state.name.span
    }
    late = {_place(unread.owner(item.span)) for item in findings if item.code.name == "state-not-run"}
    sourceless = any(item.code.name == "no-decision-source" for item in findings)

    def echo(item: Diagnostic) -> bool:
        state = unread.owner(item.span)
        if state is None:
            return False
        if item.code.name == "decision-not-written":
            return sourceless or state.name.start in late
        if item.code.name != "no-decision-source" or item.span == state.key_span("writesDecision"):
            return False
        return not homeless.isdisjoint((state.name.value, *flow.structure.members.get(state.name.value, ())))

    return [item for item in findings if not echo(item)]


def _ways(flow: Flow, unread: Unread, findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Join states that nothing leads to with the place at which a path ends too early, or a member lacks."""
    alone = {
        state.name.value
        for item in findings
        if item.code.name == "unreachable-state" and (state := unread.owner(item.span)) is not None
    }
    led = _led_to(flow, alone)
    # a goto that never routes is why nothing leads to its state
    led.update(
        item.span.text.strip("'\"") for item in findings if item.code.name == "transition-never-routes"
    )
    ends = [item for item in findings if item.code.name in _ENDS]
    cause = min(ends, key=lambda item: _ENDS.index(item.code.name), default=None)
    kept: list[Diagnostic] = []
    beside: list[Related] = []
    if cause is not None and cause.code.name == "no-terminal":
        beside += _early_ends(flow)
    for item in findings:
        state = unread.owner(item.span)
        if item.code.name == "unreachable-state" and state is not None:
            if state.name.value in led:
                continue  # what leads to it is unreachable too, and said to be
            if cause is not None:
                beside.append(Related(item.message, item.span))
                continue
        if item.code.name == "dead-end" and cause is not None and cause.code.name == "no-terminal":
            continue  # it stands beside that no end is reached
        ended = cause is not None and item.code.name == "transition-never-routes"
        if ended and _ends_there(flow, unread, item):
            continue
        kept.append(item)
    return [_beside(item, beside) if item is cause else item for item in kept]


def _led_to(flow: Flow, alone: set[str]) -> set[str]:
    """Give those of the states ``alone`` that another of them leads to, if not all in a ring."""
    leads: dict[str, list[str]] = {}
    for name in alone:
        state = flow.spec.states[name]
        exits = (state.next, *(transition.goto for transition in state.transitions))
        if name in flow.structure.parent:
            exits = ()  # the group decides what follows
        named = {item.value for item in (*state.members, *exits) if item is not None}
        leads[name] = sorted((named & alone) - {name})
    heads = alone.difference(*leads.values())
    seen = set(heads)
    stack = sorted(heads)
    while stack:
        for target in leads[stack.pop()]:
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return seen - heads


def _early_ends(flow: Flow) -> Iterable[Related]:
    """Give the states at which paths from the first state end, which are no terminal ones."""
    if flow.graph is None:
        return
    for name, exits in flow.structure.exits.items():
        state = flow.spec.states[name]
        early = not state.terminal and None in (exits.promote, exits.loop_back)
        if early and flow.reached(flow.graph.begin[name]):
            yield Related(f"the run ends at {name!r}", state.name.span)


def _ends_there(flow: Flow, unread: Unread, item: Diagnostic) -> bool:
    """Say whether the loop of a goto that never routes has nothing after it, for want of a next."""
    said = item.related[0] if item.related and item.related[0].message.startswith("the loop") else None
    loop = unread.owner(said.span) if said is not None else None
    exits = flow.structure.exits.get(loop.name.value) if loop is not None else None
    return exits is not None and loop is not None and exits.promote is None and not loop.terminal


def _place(state: State | None) -> int:
    return state.name.start if state is not None else -1
