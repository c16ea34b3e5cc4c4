"""Node ids taken apart: the states on the way to a node, with and without rounds of loops."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ROUND = re.compile(r"\[[0-9]+\]")
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node stands: the groups around it, its own state, and a gate's role (else empty)."""

    groups: Path
    state: str
    role: str = ""

    @property
    def key(self) -> str:
        """Give one id for all rounds of this node."""
        path = "/".join((*self.groups, self.state))
        return f"{path}@{self.role}" if self.role else path


def place(node_id: str) -> Place:
    """Read a node's id; rounds and the mark of its other values are left away."""
    path, _, role = node_id.partition("~")[0].partition("@")
    *groups, state = _ROUND.sub("", path).split("/")
    return Place(tuple(groups), state, role)
