"""Names and keys that other YAML readers take for something else are noted wherever they stand."""

from __future__ import annotations

import pytest

from npac.checking import check_bytes
from npac.diagnostics.fixes import apply_fixes
from npac.pipeline import Settings
from npac.text.source import decode
from tests.rules.specs import catalog

SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: no, namespace: 010, labels: {on: 1.10}}
config: {on: x, a: {off: y}}
run: {yes: z}
resources:
  1.10: {cpus: 1}
initial: yes
states:
  yes:
    run: {argv: [echo, "{{config.on}}{{config.a.off}}{{config.no}}{{run.yes}}"]}
    params: {no: v}
    resources: 1.10
    outputs: [{uri: "s3://example-bucket/{{run.id}}/x.json", schema: 1:30}]
    next: off
  off:
    sequence: [on]
    needs: [yes]
    next: true
  on: {run: {argv: [x]}, secrets: [NO]}
  true: {terminal: true}
"""
NOTED = [
    "no",
    "010",
    "on",
    "1.10",
    "on",
    "off",
    "yes",
    "1.10",
    "yes",
    "yes",
    "no",
    "1.10",
    "1:30",
    "off",
    "off",
    "on",
    "yes",
    "true",
    "on",
    "NO",
    "true",
]


def _found(data: bytes) -> list[tuple[str, str]]:
    found = check_bytes("spec.yaml", data, Settings(catalog())).findings
    return [(item.code.id, item.span.text) for item in found]


def test_each_place_is_noted() -> None:
    assert _found(SPEC.encode()) == [("NPA011", text) for text in NOTED]


def test_the_fixes_quote_them_all_and_change_nothing_else() -> None:
    source, _ = decode("spec.yaml", SPEC.encode())
    fixed = apply_fixes(source, check_bytes("spec.yaml", SPEC.encode(), Settings(catalog())).findings)
    assert len(fixed.applied) == len(NOTED) and _found(fixed.data) == []


@pytest.mark.parametrize("name", ['"yes"', "'010'", "y", "a", "10", "1.5", "noo"])
def test_a_name_that_every_reader_keeps_is_not_noted(name: str) -> None:
    text = SPEC.split("config:")[0].replace("no, namespace: 010, labels: {on: 1.10}", f"{name}")
    assert _found(f"{text}states:\n  {name}: {{terminal: true}}\n".encode()) == []
