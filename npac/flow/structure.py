"""How states contain and follow one another, before the flow graph is built.

Only what is sound is given on: a reference to a state that does not exist is reported by the
rules and left out here.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from npac.flow.circles import circles
from npac.flow.config import Config
from npac.syntax.ast import Spec, State, Transition
from npac.syntax.conditions import Condition, parse_condition
from npac.syntax.language import PREDICATES
from npac.text.yaml_nodes import Scalar


class Structure:
    """Containment and exits of the states of one spec."""

    __slots__ = (
        "_after", "_loop_around", "_outermost", "_places", "closing", "cycles", "exits", "members", "parent",
    )  # fmt: skip

    def __init__(self) -> None:
        self.parent: dict[str, str] = {}
        """The group that a state is a member of."""
        self.members: dict[str, tuple[str, ...]] = {}
        """The members of each group that exist, in order, each once."""
        self.cycles: list[tuple[str, ...]] = []
        """Groups that contain themselves, each as the chain that leads back to its first name.

        In ``parent`` and ``members`` the last link of the chain is left out."""
        self.closing: set[tuple[str, ...]] = set()
        """These last links: the group that contains, and the member."""
        self.exits: dict[str, Exits] = {}
        """Where each state outside groups leads."""
        self._after: dict[str, str] | None = None
        self._outermost: dict[str, str] = {}
        self._loop_around: dict[str, str | None] = {}
        self._places: dict[str, tuple[int, int]] = {}

    def outermost(self, name: str) -> str:
        """Give the group around ``name`` that is in no other, or ``name`` itself when it is in none."""
        passed: list[str] = []
        at = name
        while (found := self._outermost.get(at)) is None:
            passed.append(at)
            above = self.parent.get(at)
            if above is None:
                found = at
                break
            at = above
        self._outermost.update(dict.fromkeys(passed, found))
        return found

    def loop_around(self, spec: Spec, name: str) -> str | None:
        """Give the innermost looped group around ``name`` (not ``name`` itself), or None."""
        passed: list[str] = []
        at = name
        found: str | None = None
        while at not in self._loop_around:
            passed.append(at)
            above = self.parent.get(at)
            if above is None or spec.states[above].loop is not None:
                found = above
                break
            at = above
        else:
            found = self._loop_around[at]
        self._loop_around.update(dict.fromkeys(passed, found))
        return found

    def encloses(self, group: str, name: str) -> bool:
        """Say whether ``name`` is a member of ``group``, or a member's member, and so on."""
        outer, inner = self.place(group), self.place(name)
        return outer is not None and inner is not None and outer[0] < inner[0] and inner[1] <= outer[1]

    def place(self, name: str) -> tuple[int, int] | None:
        """Give two numbers of a state in a group, or of a group, that lie between those of its groups.

        They rise in the order in which members run.  None for a state that is in no group and is none.
        """
        if not self._places:
            self._number()
        return self._places.get(name)

    def after(self, name: str) -> str | None:
        """Give the member of its group that stands right after ``name``, or None."""
        if self._after is None:
            self._after = {
                child: following
                for children in self.members.values()
                for child, following in pairwise(children)
            }
        return self._after.get(name)

    def _number(self) -> None:
        """Number the states that are in groups so that a group's numbers are around its members'."""
        clock = 0
        begun: dict[str, int] = {}
        stack = [name for name in self.members if name not in self.parent]
        while stack:
            name = stack[-1]
            clock += 1
            if name in begun:
                stack.pop()
                self._places.setdefault(name, (begun[name], clock))
                continue
            begun[name] = clock
            members = reversed(self.members.get(name, ()))
            stack.extend(child for child in members if self.parent.get(child) == name)

    def enclosing_loops(self, spec: Spec, name: str) -> tuple[str, ...]:
        """Give the looped groups around ``name``, the outermost first (not ``name`` itself)."""
        found: list[str] = []
        at = self.loop_around(spec, name)
        while at is not None:
            found.append(at)
            at = self.loop_around(spec, at)
        return tuple(reversed(found))

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Give the groups around ``name``, the outermost first."""
        found: list[str] = []
        at = self.parent.get(name)
        while at is not None:
            found.append(at)
            at = self.parent.get(at)
        return tuple(reversed(found))


class Exits(NamedTuple):
    """Where a state outside groups leads, with every ``if`` decided.

    ``promote`` and ``loop_back`` differ only when a decision is read (``decides``); None means
    that the run ends there.
    """

    decides: bool
    promote: str | None
    loop_back: str | None
    exhausted: bool = False
    """The transitions can be exhausted for some decision, and no ``next`` follows."""


def build_structure(spec: Spec, config: Config) -> Structure:
    """Work out containment and exits."""
    structure = Structure()
    groups = {name: state for name, state in spec.states.items() if state.is_group}
    rings = _rings(groups)
    structure.cycles = [ring[:-1] for ring in rings]
    structure.closing = {ring[-2:] for ring in rings}
    for name, state in groups.items():
        children: list[str] = []
        for member in state.members:
            child = member.value
            closes = (name, child) in structure.closing
            if closes or child not in spec.states or child in structure.parent:
                continue
            children.append(child)
            structure.parent[child] = name
        structure.members[name] = tuple(children)
    if rings:
        _cut(structure)
    for name, state in spec.states.items():
        if name not in structure.parent:
            structure.exits[name] = exits_of(
                spec, state, structure, lambda item: condition_holds(config, item)
            )
    return structure


def _rings(groups: Mapping[str, State]) -> list[tuple[str, ...]]:
    """Give circles of groups that contain one another, each seen from the outermost group around it."""

    def follow(name: str) -> list[str]:
        return list(dict.fromkeys(item.value for item in groups[name].members if item.value in groups))

    named = {item.value for state in groups.values() for item in state.members}
    return circles((*(name for name in groups if name not in named), *groups), follow)


def _cut(structure: Structure) -> None:
    """Let no state contain itself, so that following parents always ends.

    Of circles that share a group one is given, and without its last link others may be left.
    """
    done: set[str] = set()
    for start in list(structure.parent):
        chain: dict[str, None] = {}
        at: str | None = start
        while at is not None and at not in done and at not in chain:
            chain[at] = None
            at = structure.parent.get(at)
        if at is not None and at in chain:
            above = structure.parent.pop(at)
            structure.members[above] = tuple(name for name in structure.members[above] if name != at)
        done.update(chain)


def condition_holds(config: Config, transition: Transition) -> bool | None:
    """Decide an ``if``: None when it cannot be read."""
    if transition.condition is None:
        return True
    parsed = parse_condition(transition.condition.value)
    return counts_as_true(config, parsed.key) if isinstance(parsed, Condition) else None


def counts_as_true(config: Config, key: str) -> bool | None:
    """Say whether an ``if`` takes a config key for true: None when there is no such key.

    False for an unquoted ``false``, ``null`` or ``0`` and for an empty text; true otherwise, also
    for a text that depends on the run.
    """
    entry = config.entries.get(key)
    if entry is None:
        return None
    config.read.add(key)
    node = entry.node
    if not isinstance(node, Scalar):
        return True
    if node.is_null or node.boolean is False:
        return False
    if node.style == "" and node.value in ("0", "-0", "+0"):
        return False
    return config.values.get(key, "") != ""


def dead_transitions(state: State) -> Iterator[tuple[Transition, Transition]]:
    """Give the transitions of a state that are never taken, each with the one before it that always is.

    Whatever config and decisions say: the one before asks for nothing more than the dead one does.
    """
    first: dict[tuple[str, str], Transition] = {}  # by config key and decision, empty for none
    for item in state.transitions:
        asked = parse_condition(item.condition.value) if item.condition is not None else None
        when = item.when.value if item.when is not None else ""
        if (asked is not None and not isinstance(asked, Condition)) or when not in ("", *PREDICATES):
            continue  # an error of its own
        keys = ("",) if asked is None else ("", asked.key)
        taken = next((first[key, said] for key in keys for said in ("", when) if (key, said) in first), None)
        if taken is None:
            each = [
                [first[key, said] for key in keys if (key, said) in first] for said in PREDICATES if not when
            ]
            taken = each[-1][0] if each and all(each) else None
        if taken is not None:
            yield item, taken
        first.setdefault((keys[-1], when), item)


def exits_of(
    spec: Spec, state: State, structure: Structure, holds: Callable[[Transition], bool | None]
) -> Exits:
    """Give where a state leads; ``holds`` decides an ``if``, None standing for one that cannot be read."""
    following = _target(spec, state.next, structure)
    if state.terminal or state.parallel is not None:
        return Exits(False, following, following)
    live = [item for item in state.transitions if holds(item) is not False]
    if not live or live[0].when is None:
        target = _target(spec, live[0].goto, structure) if live else following
        return Exits(False, target, target)
    chosen: dict[str, str | None] = {}
    exhausted = False
    for decision in PREDICATES:
        for item in live:
            if item.when is None or _may_mean(item.when.value, decision):
                chosen[decision] = _target(spec, item.goto, structure)
                break
        else:
            chosen[decision] = following
            exhausted = exhausted or state.next is None
    return Exits(True, chosen["promote_checkpoint"], chosen["loop_back"], exhausted)


def _may_mean(when: str, decision: str) -> bool:
    """Compare a predicate; one that does not exist (an error of its own) stands for a promotion."""
    return when == decision or (decision == "promote_checkpoint" and when != "loop_back")


def _target(spec: Spec, name: Scalar | None, structure: Structure) -> str | None:
    """Give the state that a name leads to; a member (an error of its own) stands for its group."""
    if name is None or name.value not in spec.states:
        return None
    return structure.outermost(name.value)


def exit_circles(
    structure: Structure, spec: Spec, exits: Mapping[str, Exits] | None = None
) -> list[tuple[str, ...]]:
    """Give circles of next and transitions among the states outside groups, looking from the first state.

    ``exits`` are where states lead with other values of config, those of ``structure`` if left out.
    """
    leads = structure.exits if exits is None else exits

    def follow(name: str) -> list[str]:
        found = leads[name]
        targets = [found.promote] if found.promote == found.loop_back else [found.promote, found.loop_back]
        return [at for at in targets if at is not None and at in leads]

    first = structure.outermost(spec.initial.value) if spec.initial is not None else ""
    starts = [first, *leads] if first in leads else leads
    return circles(starts, follow)


def exit_scalar(
    spec: Spec, structure: Structure, name: str, target: str, holds: Callable[[Transition], bool | None]
) -> Scalar | None:
    """Give the ``goto`` or ``next`` by which a state outside groups leads to ``target``, or None.

    One that names ``target`` itself comes before one that names a member of it.  ``holds`` decides an ``if``.
    """
    state = spec.states[name]
    named = [item.goto for item in state.transitions if holds(item) is not False]
    found = [
        scalar
        for scalar in (*named, state.next)
        if scalar is not None and _target(spec, scalar, structure) == target
    ]
    return min(found, key=lambda scalar: scalar.value != target, default=None)
