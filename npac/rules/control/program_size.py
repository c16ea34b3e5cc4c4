"""A program's text has a bound, which is worked out before any of the text is built."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.config import MAX_PROGRAM, value_length
from npac.flow.counters import loop_bound
from npac.flow.flow import Flow
from npac.flow.program_size import sizes, too_large


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report a spec whose program would hold more than ``MAX_PROGRAM`` bytes of text."""
    if _is_small(flow):
        return
    by_state = sizes(flow)
    if sum(by_state.values()) > MAX_PROGRAM:
        yield too_large(flow, by_state)


_LATE = 128
"""Bytes for each of the source: a token of a state has a dozen, and a URI hardly a thousand."""
_WORDS = 64
"""Words of a tool's command."""


def _is_small(flow: Flow) -> bool:
    """Say whether a rough look shows that the program is far below the bound, as nearly all are."""
    rounds = 1
    for name, state in flow.spec.states.items():
        if state.loop is not None:
            rounds *= max(1, loop_bound(flow, name) or 1)
            if rounds > MAX_PROGRAM:
                return False
    text = flow.spec.source.text
    longest = max(map(value_length, flow.config.values.values()), default=0)
    tokens = text.count("{{") + _WORDS * len(flow.spec.states)
    return rounds * (_LATE * len(text) + tokens * longest) < MAX_PROGRAM
