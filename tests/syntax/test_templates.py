"""Template tokens: what is a token, what is text, and what is a mistake."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.resources import grammar_text
from npac.syntax import grammars
from npac.syntax.templates import (
    MAX_PROBLEMS,
    SCOPES,
    TRANSFORMS,
    Template,
    Token,
    near_scope,
    parse_template,
    read,
    scan,
)

# Pieces that meet in every way a template can go wrong.
# fmt: off
PIECES = st.sampled_from([
    "{", "{{", "{{{", "{{{{", "}", "}}", "}}}", "config", "run", "state", "loop", "confg", "stage", "item",
    ".", "..", "-", "[", "]", "'x'", '"x"', " ", "\t", "\n", "\r\n", "\u00a0", "|", "| base64", "|sh",
    "|base65", "x", "a.b", "id", "{{config.x}}", "{{ state.a.uri | json }}", "{{.Names}}",
    "or 'y'", "é", "$", "\x00",
])
# fmt: on
TEXTS = st.lists(PIECES, max_size=12).map("".join)


def only_problem(text: str) -> tuple[str, str | None, str]:
    (problem,) = parse_template(text).problems
    return problem.kind, problem.suggestion, text[problem.start : problem.end]


def literals(text: str) -> str:
    return "".join(part for part in parse_template(text).parts if isinstance(part, str))


@pytest.mark.parametrize(
    ("text", "scope", "path", "transform"),
    [
        ("{{config.bucket}}", "config", "bucket", None),
        ("{{ run.id }}", "run", "id", None),
        ("{{\tstate.train-1.output_2\n}}", "state", "train-1.output_2", None),
        ("{{loop.outer|sh}}", "loop", "outer", "sh"),
        ("{{ config.a.b-c_9 | base64 }}", "config", "a.b-c_9", "base64"),
        ("{{config.x\r\n|\n  urlencode}}", "config", "x", "urlencode"),
        ("{{config.x |json}}", "config", "x", "json"),
        ("{{ loop.index }}", "loop", "index", None),
        ("{{config.on}}", "config", "on", None),
    ],
)
def test_a_token_is_read_with_its_places(text: str, scope: str, path: str, transform: str | None) -> None:
    template = parse_template(f"s3://{text}/é")
    (token,) = template.tokens
    assert (token.scope, token.path, token.transform) == (scope, path, transform)
    assert template.text[token.start : token.end] == text
    assert template.text[token.path_start : token.path_end] == path
    assert template.parts == ("s3://", token, "/é")
    assert template.problems == ()


def test_a_path_that_repeats_its_scope_is_found_at_its_own_place() -> None:
    text = "{{config.config.config}}"
    for template in (scan(text), read(text)):
        assert template is not None
        assert template.tokens == (Token("config", "config.config", None, 0, 24, 9, 22),)


def test_tokens_side_by_side_have_no_empty_text_between_them() -> None:
    template = parse_template("{{config.a}}{{config.b}}")
    assert template.parts == template.tokens
    assert [token.path for token in template.tokens] == ["a", "b"]
    assert parse_template("").parts == ()


@pytest.mark.parametrize(
    ("text", "literal", "paths"),
    [
        ("{{{{config.x}}", "{{config.x}}", []),
        ("{{{{config.x}}}}", "{{config.x}}}}", []),
        ("{{{config.x}}}", "{}", ["x"]),
        ("{{{{{config.x}}", "{{{config.x}}", []),
        ("{{{{{{config.x}}", "{{", ["x"]),
        ("{{{{{{{config.x}}", "{{{", ["x"]),
        ("{{{{{{{{", "{{{{", []),
        ("a {{{{ b {{config.x}} }} c", "a {{ b  }} c", ["x"]),
    ],
)
def test_runs_of_braces_are_read_from_the_left(text: str, literal: str, paths: list[str]) -> None:
    template = parse_template(text)
    assert literals(text) == literal
    assert [token.path for token in template.tokens] == paths
    assert template.problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "docker ps --format '{{.Names}}'",
        "{{ .Values.image }}",
        '{{"a", "b"}}',
        "{{'config': 1}}",
        "{{}} }} {{ }}",
        "{{ range .Items }}{{ end }}",
        'f"{{run: {x}}}"',
        "{{run",
        "{{config",
        "{{config}}",
        "{{state}}",
        "{{config:x}}",
        "{{item.name}}",
        "{{status.x}}",
        "{{steps.x}}",
        "{{stage.x}}",
        "{{ stats.mean }}",
        "{{look.at}}",
        "{{values.x}}",
        "{{runner.os}}",
        "${{ github.sha }}",
        "${{ matrix.x }}",
        "{{inputs.parameters.x}}",
        "{{workflow.name}}",
        "{{configMap.name}}",
        "{{config_map.x}}",
        "{{config2.x}}",
        "{{ran.x}}",
        "{{urn.x}}",
        "{{ super() }}",
        "{{pool.x}}",
        "{{estate.x}}",
        "{{é config.x}}",
        "x = {{1: {2: 3}}}",
        "awk '{print $1}' | sed 's/}}/{/'",
    ],
)
def test_other_peoples_braces_are_text(text: str) -> None:
    assert parse_template(text) == Template(text, (text,), (), ())


@pytest.mark.parametrize(
    ("text", "kind", "suggestion"),
    [
        ("{{confg.x}}", "unknown-scope", "{{config.x}}"),
        ("{{configs.x}}", "unknown-scope", "{{config.x}}"),
        ("{{conf.x}}", "unknown-scope", "{{config.x}}"),
        ("{{Config.x}}", "unknown-scope", "{{config.x}}"),
        ("{{ CONFIG.x | sh }}", "unknown-scope", "{{config.x | sh}}"),
        ("{{stat.a.uri}}", "unknown-scope", "{{state.a.uri}}"),
        ("{{states.a.uri}}", "unknown-scope", "{{state.a.uri}}"),
        ("{{looop.x}}", "unknown-scope", "{{loop.x}}"),
        ("{{runs.id}}", "unknown-scope", "{{run.id}}"),
        ("{{confg['x']}}", "unknown-scope", "{{config.x}}"),
        ("{{confg.x | base65}}", "unknown-scope", "{{config.x | base64}}"),
        ("{{config['x']}}", "bad-token-syntax", "{{config.x}}"),
        ('{{ config["a"]["b"] | sh }}', "bad-token-syntax", "{{config.a.b | sh}}"),
        ("{{config.x or 'y'}}", "bad-token-syntax", "{{config.x}}"),
        ("{{config.x:-y}}", "bad-token-syntax", "{{config.x}}"),
        ("{{config.get('x')}}", "bad-token-syntax", "{{config.x}}"),
        ("{{config .x}}", "bad-token-syntax", "{{config.x}}"),
        ("{{config. x}}", "bad-token-syntax", "{{config.x}}"),
        ("{{ config }}", "bad-token-syntax", None),
        ("{{config.}}", "bad-token-syntax", None),
        ("{{config.a/b}}", "bad-token-syntax", None),
        ("{{config.naïve}}", "bad-token-syntax", None),
        ("{{config.x[0]}}", "bad-token-syntax", None),
        ("{{config.x | }}", "bad-token-syntax", None),
        ("{{config.x | sh | json}}", "bad-token-syntax", None),
        ("{{\u00a0config.x}}", "bad-token-syntax", "{{config.x}}"),
        ("{{config.x | base65}}", "unknown-transform", "{{config.x | base64}}"),
        ("{{config.x | Base64}}", "unknown-transform", "{{config.x | base64}}"),
        ("{{config.x | tojson}}", "unknown-transform", "{{config.x | json}}"),
        ("{{config.x | quote}}", "unknown-transform", "{{config.x | sh}}"),
        ("{{config.x | frobnicate}}", "unknown-transform", None),
        ("{{config.x | default('y')}}", "unknown-transform", "{{config.x}}"),
        ("{{\n\nconfig.x | base65\n\n}}", "unknown-transform", "{{config.x | base64}}"),
    ],
)
def test_a_near_miss_is_a_problem_with_a_suggestion(text: str, kind: str, suggestion: str | None) -> None:
    assert only_problem(f"echo {text} done") == (kind, suggestion, text)


@pytest.mark.parametrize(
    ("text", "suggestion", "where"),
    [
        ("echo {{config.x", "{{config.x}}", "{{config.x"),
        ("echo {{config.x} done", "{{config.x}}", "{{config.x}"),
        ("echo {{ confg.x and more", "{{config.x}}", "{{ confg.x"),
        ("echo {{config.x | base64", "{{config.x | base64}}", "{{config.x | base64"),
        ("echo {{config.", None, "{{config"),
        ("echo {{config ", None, "{{config"),
        ("echo {{config['x", None, "{{config"),
        ("a {{config.x\nb\nc }} d", "{{config.x}}", "{{config.x"),
    ],
)
def test_a_token_that_never_closes_is_a_problem(text: str, suggestion: str | None, where: str) -> None:
    assert only_problem(text) == ("unclosed-token", suggestion, where)


def test_an_unclosed_token_does_not_swallow_the_next_one() -> None:
    template = parse_template("{{config.x} and {{config.y}}")
    assert [token.path for token in template.tokens] == ["y"]
    assert [problem.kind for problem in template.problems] == ["unclosed-token"]


def test_every_problem_of_a_text_is_reported_in_order_and_bounded() -> None:
    template = parse_template("{{confg.a}} {{config.b}} {{config['c']}} {{.D}} {{config.e | base65}}")
    assert [p.kind for p in template.problems] == ["unknown-scope", "bad-token-syntax", "unknown-transform"]
    assert [t.path for t in template.tokens] == ["b"]
    assert len(parse_template("{{confg.a}}" * 1000).problems) == MAX_PROBLEMS


def test_a_problem_says_what_stands_where_and_how_to_keep_the_text() -> None:
    (problem,) = parse_template("{{config.a/b}}").problems
    assert "`/`" in problem.message
    assert "{{{{" in problem.help
    (problem,) = parse_template("{{config.x | base65}}").problems
    assert all(f"`{name}`" in problem.help for name in TRANSFORMS)
    (problem,) = parse_template("{{confg.x}}").problems
    assert all(f"`{name}`" in problem.message for name in SCOPES)


def test_problems_never_quote_what_may_be_secret() -> None:
    for text in (
        "{{config.x or 'hunter2hunter2'}}",
        "{{config.x hunter2hunter2",
        "{{config['x'] + hunter2hunter2}}",
    ):
        (problem,) = parse_template(text).problems
        assert "hunter2" not in f"{problem.message}{problem.help}{problem.suggestion}"


def test_scopes_are_those_of_the_grammar() -> None:
    listed = re.search(r"SCOPE: /\(([a-z|]+)\)", grammar_text("tokens.lark"))
    assert listed is not None
    assert tuple(listed[1].split("|")) == SCOPES
    for scope in SCOPES:
        assert near_scope(scope) == near_scope(scope.upper()) == scope


@given(TEXTS | st.text(max_size=40))
@settings(max_examples=400, deadline=None)
def test_both_ways_of_reading_agree(text: str) -> None:
    quick = scan(text)
    if quick is not None:
        assert quick == read(text)
    assert parse_template(text) == read(text)


@given(TEXTS | st.text(max_size=40))
@settings(max_examples=400, deadline=None)
def test_every_text_is_kept_whole(text: str) -> None:
    template = parse_template(text)
    written = "".join(
        part if isinstance(part, str) else text[part.start : part.end] for part in template.parts
    )
    # Of every four braces in a row, from the left, two are left.
    assert written == re.sub(r"\{+", lambda run: "{" * (len(run[0]) - len(run[0]) // 4 * 2), text)
    for part in template.parts:
        assert part != ""
    places = sorted(
        [(t.start, t.end) for t in template.tokens] + [(p.start, p.end) for p in template.problems]
    )
    assert all(start < end for start, end in places)
    assert all(left[1] <= right[0] for left, right in pairwise(places))


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_a_suggestion_can_stand_in_the_place_of_its_problem(text: str) -> None:
    for problem in parse_template(text).problems:
        if problem.suggestion is not None:
            mended = parse_template(problem.suggestion)
            assert len(mended.tokens) == 1
            assert mended.parts == mended.tokens


BLANKS = st.sampled_from(["", " ", "\n  ", "\t"])
TRANSFORMED = st.sampled_from(["", "|base64", "| json", "|\nsh ", "|urlencode", "|", "|x", "|sh|sh"])


@given(
    before=BLANKS,
    scope=st.sampled_from([*SCOPES, "item"]),
    path=st.text("ab.-_1/ é", max_size=6),
    after=BLANKS,
    transform=TRANSFORMED,
    close=st.sampled_from(["}}", "}", ""]),
)
@settings(max_examples=300, deadline=None)
def test_the_grammar_accepts_exactly_the_tokens_of_the_fast_path(
    before: str, scope: str, path: str, after: str, transform: str, close: str
) -> None:
    text = f"{{{{{before}{scope}.{path}{after}{transform}{close}"
    tree = grammars.read("tokens.lark", "token", text)
    quick = scan(text)
    known = transform.strip("|\n ") in ("", *TRANSFORMS)
    by_grammar = not isinstance(tree, grammars.Stop) and known
    assert by_grammar == (quick is not None and len(quick.tokens) == 1 and quick.tokens[0].end == len(text))


@pytest.mark.parametrize(
    "piece",
    [
        "{{a.b}} ",
        "{{{{",
        "{{config[",
        "{{ ",
        "{{config.x ",
        "{" * 7,
        "{{config.",
        "}}",
        "{{" + " " * 50,
        "aaaaaaaa",
    ],
)
def test_long_texts_are_read_in_linear_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        best = float("inf")
        for _ in range(5):
            started = time.process_time()  # what other processes do does not count
            assert read(text).text == text
            best = min(best, time.process_time() - started)
        return best

    small = max(seconds(20_000), 0.004)  # quadratic time would be 64 times as long
    assert seconds(160_000) < 32 * small


def test_well_formed_texts_are_read_without_lark() -> None:
    code = (
        "import sys\n"
        "from npac.syntax.templates import parse_template\n"
        "from npac.syntax.conditions import parse_condition, parse_count\n"
        "from npac.syntax.quantities import parse_accelerator, parse_memory\n"
        "from npac.syntax.images import parse_image\n"
        "assert len(parse_template('{{config.a}}/{{ run.id | sh }}').tokens) == 2\n"
        "assert parse_condition('{{config.a}}').key == 'a' and parse_count('12') == 12\n"
        "assert parse_accelerator('H100:8').number == 8 and parse_memory('16Gi').amount == '16'\n"
        "assert parse_image('nvcr.io/nvidia/nre:26.04').tag == '26.04'\n"
        "print(sorted({'lark', 'difflib', 'pydantic', 'ipaddress'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
