"""One mistake, one finding: what only follows from another finding is left out.

The rules look at a spec each for itself.  Where a key cannot be read, or a name names nothing, some of
them miss what it was meant to bring, and say so: a ``next`` that is no name makes the states behind it
unreachable.  Here such echoes are taken out.  An error is dropped only while another error stays, so
what is refused stays refused.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.rules.certain import Certain
from npac.rules.joined import is_idle, joined
from npac.rules.unread import ANY
from npac.syntax.ast import State
from npac.syntax.templates import parse_template
from npac.text.yaml_nodes import Map

_Test: TypeAlias = Callable[[Certain, Diagnostic], bool]

# Faults of form: where one stands, something was not read.  None of them is ever left out.
_FORM = frozenset(
    (
        "duplicate-key", "unsafe-tag", "alias-expansion", "complex-key", "bad-merge-key", "unknown-key",
        "wrong-type", "missing-key", "unknown-value", "bad-name", "both-spellings", "duplicate-state",
        "no-states", "token-in-name", "bad-number", "unknown-scope", "bad-token", "unknown-transform",
        "token-not-allowed-here", "empty-group", "unknown-predicate", "bad-condition", "config-cycle",
        "value-too-long",
    )
)  # fmt: skip
# Names that name nothing: what was meant is not known.
_NAMES = frozenset(
    (
        "unknown-state", "member-as-target", "unknown-config-key", "unknown-run-key", "value-not-text",
        "unknown-state-value", "unknown-loop", "unknown-profile",
    )
)  # fmt: skip

_ALWAYS = frozenset(("unknown-key", "secret-in-plain-text", "maybe-secret"))
"""What is said of a misspelt key and its value."""

_WORK = ("run", "toolRef", "sequence", "parallel")
_EXITS = ("next", "transitions", "sequence", "parallel", "terminal")
_DECISIONS = (*_WORK, "loop", "outputs", "params", "writesDecision")
"""What says whether a decision is read, and where it is written."""
_READER = r"on every path to '([^'\n]*)'"

_MANY = 2_000
"""Of more findings none is left out: nobody reads them all, and what one follows from is soon mended."""


def first_causes(flow: Flow, findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Give the findings about a spec without those that only follow from others."""
    if not 2 <= len(findings) <= _MANY or all(item.severity is Severity.NOTE for item in findings):
        return list(findings)
    unread = Certain(flow)
    for item in findings:
        if item.code.name in _FORM or _no_command(unread, item):
            unread.mark(item)
    kept = [item for item in _without_guesses(unread, findings) if not _follows(unread, item, _OF_FORM)]
    for item in findings:
        if item.code.name in _NAMES:
            unread.mark_name(item)
    for item in kept:
        state = unread.owner(item.span)
        if state is not None:
            unread.lose(state.name.value, _missed(unread, state, item))
    kept = [item for item in kept if not _follows(unread, item, _OF_ALL)]
    stale = {item.span for item in kept if item.code.name == "stale-decision"}
    # of a decision that no iteration writes it is no news that none of the body's states is its writer
    kept = [item for item in kept if item.code.name != "decision-from-config" or item.span not in stale]
    kept = joined(flow, unread, kept)
    refused = any(item.severity is Severity.ERROR for item in findings)
    return kept if not refused or any(item.severity is Severity.ERROR for item in kept) else list(findings)


def _without_guesses(unread: Certain, findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Leave out what is said about a misspelt key's value: it is read by a guess, which adds nothing."""
    misspelt = [unread.guessed(item) for item in findings if item.code.name == "unknown-key"]
    places = sorted(place for place in misspelt if place is not None)
    if not places:
        return list(findings)
    places.sort()
    starts = [start for start, _ in places]

    def guessed(item: Diagnostic) -> bool:
        if item.code.name in _ALWAYS or item.span.source is not unread.flow.spec.source:
            return False
        index = bisect_right(starts, item.span.start) - 1
        return index >= 0 and item.span.start <= places[index][1]

    return [item for item in findings if not guessed(item)]


def _follows(unread: Certain, item: Diagnostic, table: Mapping[str, _Test]) -> bool:
    test = table.get(item.code.name)
    return test is not None and test(unread, item)


def _no_command(unread: Certain, item: Diagnostic) -> bool:
    """Say whether a finding is about a ``run`` without a command in it."""
    return item.code.name == "no-work" and item.severity is Severity.ERROR and not is_idle(unread, item)


def _missed(unread: Certain, state: State, item: Diagnostic) -> tuple[str, ...]:
    """Give the keys that a state lacks, by a finding that says so."""
    name = item.code.name
    if name == "no-work" and is_idle(unread, item):
        return (ANY,)
    if name in ("key-not-for-group", "trigger-without-work") and not state.works and not state.is_group:
        return _WORK
    return ("parallel",) if name == "too-few-members" else ()


def _here(*keys: str) -> _Test:
    """The finding's own state has one of these keys, unread."""
    wanted = frozenset(keys)
    return lambda unread, item: not wanted.isdisjoint(unread.of(item.span)) or unread.lacks(item.span, wanted)


def _anywhere(*keys: str) -> _Test:
    """Some state has one of these keys, unread, or the states themselves could not all be read."""
    wanted = frozenset(keys)
    return lambda unread, item: unread.section("states") or unread.some(wanted)


def _unreached(unread: Certain, item: Diagnostic) -> bool:
    """What could not be read may lead to the state, or to one that leads to it."""
    state = unread.owner(item.span)
    if state is None or unread.section("initial") or unread.section("states"):
        return True
    return ANY in unread.states.get(state.name.value, ()) or unread.may_lead_to(state.name.value)


def _no_terminal(unread: Certain, item: Diagnostic) -> bool:
    """A terminal state is there and cannot be reached, or what may be one could not be read."""
    if any(state.terminal for state in unread.flow.spec.states.values()):
        return unread.section("initial") or _anywhere(*_EXITS)(unread, item)
    return _anywhere("terminal")(unread, item)


def _no_work(unread: Certain, item: Diagnostic) -> bool:
    if item.severity < Severity.ERROR:  # a child that only routes
        return _here(*_WORK, "transitions")(unread, item)
    return is_idle(unread, item) and _here(*_WORK, *_EXITS)(unread, item)


def _no_profile(unread: Certain, item: Diagnostic) -> bool:
    """The profile is there, and could not be read."""
    state, profiles = unread.owner(item.span), unread.flow.spec.top.get("resources")
    if unread.section("resources"):
        return True
    if state is None or state.resources is None or not isinstance(profiles, Map):
        return False
    return profiles.get(state.resources.value) is not None


def _no_image(unread: Certain, item: Diagnostic) -> bool:
    """What names the image of a state could not be read."""
    state = unread.owner(item.span)
    if state is None or item.span != state.name.span:
        return False
    return unread.section("resources") or unread.section("profiles") or _here("resources")(unread, item)


def _of_unread(key: str) -> _Test:
    """The state that a token names is there, and this key of it could not be read; or states are missing."""
    return lambda unread, item: (
        unread.section("states")
        or any(not {key, ANY}.isdisjoint(unread.states.get(name, ())) for name in _named(item))
    )


def _named(item: Diagnostic) -> set[str]:
    """Give the states that the tokens at a finding's place name, or the one that stands there itself."""
    text = item.span.text
    names = {
        token.path if token.scope == "loop" else token.path.rpartition(".")[0]
        for token in parse_template(text).tokens
    }
    return names or {text.strip("'\"")}


def _not_run(unread: Certain, item: Diagnostic) -> bool:
    """Every way on which a state has not run leads past something that could not be read."""
    flow = unread.flow
    said = re.search(_READER, item.message)
    owner = unread.owner(item.span)
    reader = said[1] if said is not None else owner.name.value if owner is not None else ""
    if flow.graph is None or reader not in flow.graph.begin or unread.section("states"):
        return True
    points = flow.graph.loop_begin if item.code.name == "loop-not-run" else flow.graph.done
    avoid = [points[name] for name in _named(item) if name in points]
    return not unread.way(flow.graph.work.get(reader, flow.graph.begin[reader]), avoid)


def _labels(unread: Certain, item: Diagnostic) -> bool:
    """The inputs or outputs of one of the states that a finding is about could not be read."""
    spans = (item.span, *(other.span for other in item.related))
    return any(not {"inputs", "outputs", ANY}.isdisjoint(unread.of(span)) for span in spans)


def _of_idle(unread: Certain, item: Diagnostic) -> bool:
    """The state that a token names does nothing, or could not be read at all."""
    return any(ANY in unread.states.get(name, ()) for name in _named(item))


def _no_decision(unread: Certain, item: Diagnostic) -> bool:
    """The state, or one of the members whose decision it reads, has something unread that may say where."""
    if unread.section("config") or unread.value("decision_uri"):
        return True
    state = unread.owner(item.span)
    if state is None:
        return False
    names = (state.name.value, *unread.flow.structure.members.get(state.name.value, ()))
    lost = set().union(*(unread.states.get(name, ()) for name in names))
    return not lost.isdisjoint((*_DECISIONS, ANY))


def _not_written(unread: Certain, item: Diagnostic) -> bool:
    """What could not be read may write the decision, or every way without a writer leads past it."""
    if unread.value("decision_uri") or _anywhere("writesDecision")(unread, item):
        return True
    flow, state = unread.flow, unread.owner(item.span)
    writers = [name for name, state in flow.spec.states.items() if state.writes_decision]
    if any(not unread.states.get(name, set()).isdisjoint((*_DECISIONS, ANY)) for name in writers):
        return True
    if state is None or flow.graph is None:
        return True
    role = "until" if item.span == state.key_span("loop") else "transitions"
    gate = unread.gate(state.name.value, role)
    avoid = [flow.graph.work[name] for name in writers if name in flow.graph.work]
    return gate is None or not unread.way(gate, avoid)


def _not_in_loop(unread: Certain, item: Diagnostic) -> bool:
    """Something is unread of the loop or of a state in it that may write the decision there."""
    state = unread.owner(item.span)
    if unread.value("decision_uri") or state is None or unread.section("states"):
        return True
    loop, encloses = state.name.value, unread.flow.structure.encloses
    return any(
        not lost.isdisjoint((*_DECISIONS, ANY)) and (name == loop or encloses(loop, name))
        for name, lost in unread.states.items()
    )


def _never_routes(unread: Certain, item: Diagnostic) -> bool:
    """What the goto may mean could not be read: what its loop leads to, or what is in it."""
    state, structure = unread.owner(item.span), unread.flow.structure
    if state is None or state.name.value not in structure.parent:
        return _here("transitions")(unread, item)
    around = structure.ancestors(state.name.value)
    return _anywhere("sequence")(unread, item) or _lost(unread, around, ("next", "loop", ANY))


def _no_loop(unread: Certain, item: Diagnostic) -> bool:
    """A group around the state may be a loop, or a loop's body could not be read."""
    state = unread.owner(item.span)
    around = unread.flow.structure.ancestors(state.name.value) if state is not None else ()
    return _anywhere("sequence")(unread, item) or _lost(unread, around, ("loop", ANY))


def _lost(unread: Certain, names: Iterable[str], keys: Iterable[str]) -> bool:
    wanted = frozenset(keys)
    return any(not wanted.isdisjoint(unread.states.get(name, ())) for name in names)


def _named_unread(unread: Certain, item: Diagnostic) -> bool:
    """What could not be read has the key's name in it, or a finding says that this name is meant."""
    if unread.section("states") or unread.reads_anything:
        return True
    return item.span.text.strip("'\"") in unread.words


def _in_bad_name(unread: Certain, item: Diagnostic) -> bool:
    """The character is what makes a name bad."""
    return any(span.start <= item.span.start < span.end for span in unread.bad_names)


def _contract(unread: Certain, item: Diagnostic) -> bool:
    return unread.section("config") or "params" in unread.of(item.span)


_OF_FORM: dict[str, _Test] = {
    "no-work": _no_work,
    "key-not-for-group": _here(*_WORK),
    "trigger-without-work": _here(*_WORK),
    "bad-member": _here(*_WORK),
    "too-few-members": _here("parallel"),
    "unknown-state": lambda unread, item: unread.section("states"),
    "unknown-profile": _no_profile,
    "unknown-config-key": _contract,
    "value-not-text": lambda unread, item: any(at.span.start in unread.config for at in item.related),
    "unknown-run-key": lambda unread, item: unread.section("run"),
    "unknown-state-value": _of_unread("outputs"),
    "unknown-loop": _of_unread("loop"),
}
"""What follows from a fault of form."""

_OF_ALL: dict[str, _Test] = {
    "unknown-state-value": _of_idle,
    "unknown-loop": _of_idle,
    "count-mismatch": _here("parallel"),
    "not-sharded": _here("multiNodeMode", "toolRef"),
    "shard-contract": _contract,
    "no-terminal": _no_terminal,
    "unreachable-state": _unreached,
    "dead-end": _here("next", "transitions", "terminal"),
    "no-fall-through": _here("next", "transitions"),
    "transition-never-routes": _never_routes,
    "child-transitions": _no_loop,
    "needs-not-run": _not_run,
    "state-not-run": _not_run,
    "loop-not-run": _not_run,
    "no-decision-source": _no_decision,
    "decision-from-config": _no_decision,
    "decision-not-an-output": _no_decision,
    "decision-not-written": _not_written,
    "stale-decision": _not_in_loop,
    "label-mismatch": _labels,
    "undeclared-runtime-mode": lambda unread, item: unread.section("metadata"),
    "unused-config-key": _named_unread,
    "unused-param": _named_unread,
    "operator-input-empty": _no_image,
    "invisible-character": _in_bad_name,
}
"""What follows from a fault of form, from a name that names nothing, or from work that is missing."""
