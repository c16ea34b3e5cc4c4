"""YAML as nodes: values, places, what is refused, and that nothing is built from a tag."""

from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from npac.text.source import SourceFile
from npac.text.yaml_nodes import MAX_DEPTH, Map, Node, Scalar, Seq, YamlProblem, parse_yaml


def parse(text: str) -> tuple[Node | None, list[YamlProblem]]:
    return parse_yaml(SourceFile("x.yaml", text))


def sound(text: str) -> Node:
    node, problems = parse(text)
    assert problems == []
    assert node is not None
    return node


def at(node: Node, *path: str | int) -> Node:
    for step in path:
        if isinstance(step, int):
            assert isinstance(node, Seq)
            node = node.items[step]
        else:
            assert isinstance(node, Map)
            found = node.get(step)
            assert found is not None
            node = found
    return node


def scalar(node: Node, *path: str | int) -> Scalar:
    found = at(node, *path)
    assert isinstance(found, Scalar)
    return found


def data(node: Node) -> object:
    """Give a node as plain data, every scalar as its text."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Seq):
        return [data(item) for item in node.items]
    return {key: data(value) for key, (_, value) in node.entries.items()}


# --- values and places


@pytest.mark.parametrize(
    ("text", "value", "style", "shown"),
    [
        ("k: plain text # note\n", "plain text", "", "plain text"),
        ("k: on\n", "on", "", "on"),
        ("k: 010\n", "010", "", "010"),
        ("k: 'it''s'\n", "it's", "'", "'it''s'"),
        ('k: "a\\tb\\u00e9"\n', "a\tbé", '"', '"a\\tb\\u00e9"'),
        ("k: one\n  two\n\n  three\nz: 1\n", "one two\nthree", "", "one\n  two\n\n  three"),
        ("k: |\n  one\n   two\nz: 1\n", "one\n two\n", "|", "|\n  one\n   two"),
        ("k: |-\n  one\n\nz: 1\n", "one", "|", "|-\n  one"),
        ("k: |+\n  one\n\nz: 1\n", "one\n\n", "|", "|+\n  one"),
        ("k: |2-\n    one\n   two\n", "  one\n two", "|", "|2-\n    one\n   two"),
        ("k: |-2\n    one\n", "  one", "|", "|-2\n    one"),
        ("k: | # note\n  one  \n", "one  \n", "|", "| # note\n  one  "),
        ("k: >\n  one\n  two\n\n  three\n", "one two\nthree\n", ">", ">\n  one\n  two\n\n  three"),
        ("k: >-\n  one\n    two\n  three\n", "one\n  two\nthree", ">", ">-\n  one\n    two\n  three"),
        ("k: |\n\nz: 1\n", "", "|", "|"),
        ("k: |\r\n  one\r\n  two\r\nz: 1\r\n", "one\ntwo\n", "|", "|\r\n  one\r\n  two"),
        ("k: &a value\n", "value", "", "value"),
        ("k: &a a\n", "a", "", "a"),
        ("k: !!str 12\n", "12", "!", "12"),
        ("k: &a !!str str\n", "str", "!", "str"),
        ("k: !<tag:yaml.org,2002:str> &b b\n", "b", "!", "b"),
        ("k: ! 12\n", "12", "!", "12"),
        ('k: &q "q"\n', "q", '"', '"q"'),
        ("k: &a # note\n  later\n", "later", "", "later"),
        ("k: &a\n", "", "", ""),
        ("k: !!str\n", "", "!", ""),
        ("k: &long |\n  text\n", "text\n", "|", "|\n  text"),
        ("{k: [a, b c], z: 1}", None, "", None),
        ("k:\n", "", "", ""),
        ("k: é𝄞 x\n", "é𝄞 x", "", "é𝄞 x"),
    ],
)
def test_scalars_know_their_text_and_place(
    text: str, value: str | None, style: str, shown: str | None
) -> None:
    node = sound(text)
    if value is None:
        assert scalar(node, "k", 1).span.text == "b c"
        return
    found = scalar(node, "k")
    assert (found.value, found.style, found.span.text) == (value, style, shown)


def test_collections_span_what_is_in_them() -> None:
    text = "a:\n  b: [1, {c: 2}]\n  d:\n  - x\n  - y: |\n      z\n\ne: {}\n"
    node = sound(text)
    assert at(node, "a").span.text == "b: [1, {c: 2}]\n  d:\n  - x\n  - y: |\n      z"
    assert at(node, "a", "b").span.text == "[1, {c: 2}]"
    assert at(node, "a", "b", 1).span.text == "{c: 2}"
    assert at(node, "a", "d").span.text == "- x\n  - y: |\n      z"
    assert at(node, "e").span.text == "{}"
    assert isinstance(node, Map)
    key = node.key("e")
    assert key is not None and key.span.range() == (8, 1, 8, 2)


def test_a_byte_order_mark_and_crlf_move_no_place() -> None:
    source = SourceFile("x", "a: 1\r\nb: two\r\n", bom=True)
    node, problems = parse_yaml(source)
    assert node is not None and problems == []
    assert scalar(node, "b").span.range() == (2, 4, 2, 7)


@pytest.mark.parametrize(
    ("text", "null", "boolean"),
    [
        ("", True, None),
        ("~", True, None),
        ("null", True, None),
        ("Null", True, None),
        ("'null'", False, None),
        ("true", False, True),
        ("FALSE", False, False),
        ('"true"', False, None),
        ("yes", False, None),
        ("!!str true", False, None),
        ("nULL", False, None),
    ],
)
def test_nulls_and_booleans_are_plain(text: str, null: bool, boolean: bool | None) -> None:
    found = scalar(sound(f"k: {text}\n"), "k")
    assert (found.is_null, found.boolean) == (null, boolean)


# --- aliases and merge keys


def test_an_alias_stands_where_it_is_used() -> None:
    text = "a: &x one\nb: *x\nc: &y {k: v}\nd: *y\ne: &z [1]\nf: *z\n"
    node = sound(text)
    assert data(node) == {
        "a": "one",
        "b": "one",
        "c": {"k": "v"},
        "d": {"k": "v"},
        "e": ["1"],
        "f": ["1"],
    }
    alias = scalar(node, "b")
    assert alias.aliased and alias.span.text == "*x"
    assert alias.inner(1, 2).text == "*x"
    assert at(node, "d").span.text == "*y"
    assert at(node, "f").span.text == "*z"
    # what is inside an aliased collection stands where it was written
    assert scalar(node, "d", "k").span.range() == (3, 11, 3, 12)


def test_an_anchor_given_twice_names_what_came_last() -> None:
    assert data(sound("[&a 1, *a, &a 2, *a]")) == ["1", "1", "2", "2"]


def test_merge_keys_add_what_is_lacking() -> None:
    text = "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nmine:\n  <<: [*b, *m]\n  x: 0\n"
    node = sound(text)
    assert data(at(node, "mine")) == {"x": "0", "y": "2", "z": "4"}
    assert data(sound("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b}\n")) == {
        "a": {"x": "1"},
        "b": {"y": "2", "x": "1"},
        "c": {"y": "2", "x": "1"},
    }
    # a quoted one is a key like any other
    assert data(sound("'<<': {x: 1}\n")) == {"<<": {"x": "1"}}


# --- what is refused


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("a: 1\nb: 2\na: 3\n", "duplicate-key", "a"),
        ("{a: 1, 'a': 2}", "duplicate-key", "'a'"),
        ("a: 1\n---\nb: 2\n", "several-documents", "---"),
        ("a: !!python/object:os.system x\n", "unsafe-tag", "!!python/object:os.system"),
        ("a: !mine {b: 1}\n", "unsafe-tag", "!mine"),
        ("a: !!binary aGk=\n", "unsafe-tag", "!!binary"),
        ("a: *none\n", "yaml-syntax", "*none"),
        ("a: &a [*a]\n", "alias-expansion", "*a"),
        ("? [a]\n: b\n", "complex-key", "[a]"),
        ("? {a: b}\n: c\n", "complex-key", "{a: b}"),
        ("<<: 1\n", "bad-merge-key", "1"),
        ("<<: [{a: 1}, b]\n", "bad-merge-key", "b"),
        ("a:\n\tb: 1\n", "yaml-syntax", "\t"),
        ("a: \x01\n", "yaml-syntax", "\x01"),
        ("a: \udc80\n", "yaml-syntax", "\udc80"),
        ("a: 'b\n", "yaml-syntax", None),
        ("a: [1\n", "yaml-syntax", None),
        ("a: b: c\n", "yaml-syntax", None),
        ("- a\nb\n", "yaml-syntax", None),
        ("%YAML 3.0\n---\na\n", "yaml-syntax", None),
        ("a: 1\n--- b\nc", "several-documents", "---"),
    ],
)
def test_faults_are_told_with_their_place(text: str, kind: str, shown: str | None) -> None:
    _, problems = parse(text)
    assert [problem.kind for problem in problems] == [kind]
    (problem,) = problems
    assert problem.message and problem.help
    if shown is not None:
        assert problem.span.text == shown


def test_reading_goes_on_after_a_fault_that_allows_it() -> None:
    node, problems = parse("a: 1\na: 2\nb: !x 3\nb: 4\nc: 5\n")
    assert [problem.kind for problem in problems] == ["duplicate-key", "unsafe-tag", "duplicate-key"]
    assert node is not None and data(node) == {"a": "1", "b": "3", "c": "5"}
    related = problems[0].related
    assert related is not None and related[1].range() == (1, 1, 1, 2)


def test_depth_is_bounded_also_through_aliases() -> None:
    assert parse("[" * MAX_DEPTH + "]" * MAX_DEPTH)[1] == []
    _, problems = parse("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    assert [problem.kind for problem in problems] == ["nesting-too-deep"]
    half = MAX_DEPTH // 2 + 1
    nested = f"a: &a {'[' * half}{']' * half}\nb: {'[' * half}*a{']' * half}\n"
    _, problems = parse(nested)
    assert [problem.kind for problem in problems] == ["nesting-too-deep"]


def test_a_bomb_of_aliases_is_found_before_it_goes_off() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    begun = time.process_time()
    node, problems = parse("\n".join(lines))
    assert time.process_time() - begun < 5
    assert node is None
    assert [problem.kind for problem in problems] == ["alias-expansion"]


def test_many_small_aliases_are_no_bomb() -> None:
    text = "d: &d {a: 1}\n" + "".join(f"k{n}: *d\n" for n in range(2_000))
    assert parse(text)[1] == []


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{a: " * 100_000,
        "- " * 100_000,
        "? " * 100_000,
        "&a [" * 100_000,
        "!!seq [" * 100_000,
        "\n".join(" " * depth + "a:" for depth in range(1_500)),
        '"' * 100_001,
        "a: " * 100_000,
        "\n" * 200_000 + "a: 1",
        "#" * 1_000_000,
    ],
    ids=lambda text: text[:6].strip() or "blanks",
)
def test_huge_nests_are_told_not_raised(text: str) -> None:
    node, problems = parse(text)
    assert node is not None or problems or text.startswith("#")


# --- any text


_PIECES = st.sampled_from((
    "a", "b: ", "- ", "[", "]", "{", "}", ",", ": ", "&x ", "*x", "!!str ", "!t ", "|", ">", "'", '"', "\\",
    "#", "\n", "\n  ", "\r\n", "\t", "? ", "<<: ", "---", "...", "%", "@", "`", "\0", "\ufeff", "\x85",
    "\u2028", "\udc80", "\U0001f600", "é", "1", "~", "true", "|2-\n", " ",
))  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)))
@example("\ud800")
@example("a: \ud800\n---\n")
@example("&x *x")
@example("<<: *x")
@example("? <<\n: a")
@example("\ufeff")
@example("%TAG ! tag:x,2000:\n---\n!a b")
def test_any_text_gives_nodes_or_problems(text: str) -> None:
    source = SourceFile("x", text)
    node, problems = parse_yaml(source)
    for problem in problems:
        assert 0 <= problem.span.start <= problem.span.end <= len(text)
    if node is None:
        return
    stack = [node]
    seen = 0
    while stack and seen < 5_000:
        seen += 1
        top = stack.pop()
        assert 0 <= top.span.start <= top.span.end <= len(text)
        if isinstance(top, Scalar):
            for index in range(min(len(top.value), 20)):
                place = top.inner(index, index + 1)
                assert 0 <= place.start <= place.end <= len(text)
        elif isinstance(top, Seq):
            stack += top.items
        else:
            for key, value in top.entries.values():
                stack += [key, value]


@settings(max_examples=200, deadline=None)
@given(st.lists(_PIECES, max_size=25).map("".join))
def test_what_is_read_is_what_pyyaml_reads(text: str) -> None:
    node, problems = parse(text)
    if node is None or problems or "<<" in text:
        return
    try:
        wanted = yaml.load(text, Loader=yaml.CBaseLoader)
    except yaml.YAMLError:
        pytest.fail(f"PyYAML refuses {text!r}")
    assert data(node) == wanted


@pytest.mark.parametrize("text", ['a: !!bool "true"', "a: !!bool 'true'", "a: !!bool true"])
def test_a_tag_of_plain_data_makes_a_quoted_text_plain(text: str) -> None:
    root, problems = parse_yaml(SourceFile("x.yaml", text))
    assert isinstance(root, Map) and not problems
    value = root.get("a")
    assert isinstance(value, Scalar) and value.boolean is True
