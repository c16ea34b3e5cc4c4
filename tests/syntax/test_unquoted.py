"""Tokens without quotes: one finding each, at the whole token, with the fix that quotes it."""

from __future__ import annotations

import pytest

from npac.diagnostics.fixes import apply_fixes
from npac.syntax.spec_parser import parse_spec
from npac.text.source import SourceFile

HEAD = "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: a}\nconfig: {n: 3}\nstates:\n  s:\n"
END = "    terminal: true\n"


def found(body: str) -> tuple[SourceFile, list[tuple[str, str, str]]]:
    source = SourceFile("a.yaml", HEAD + body + END)
    return source, [(item.code.name, item.span.text, item.help) for item in parse_spec(source).findings]


@pytest.mark.parametrize(
    ("body", "token"),
    [
        ("    run: {argv: [x, {{config.n}}]}\n", "{{config.n}}"),
        ("    run: {argv: [x, {{ config.n | sh }}, y]}\n", "{{ config.n | sh }}"),
        ("    run:\n      shell: {{config.n}}\n", "{{config.n}}"),
        ("    run:\n      argv:\n        - x\n        - {{config.n}}\n", "{{config.n}}"),
        ("    outputs:\n      - uri: {{config.n}}\n    run: {argv: [x]}\n", "{{config.n}}"),
        ("    params: {k: {{config.n}}}\n    run: {argv: [x]}\n", "{{config.n}}"),
    ],
)
def test_one_finding_and_a_fix_that_mends_it(body: str, token: str) -> None:
    source, findings = found(body)
    assert findings == [("bad-token", token, f'write "{token}"')]
    mended = apply_fixes(source, parse_spec(source).findings).source
    assert mended.text == source.text.replace(token, f'"{token}"')
    assert parse_spec(mended).findings == []


def test_the_token_is_read_as_if_it_were_quoted() -> None:
    source, _ = found("    run:\n      shell: {{config.n}}\n")
    spec = parse_spec(source).spec
    assert spec is not None
    quoted = parse_spec(SourceFile("a.yaml", source.text.replace("{{config.n}}", '"{{config.n}}"'))).spec
    assert quoted is not None
    one, other = (each.states["s"].shell for each in (spec, quoted))
    assert one is not None and other is not None
    (here,) = one.template.tokens
    assert here == other.template.tokens[0]
    assert one.node.inner(here.path_start, here.path_end).text == "n"


@pytest.mark.parametrize(
    "body",
    ["    run:\n      shell: {{config.n}}/x --y\n", "    run: {argv: [x, {{config.n}}/x]}\n"],
)
def test_what_follows_the_token_is_to_be_quoted_with_it(body: str) -> None:
    _, findings = found(body)
    assert findings == [
        ("bad-token", "{{config.n}}", "put quotes around the whole value, this and what follows")
    ]


def test_what_is_no_token_gets_no_fix() -> None:
    source, findings = found("    run: {argv: [x, {{ thing }}]}\n")
    assert findings == [("bad-token", "{{ thing }}", 'write "{{ thing }}"')]
    (item,) = parse_spec(source).findings
    assert item.fix is None and item.message.startswith("text with double braces must be quoted")


def test_other_mappings_as_keys_are_what_they_were() -> None:
    _, findings = found("    run: {argv: [x]}\n    params: {{a: 1}: 2}\n")
    assert [name for name, _, _ in findings] == ["complex-key"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("    run: {argv: [x]}\n    next: {{config.n}}\n", "token-in-name"),
        ("    run: {argv: [x]}\n    resources: {{config.n}}\n", "token-in-name"),
        ("    run: {{config.n}}\n", "wrong-type"),
        ("    run: {argv: [x]}\n    inputs: {{config.n}}\n", "wrong-type"),
    ],
)
def test_where_no_text_may_stand_only_that_is_said(body: str, code: str) -> None:
    assert [name for name, text, _ in found(body)[1] if text == "{{config.n}}"] == [code]
