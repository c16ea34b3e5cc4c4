"""A toolRef names an entry of the catalog."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow

CODES = (("NPA801", "unknown-tool", Severity.ERROR, "a tool is not in the catalog"),)
"""What this rule reports: code, name, severity and a summary."""

_MOST_ASKED = 100
"""Tools that do not exist and for which the one that was meant is looked for."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report tools that the catalog does not have."""
    asked: dict[str, list[str]] = {}
    for state in flow.spec.states.values():
        ref = state.tool_ref
        if ref is None or flow.catalog.get(ref.value) is not None:
            continue
        if ref.value not in asked and len(asked) < _MOST_ASKED:
            asked[ref.value] = flow.catalog.nearest(ref.value)
        near = asked.get(ref.value)
        if near:
            help_text = "did you mean " + " or ".join(repr(name) for name in near) + "?"
        else:
            help_text = "add it to a catalog file and name that by --catalog or [tool.npac] catalogs"
        yield finding("unknown-tool", f"the catalog has no tool {ref.value!r:.120}", ref.span, help_text)
