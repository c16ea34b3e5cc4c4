"""A suppression is called unused only where the rule that it silences has run."""

from __future__ import annotations

import pytest

from npac.checking import check_bytes, settings_catalog
from npac.pipeline import Settings

HEAD = "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: t}\n"
KEPT = "config:\n  legacy: 1  # npac: ignore[NPA215] read by another tool\n"


def codes(text: str) -> list[str]:
    checked = check_bytes("spec.yaml", (HEAD + text).encode(), Settings(catalog=settings_catalog(())))
    return [item.code.id for item in checked.findings]


@pytest.mark.parametrize(
    ("states", "code"),
    [
        ("states:\n  s: {run: {argv: [echo]}, terminal: true, retries: 3}\n", "NPA101"),
        ("states:\n  s: {run: {argv: [echo, '{{config.nothing}}']}, terminal: true}\n", "NPA204"),
        ("states:\n  s: {run: {argv: [echo]}, next: [}\n", "NPA002"),
    ],
)
def test_an_error_elsewhere_makes_no_suppression_unused(states: str, code: str) -> None:
    found = codes(KEPT + states)
    assert code in found
    assert "NPA901" not in found


def test_an_unused_one_is_told_where_all_rules_have_run() -> None:
    used = "config:\n  legacy: x  # npac: ignore[NPA215]\n"
    states = "states:\n  s: {run: {argv: [echo, '{{config.legacy}}']}, terminal: true}\n"
    assert codes(used + states) == ["NPA901"]
