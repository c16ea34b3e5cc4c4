from __future__ import annotations

import datetime
from typing import Any

import pytest
import yaml
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from npac.backends.errors import BackendError
from npac.backends.skypilot import emit
from npac.backends.skypilot.emit import to_yaml

WORDS = """
no NO y on 0x10 1.10 20260822 1:30 1e3 0o17 017 2026-08-22 ~ null .nan -.inf
#a *a &a !a %a @a `a 'a' "a" a: {a} [a] << = ? | >
"""
TRICKY = [
    *WORDS.split(),
    *("", " ", "- a", "a: b", "a #b", "a\nb", "a\n", "\na\n", "a\n\n", "  a\n", "a \nb\n", "a\tb\n"),
    *("a\r\nb", "é\n", "a\u2028b\n", "\ufeff", "\x85", "🙂\n", "x" * 5000, "key: |\n  text\n"),
]


@pytest.mark.parametrize("text", TRICKY)
def test_text_reads_back_as_the_same_text(text: str) -> None:
    for loader in (yaml.SafeLoader, yaml.CSafeLoader):
        assert yaml.load(to_yaml([{"k": text, "l": [text], text: "v"}]), Loader=loader) == {
            "k": text,
            "l": [text],
            text: "v",
        }


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=8),
        st.one_of(
            st.text(st.characters(codec="utf-8")),
            st.integers(),
            st.booleans(),
            st.none(),
            st.floats(allow_nan=False),
        ),
        max_size=4,
    )
)
def test_any_data_reads_back(data: dict) -> None:
    assert yaml.load(to_yaml([data]), Loader=yaml.CSafeLoader) == data


def test_strings_that_look_like_something_else_are_quoted() -> None:
    text = to_yaml([{"a": "no", "b": "1e3", "c": "y", "d": "plain/word-1", "e": True, "f": 512}])
    assert text == 'a: "no"\nb: "1e3"\nc: "y"\nd: plain/word-1\ne: true\nf: 512\n'


def test_scripts_are_literal_blocks() -> None:
    assert (
        to_yaml([{"run": "set -e\n\nif x; then\n  y\nfi\n"}])
        == "run: |\n  set -e\n\n  if x; then\n    y\n  fi\n"
    )


def test_several_documents_are_separated_and_keep_their_key_order() -> None:
    text = to_yaml([{"name": "g", "execution": "parallel"}, {"name": "b", "envs": {"A": "1"}}])
    assert text == '---\nname: g\nexecution: parallel\n---\nname: b\nenvs:\n  A: "1"\n'


def test_equal_parts_are_written_out_and_not_anchored() -> None:
    shared = {"a": ["x"]}
    assert "&" not in to_yaml([{"one": shared, "two": shared}])


@pytest.mark.parametrize("value", ["\ud800", object(), {1, 2}, (1, 2), b"x", datetime.date(2026, 8, 22)])
def test_what_has_no_yaml_form_is_refused(value: object) -> None:
    with pytest.raises(BackendError):
        to_yaml([{"a": value}])


PARTS = (
    *("a", "b:", " ", "\n", "- ", "#", "\t", "é", "🙂", "\u2028", "\x07", "no", "1e3", '"', "\\", "|"),
    *("x y", "set -e\n", "  in\n", "\r", "\x85", "\ufeff", "'", "{}", "~", "<run.id>", "4+"),
)
TEXTS = st.one_of(
    st.lists(st.sampled_from(PARTS), max_size=6).map("".join),
    st.text(st.characters(codec="utf-8"), max_size=12),
)
KEYS = st.sampled_from(["a", "b c", "no", "x.y", "e:f", "-", "1", "q", "<z>"])
TREES = st.recursive(
    st.one_of(TEXTS, st.integers(), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(KEYS, KEYS, KEYS, TEXTS), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.dictionaries(KEYS, TREES, min_size=1, max_size=4), min_size=1, max_size=3))
def test_both_writers_give_the_same_bytes(documents: list[dict[str, Any]]) -> None:
    try:
        text = emit._written(documents)
    except emit._Unusual:
        reject()
    assert text == emit._dumped(documents)
    assert list(yaml.load_all(text, Loader=yaml.CSafeLoader)) == documents


@pytest.mark.parametrize(
    "document",
    [
        {"name": "n", "resources": {"cpus": "4+", "any_of": [{"cloud": "a", "x": {}}, {"cloud": "b"}]}},
        {"run": "a\n\n  b\n", "envs": {"A": "1", "B": "x\ty", "C": "a\nb"}, "nodes": 2, "no": None},
        {"list": ["a", ["x"][0], "two\nlines\n", 3, True, [], {}, {"k": "three\nlines\n"}]},
        {"p": {"spec": {"containers": [{"name": "r", "env": [{"name": "A", "value": "1"}], "q": "s\n"}]}}},
    ],
)
def test_usual_documents_are_written_here_and_as_pyyaml_writes_them(document: dict[str, Any]) -> None:
    assert emit._written([document]) == emit._dumped([document])
    assert emit._written([document, document]) == emit._dumped([document, document])


@pytest.mark.parametrize(
    "document",
    [{}, {"a": 1.5}, {"a": [["b"]]}, {1: "a"}, {"k" * 101: 1}, {"é": 1}, {"": 1}, {"a": "x " * (1 << 19)}],
    ids=lambda document: repr(document)[:20],
)
def test_unusual_documents_are_left_to_pyyaml(document: dict[Any, Any]) -> None:
    with pytest.raises(emit._Unusual):
        emit._written([document])
    assert yaml.load(to_yaml([document]), Loader=yaml.CSafeLoader) == document


@pytest.mark.parametrize("text", ["<run.id>", "4+", "two\nlines\n", "a\nb", "é\n", "x" * 20_000 + "\ny\n"])
def test_a_text_that_would_come_out_as_another_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npac.backends.skypilot.emit.yaml.load", lambda *_, **__: {"k": "something else"})
    emit._often.cache_clear()
    with pytest.raises(BackendError, match="does not survive"):
        to_yaml([{"a": text}])
