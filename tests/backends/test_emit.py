from __future__ import annotations

import datetime

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.backends.errors import BackendError
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
