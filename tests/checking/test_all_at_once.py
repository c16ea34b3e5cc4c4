"""Faults that have nothing to do with one another are all told, each at its exact characters, in one run."""

from __future__ import annotations

from npac.checking import check_bytes
from npac.diagnostics.diagnostic import Severity
from npac.diagnostics.render import render
from npac.pipeline import Settings
from tests.rules.specs import catalog

SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: many}
config:
  bucket: my-bucket
  limit: "3"
resources:
  gpu: {cloud: kubernetes, memory: 16Gb}
states:
  generate:
    run: {argv: [python3, -m, gen, "{{config.limt}}", "{{loop.imprve}}"]}
    outputs: [{uri: "s3://{{config.bucket}}/{{run.id}}/data.json", schema: lf.data.v1}]
    next: improve
  improve:
    loop: {max: "{{config.limit}}", until: promote}
    sequence: [train, judge]
    nxt: evaluate
  train:
    run: {argv: [python3, -m, train, "{{state.generat.uri}}"]}
    resources: gpus
    secrets: [hf token]
  judge:
    run: {shell: "echo '{{config.limit}}'", argv: [x]}
    params: {hub: hf_abcdefghijklmnopqrstuvwxyz0123}
  evaluate:
    run: {argv: [echo, done]}
    outputs: [{uri: "gs://x/y"}]
    next: {to: publish}
  publish:
    run: {shell: "echo {{config.limit | quote}}"}
    needs: [evaluat]
    terminal: true
"""

PLANTED = {
    ("NPA502", "16Gb"),
    ("NPA204", "{{config.limt}}"),
    ("NPA210", "{{loop.imprve}}"),
    ("NPA320", "promote"),
    ("NPA101", "nxt"),
    ("NPA208", "{{state.generat.uri}}"),
    ("NPA501", "gpus"),
    ("NPA105", "hf token"),
    ("NPA303", "argv"),
    ("NPA601", "hf_abcdefghijklmnopqrstuvwxyz0123"),
    ("NPA706", '"gs://x/y"'),
    ("NPA102", "{to: publish}"),
    ("NPA203", "quote"),
    ("NPA301", "evaluat"),
}


def test_each_of_many_planted_faults_is_found_in_one_run() -> None:
    checked = check_bytes("many.yaml", SPEC.encode(), Settings(catalog()))
    errors = [item for item in checked.findings if item.severity is Severity.ERROR]
    assert {(item.code.id, item.span.text) for item in errors} == PLANTED
    assert len(errors) == len(PLANTED)


def test_each_fault_has_its_carets_under_its_characters() -> None:
    checked = check_bytes("many.yaml", SPEC.encode(), Settings(catalog()))
    shown = render("text", checked.findings, hidden=checked.hidden).splitlines()
    lines = SPEC.splitlines()
    for item in checked.findings:
        if item.code.id == "NPA601" or item.severity is not Severity.ERROR:
            continue
        line, column = item.span.source.position(item.span.start)
        at = next(
            place
            for place, text in enumerate(shown)
            if text.startswith("error") and f"[{item.code.id}]" in text and item.message[:40] in text
        )
        block = shown[at : at + 12]
        number = f"{line} |"
        place = next(place for place, text in enumerate(block) if text.strip().startswith(number))
        margin = block[place].index("|") + 2
        assert block[place][margin:] == lines[line - 1]
        carets = block[place + 1]
        assert carets[margin + column - 1 :].startswith("^" * len(item.span.text))
        assert carets[:margin].strip() == "|" and not carets[margin : margin + column - 1].strip()


def test_the_secret_among_them_is_not_shown() -> None:
    checked = check_bytes("many.yaml", SPEC.encode(), Settings(catalog()))
    for name in ("text", "concise", "json", "sarif", "github"):
        assert "hf_abcdefghij" not in render(name, checked.findings, hidden=checked.hidden)


FOUR = """\
config: {bucket: my-bucket}
states:
  a:
    run: {argv: [x, "{{config.buckt}}", "{{state.b.uri}}"]}
    resources: gpu
    next: c
  z: {terminal: true}
"""


def _codes(text: str) -> list[str]:
    head = "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: many}\n"
    checked = check_bytes("many.yaml", (head + text).encode(), Settings(catalog()))
    return sorted(item.code.id for item in checked.findings if item.severity is Severity.ERROR)


def test_a_key_that_nobody_knows_hides_nothing_else() -> None:
    plain = _codes(FOUR)
    assert len(plain) >= 4
    assert _codes(f"bogus: 1\n{FOUR}") == sorted([*plain, "NPA101"])
    assert _codes(f"descripton: what it does\n{FOUR}") == sorted([*plain, "NPA101"])
    assert _codes(FOUR.replace("    resources", "    bogus: 1\n    resources")) == sorted([*plain, "NPA101"])


def test_a_state_given_twice_hides_no_name_that_names_nothing() -> None:
    assert set(_codes(FOUR + "  z: {terminal: true}\n")) >= set(_codes(FOUR))
