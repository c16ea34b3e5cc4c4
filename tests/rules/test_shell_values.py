"""Values in shell texts: which quoting they stand in, and which characters the shell acts on there."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.rules.tokens.shell_quoting import Quoting, quotings
from tests.rules.specs import checked, codes

# A shell text in which each T is a token, and how each of them stands.
TEXTS = {
    "echo T": "none",
    '"T"': "double",
    "'T'": "single",
    "$'T'": "ansi",
    "echo 'a'T'b'": "none",
    '"it\'s T" T': "double none",
    '"a\\"T" T': "double none",
    '\\T "\\T"': "none double",
    '"a $(cat T) T"': "none double",
    '"`cat T` T" T': "none double none",
    '"$(echo "T" T)" T': "double none none",
    "\"$(echo $(echo 'T' T))T\"": "single none double",
    "x=$((T + 1)); T": "none none",
    '"${X:-T}" ${X:-T}': "double none",
    'echo "${X:-"T"}" T': "double none",
    '(cd T; "T")': "none double",
    "case x in a) T;; esac": "none",
    "# T\nT": "comment none",
    "a#T; x # T": "none comment",
    "cat <<E\nT\nE\nT": "heredoc none",
    "cat <<'E'\nT\nE\nT": "literal none",
    'cat <<-"E" T\nT\n  E\nT': "none literal none",
    "cat <<\\E\nT\nE\n": "literal",
    "cat <<A <<'B'\nT\nA\nT\nB\nT": "heredoc literal none",
    "cat <<E\nT\n": "heredoc",
    'cat <<<T "T"': "none double",
    "'T": "single",
    '"T': "double",
    ") } T": "none",
    "cat <<E\nEE T\nE T\n \tE \nT": "heredoc heredoc none",
    "cat <<E <<E\nT\nE\nT\nE\nT": "heredoc heredoc none",
    '"$(`"${x:-T"T`T)T"': "double double none double",
    '"a$(b"T': "double",
    '`"`T': "none",
}


@pytest.mark.parametrize("text", TEXTS)
def test_how_a_token_stands_in_a_shell_text(text: str) -> None:
    found = quotings(text, [match.span() for match in re.finditer("T", text)])
    assert " ".join(item.value for item in found) == TEXTS[text]


@given(st.lists(st.sampled_from([*"'\"`$(){}\\#<\n aE-", "T", "<<E", "$(", "${", "<<'E'\n"]), max_size=40))
def test_any_text_gives_every_token_its_quoting(parts: list[str]) -> None:
    text = "".join(parts)
    spans = [match.span() for match in re.finditer("T", text)]
    found = quotings(text, spans)
    assert len(found) == len(spans)
    assert all(isinstance(item, Quoting) for item in found)


def _warned(shell: str, value: str) -> str | None:
    """Give why the value of ``config.v`` is dangerous in a shell text, or None."""
    body = (
        f"config: {{v: {_yaml(value)}}}\nstates:\n  a: {{run: {{shell: {_yaml(shell)}}}, terminal: true}}\n"
    )
    found = [item for item in checked(body).findings if item.code.id != "NPA011"]
    assert all(item.code.id == "NPA221" for item in found)
    return found[0].message.partition("config.v ")[2].partition(", and")[0] if found else None


def _yaml(text: str) -> str:
    import json

    return json.dumps(text)


@pytest.mark.parametrize(
    ("shell", "value", "why"),
    [
        ("echo {{config.v}}", "a@b%c+d=e:f,g./h-1_2", None),
        ("echo {{config.v}}", "a b", "holds a blank and is unquoted"),
        ("echo {{config.v}}", "a;b", "holds ; and is unquoted"),
        ("echo {{config.v}}", "*", "holds * and is unquoted"),
        ("echo {{config.v}}", "~", "holds ~ and is unquoted"),
        ("echo {{config.v}}", "", "is empty and unquoted"),
        ('echo "{{config.v}}"', "", None),
        ('echo "{{config.v}}"', "a b; c 'd' *", None),
        ('echo "{{config.v}}"', 'a"b', 'holds " inside double quotes'),
        ('echo "{{config.v}}"', "$(x)", "holds $ inside double quotes"),
        ('echo "{{config.v}}"', "a\\b`c`", "holds \\ ` inside double quotes"),
        ("echo '{{config.v}}'", 'a b; "c" $d `e` \\', None),
        ("echo '{{config.v}}'", "it's", "holds ' inside single quotes"),
        ("echo $'{{config.v}}'", "a\\nb", "holds \\ inside $'...'"),
        ('echo "$(cat {{config.v}})"', "a b", "holds a blank and is unquoted"),
        ("cat <<E\n{{config.v}}\nE", 'a "b" c', None),
        ("cat <<E\n{{config.v}}\nE", "$x", "holds $ inside a here-document"),
        ("cat <<'E'\n{{config.v}}\nE", "$x `y`", None),
        ("true # {{config.v}}", "a; b $c", None),
        ("true # {{config.v}}", "a\nb", "holds a line break inside a comment"),
        ("echo {{config.v | sh}}", "it's; $x", None),
        ("echo {{config.v | sh}}", "", None),
        ("echo '{{config.v | sh}}'", "a b", "holds ' inside single quotes"),
        ('echo "{{config.v | sh}}"', "$x", "holds $ inside double quotes"),
        ("echo {{config.v | base64}}", "a b; c", None),
        ("echo {{config.v | urlencode}}", "a b; $c", None),
        ("echo {{config.v | json}}", "a", 'holds " and is unquoted'),
        ("echo '{{config.v | json}}'", "a b", None),
        ("echo {{config.v}}/x", "s3://b/{{run.id}}/k", None),
        ("echo {{config.v}}/x", "s3://b/{{run.id}}/k k", "holds a blank and is unquoted"),
        ("echo {{config.v | json}}", "{{run.id}} x", 'holds " and is unquoted'),
    ],
)
def test_a_value_that_acts_on_the_shell_is_warned_of(shell: str, value: str, why: str | None) -> None:
    assert _warned(shell, value) == why


def test_the_states_params_decide() -> None:
    body = "config: {v: a b}\nstates:\n  a: {run: {shell: 'echo {{config.v}}'}, params: {v: ab}, terminal: true}\n"
    assert codes(body, but="215") == ""
    assert (
        codes(body.replace("a b", "ab").replace("v: ab}, terminal", "v: a b}, terminal"), but="215") == "221"
    )


def test_argv_needs_no_quoting_and_the_runs_own_values_are_looked_at() -> None:
    assert codes("config: {v: a b}\nstates:\n  a: {run: {argv: [x, '{{config.v}}']}, terminal: true}\n") == ""
    shell = "run: {v: a b}\nstates:\n  a: {run: {shell: 'echo {{run.v}} {{run.id}} {{run.prefix}}'}, terminal: true}\n"
    assert codes(shell) == "221"


def test_the_place_is_the_token() -> None:
    body = "config: {v: a b}\nstates:\n  a:\n    run:\n      shell: |\n        echo x\n        echo {{config.v}}\n    terminal: true\n"
    (item,) = checked(body).findings
    assert item.span.text == "{{config.v}}"
