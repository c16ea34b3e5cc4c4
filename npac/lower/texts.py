"""The texts of a program while it is built: equal ones kept once, all of them counted."""

from __future__ import annotations

from collections import Counter

from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.config import MAX_PROGRAM, value_length
from npac.flow.flow import Flow
from npac.flow.program_size import too_large
from npac.ir.program import Artifact, GroupOutputs, Step, Tree
from npac.ir.values import Value

_SMALL = 64
"""Texts up to this length are not worth a place in a table, in characters."""


class BoundMet(Exception):
    """Lowering stopped at one of its bounds, before more was built; ``finding`` says why."""

    def __init__(self, item: Diagnostic) -> None:
        super().__init__(item.message)
        self.finding = item


class TooLarge(BoundMet):
    """The program would hold more text than ``MAX_PROGRAM``."""


class Texts:
    """Shares equal texts and adds up what a program holds.

    ``kept`` are the texts that different places have in common; ``by_state`` the bytes that stand in
    the program so far, where a text counts as often as it stands there.
    """

    def __init__(self, flow: Flow, limit: int = MAX_PROGRAM) -> None:
        self.flow = flow
        self.limit = limit
        self.by_state: Counter[str] = Counter()
        self.total = 0
        self._kept: dict[Value, Value] = {}
        self._kept_bytes: Counter[str] = Counter()
        self._kept_total = 0

    def share(self, value: Value, state: str) -> Value:
        """Give the text that is equal to ``value`` and was there first.

        Raises :class:`TooLarge` when the different texts alone pass the bound: every one of them will
        stand in the program.
        """
        if isinstance(value, str) and len(value) <= _SMALL:
            return value
        found = self._kept.get(value)
        if found is not None:
            return found
        self._kept[value] = value
        size = value_length(value)
        self._kept_total += size
        self._kept_bytes[state] += size
        if self._kept_total > self.limit:
            raise TooLarge(too_large(self.flow, self._kept_bytes))
        return value

    def add(self, state: str, size: int) -> None:
        """Count ``size`` bytes of text for ``state``.  Raises :class:`TooLarge` past the bound."""
        self.by_state[state] += size
        self.total += size
        if self.total > self.limit:
            raise TooLarge(too_large(self.flow, self.by_state))


def step_text(step: Step) -> int:
    """Give the bytes of text in a step."""
    size = value_length(step.shell) + value_length(step.decision_uri)
    size += sum(map(value_length, step.argv)) + sum(map(value_length, step.env.values()))
    size += artifacts_text(step.inputs) + artifacts_text(step.outputs)
    if step.baked is not None:
        size += value_length(step.baked.source_sha)
    return size + tree_text(step.profile)


def tree_text(tree: Tree) -> int:
    """Give the bytes of text in data, keys left out."""
    if tree is None or isinstance(tree, (bool, int, float)):
        return 0
    if isinstance(tree, dict):
        return sum(map(tree_text, tree.values()))
    if isinstance(tree, list):
        return sum(map(tree_text, tree))
    return value_length(tree)


def artifacts_text(artifacts: tuple[Artifact, ...]) -> int:
    """Give the bytes of the URIs of artifacts."""
    return sum(value_length(item.uri) for item in artifacts)


def groups_text(groups: tuple[GroupOutputs, ...]) -> int:
    """Give the bytes of the URIs that groups declare."""
    return sum(artifacts_text(group.outputs) for group in groups)
