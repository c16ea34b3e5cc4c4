"""What is wrong in a malformed token is marked alone, and a fix still replaces the whole token."""

from __future__ import annotations

import pytest

from tests.rules.specs import checked


@pytest.mark.parametrize(
    ("token", "code", "mark", "fix"),
    [
        ("{{config.z | quote}}", "203", "quote", "{{config.z | sh}}"),
        ("{{config.z|default(3)}}", "203", "default", "{{config.z}}"),
        ("{{confg.z}}", "201", "confg", "{{config.z}}"),
        ("{{ config.z | sh | json }}", "202", "| json", ""),
        ("{{config.z or 1}}", "202", "or 1", "{{config.z}}"),
        ("{{config z}}", "202", "z", ""),
        ("{{config[z]}}", "202", "[z]", ""),
        ("{{config.z + config.z}}", "202", "+ config.z", ""),
        ("{{\u00a0config.z}}", "202", "\u00a0", "{{config.z}}"),
        ("{{config.}}", "202", "{{config.}}", ""),
        ("{{config.z", "202", "{{config.z", "{{config.z}}"),
    ],
)
def test_the_wrong_part_is_marked_and_the_token_replaced(token: str, code: str, mark: str, fix: str) -> None:
    body = f"config: {{z: x}}\nstates:\n  a: {{run: {{argv: [x, 'a{token}']}}, terminal: true}}\n"
    (item,) = checked(body).findings
    assert (item.code.id, item.span.text) == (f"NPA{code}", mark)
    edits = item.fix.edits if item.fix is not None else ()
    assert [(edit.span.text, edit.text) for edit in edits] == ([(token, fix)] if fix else [])


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("{{loop.a - 1}}", "$(({{loop.a}} - 1))"),
        ("{{loop.a+1}}", "$(({{loop.a}} + 1))"),
        ("{{config.n * 2}}", "$(({{config.n}} * 2))"),
    ],
)
def test_arithmetic_is_sent_to_the_command(token: str, shown: str) -> None:
    body = f"config: {{n: 2}}\nstates:\n  a: {{loop: {{max: 3}}, run: {{argv: [x, '{token}']}}, terminal: true}}\n"
    (item,) = [item for item in checked(body).findings if item.code.id == "NPA202"]
    assert shown in item.help and item.fix is None
