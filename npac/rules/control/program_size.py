"""A program's text has a bound, which is worked out before any of the text is built."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.config import MAX_PROGRAM
from npac.flow.flow import Flow
from npac.flow.program_size import sizes, too_large


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report a spec whose program would hold more than ``MAX_PROGRAM`` bytes of text."""
    by_state = sizes(flow)
    if sum(by_state.values()) > MAX_PROGRAM:
        yield too_large(flow, by_state)
