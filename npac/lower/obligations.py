"""What a check only notes and a build cannot do without."""

from __future__ import annotations

from collections.abc import Iterable

from npac.diagnostics.diagnostic import Diagnostic, Severity

_REFUSED = frozenset(("operator-input-empty", "unknown-tool-image"))


def unmet(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Raise to errors the findings about operator inputs that are empty and images that do not exist."""
    return [
        item._replace(severity_override=Severity.ERROR) if item.code.name in _REFUSED else item
        for item in findings
    ]
