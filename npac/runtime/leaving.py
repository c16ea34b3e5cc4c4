"""The ways in which a driver stops walking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Leave(Exception):
    """The walk is over for this driver.

    ``code`` is a fixed word for programs, ``reason`` a sentence, ``remedy`` the next thing to do.
    """

    def __init__(
        self,
        reason: str,
        *,
        code: str,
        node: str = "",
        remedy: str = "",
        evidence: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.node = node
        self.remedy = remedy
        self.evidence: Mapping[str, Any] = evidence or {}


class Blocked(Leave):
    """Evidence is lacking; the run can go on when it is there."""


class Failed(Leave):
    """The run has failed."""


class Cancelled(Leave):
    """The run was cancelled, and what ran is proven to have stopped."""


class Detached(Leave):
    """The driver goes and its jobs stay."""
