"""Tokens as other tools write them: which are told, where, and which are left alone."""

from __future__ import annotations

import pytest

from npac.syntax.foreign_tokens import foreign_tokens
from tests.rules.specs import checked

SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: a}
config: {epochs: 3}
states:
  s:
    run:
      shell: |
        train {{config.epochs}} %s
    terminal: true
"""


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("{{params.seed}}", "write `{{config.seed}}`"),
        ("{{ inputs.parameters.x }}", "write `{{config.x}}`"),
        ("{{secrets.HF_TOKEN}}", "secrets: [HF_TOKEN], and read $HF_TOKEN"),
        ("${{ secrets.HF_TOKEN }}", "secrets: [HF_TOKEN], and read $HF_TOKEN"),
        ("{{env.HOME}}", "read $HOME in run.shell"),
        ("{{metadata.name}}", "`{{run.prefix}}`"),
        ("{{steps.a.outputs}}", "`{{state.NAME.uri}}`"),
        ("{{workflow.name}}", "`{{run.id}}`"),
        ("${{ github.sha }}", "put the value into config"),
        ("${config.epochs}", "write `{{config.epochs}}`"),
    ],
)
def test_a_token_of_another_tool_is_told_with_what_npac_has_for_it(text: str, help: str) -> None:
    (item,) = foreign_tokens(f"x {text} y")
    assert (item.start, item.end) == (2, 2 + len(text))
    assert help in item.help


def test_a_dollar_before_a_token_is_told_at_the_dollar() -> None:
    (item,) = foreign_tokens("x ${{ config.epochs }} y")
    assert (item.start, item.end, item.help) == (2, 3, "write `{{ config.epochs }}`")


@pytest.mark.parametrize(
    "text",
    [
        "{{.Names}}", "{{ json . }}", "{{ .Values.env.x }}", "{{ user.name }}", "{{item}}", "{{params}}",
        "{print $1}", "{{x}}", "${HOME}", "${env.HOME}", "{{{{params.x}}", "{{{params.x}}}",
        "{'a': {'b': 1}}", "{{config.epochs}}", "${CONFIG.x}",
    ],
)  # fmt: skip
def test_everything_else_is_left_alone(text: str) -> None:
    assert list(foreign_tokens(f"x {text} y")) == []


@pytest.mark.parametrize(
    ("text", "place"),
    [("{{params.seed}}", "{{params.seed}}"), ("${{config.epochs}}", "$"), ("${config.x}", "${config.x}")],
)
def test_the_note_stands_at_the_token(text: str, place: str) -> None:
    findings = checked(SPEC % text, head="").findings
    assert [(item.code.name, item.span.text) for item in findings] == [("foreign-token", place)]


def test_a_literal_brace_says_that_the_text_is_meant() -> None:
    assert checked(SPEC % "{{{{params.seed}}", head="").findings == []
