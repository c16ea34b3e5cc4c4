"""The text that people read, character by character."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.diagnostics.diagnostic import Code, Diagnostic, Edit, Fix, Related, Severity
from npac.diagnostics.render import render
from npac.text.source import SourceFile, decode

CODE = Code("NPA302", "unknown-state", Severity.ERROR, "a state that is named does not exist")


def shown(*found, **options):
    """Give the lines without the empty ones at the end and without the page's address."""
    text = render("text", found, **options)
    assert text.endswith("\n")
    return [line for line in text.split("\n") if "= more:" not in line]


def body(found, **options):
    """Give the lines between the place and the remarks."""
    lines = shown(found, **options)
    start = next(at for at, line in enumerate(lines) if "-->" in line) + 2
    bars = [at for at, line in enumerate(lines) if line.strip() == "|"]
    return lines[start : bars[-1]]


def test_a_whole_finding(make):
    text = "initial: a\nstates:\n  train:\n    next: trian\n"
    found = make(text, "trian", help="did you mean `train`?", related=(("the nearest state", "train"),))
    assert render("text", [found]) == (
        "error[NPA302] unknown-state: no state `trian`\n"
        " --> specs/a.yaml:4:11\n"
        "  |\n"
        "3 |   train:\n"
        "  |   ----- the nearest state\n"
        "4 |     next: trian\n"
        "  |           ^^^^^\n"
        "  |\n"
        "  = help: did you mean `train`?\n"
        "  = more: npac explain NPA302\n"
        "\n"
        "1 error in 1 file\n"
    )


def test_the_gutter_is_as_wide_as_the_largest_number(make):
    text = "first: 1\n" + "x: 1\n" * 9 + "last: trian\n"
    assert shown(make(text, "trian", related=(("here", "first"),)))[:9] == [
        "error[NPA302] unknown-state: no state `trian`",
        "  --> specs/a.yaml:11:7",
        "   |",
        " 1 | first: 1",
        "   | ----- here",
        "...",
        "11 | last: trian",
        "   |       ^^^^^",
        "   |",
    ]


def test_a_single_line_between_two_shown_ones_is_shown(make):
    found = make("a: 1\nb: 2\nc: trian\n", "trian", related=(("here", "a"),))
    assert body(found) == ["1 | a: 1", "  | - here", "2 | b: 2", "3 | c: trian", "  |    ^^^^^"]


def test_several_places_on_one_line(make):
    found = make("a: {x: 1, x: 2}\n", "x", at=10, related=(("first", "x"), ("its value", "1")))
    assert body(found) == [
        "1 | a: {x: 1, x: 2}",
        "  |           ^",
        "  |     - first",
        "  |        - its value",
    ]


def test_a_place_in_another_file(make):
    main = SourceFile("a.yaml", "use: x\n")
    other = SourceFile("lib/b.yaml", "k: v\nx: 1\n")
    found = Diagnostic(CODE, "m", main.span(5, 6), (Related("defined here", other.span(5, 6)),))
    assert shown(found)[1:11] == [
        " --> a.yaml:1:6",
        "  |",
        "1 | use: x",
        "  |      ^",
        "  |",
        " ::: lib/b.yaml:2:1",
        "  |",
        "2 | x: 1",
        "  | - defined here",
        "  |",
    ]


@pytest.mark.parametrize(
    ("text", "needle", "expected"),
    [
        pytest.param("a:\tb\t\tcX\n", "cX", ["1 | a:  b       cX", "  |             ^^"], id="tabs"),
        pytest.param("\tx: y\tz\n", "\tz", ["1 |     x: y    z", "  |         ^^^^^"], id="span over a tab"),
        pytest.param("名前: 学習中 x\n", "学習", ["1 | 名前: 学習中 x", "  |       ^^^^"], id="wide"),
        pytest.param("名前: 学習中 x\n", "x", ["1 | 名前: 学習中 x", "  |              ^"], id="after wide"),
        pytest.param("ｆｕ: ok\n", "ok", ["1 | ｆｕ: ok", "  |       ^^"], id="fullwidth"),
        pytest.param("cafe\u0301: no\n", "no", ["1 | cafe\u0301: no", "  |       ^^"], id="combining"),
        pytest.param("cafe\u0301: no\n", "\u0301", ["1 | cafe\u0301: no", "  |    ^"], id="combining alone"),
        pytest.param("\u1112\u1161\u11ab: x\n", "x", ["1 | \u1112\u1161\u11ab: x", "  |     ^"], id="jamo"),
        pytest.param("a: 🤖 bot\n", "bot", ["1 | a: 🤖 bot", "  |       ^^^"], id="emoji"),
        pytest.param("a: 1\r\nb: trian\r\n", "trian", ["2 | b: trian", "  |    ^^^^^"], id="crlf"),
        pytest.param("a: 1\rb: trian\r", "trian", ["2 | b: trian", "  |    ^^^^^"], id="cr"),
        pytest.param("a: \x1b[31mred\n", "red", ["1 | a: ␛[31mred", "  |         ^^^"], id="escape"),
        pytest.param("a\x00\x7fb\n", "b", ["1 | a␀␡b", "  |    ^"], id="nul and delete"),
        pytest.param("a: \u202eb\n", "\u202e", ["1 | a: <U+202E>b", "  |    ^^^^^^^^"], id="bidi"),
        pytest.param("a\u200bb: c\n", "c", ["1 | a<U+200B>b: c", "  |             ^"], id="zero width"),
        pytest.param(
            "a\x85\u2028b\n", "b", ["1 | a<U+0085><U+2028>b", "  |                  ^"], id="separators"
        ),
    ],
)
def test_marks_stand_under_the_characters(make, text, needle, expected):
    assert body(make(text, needle)) == expected


def test_a_byte_order_mark_takes_no_column(make):
    source, problem = decode("a.yaml", b"\xef\xbb\xbfa: trian\r\n")
    assert problem is None
    assert shown(make(source, "trian"))[1:5] == [" --> a.yaml:1:4", "  |", "1 | a: trian", "  |    ^^^^^"]


@pytest.mark.parametrize(
    ("text", "at", "place", "expected"),
    [
        pytest.param("a: 1\n", 3, "1:4", ["1 | a: 1", "  |    ^"], id="inside"),
        pytest.param("a: 1\n", 4, "1:5", ["1 | a: 1", "  |     ^"], id="before a line end"),
        pytest.param("a: 1\r\n", 4, "1:5", ["1 | a: 1", "  |     ^"], id="before a CRLF"),
        pytest.param("a: 1", 4, "1:5", ["1 | a: 1", "  |     ^"], id="end without a line end"),
        pytest.param("a: 1\n", 5, "2:1", ["2 |", "  | ^"], id="end after a line end"),
        pytest.param("a: 1", 99, "1:5", ["1 | a: 1", "  |     ^"], id="past the end"),
    ],
)
def test_empty_spans(text, at, place, expected):
    found = Diagnostic(CODE, "m", SourceFile("a.yaml", text).span(at, at))
    assert shown(found)[1] == f" --> a.yaml:{place}"
    assert body(found) == expected


def test_a_span_of_a_line_end_only(make):
    assert body(make("a: 1\nb: 2\n", "\n", at=4)) == ["1 | a: 1", "  |     ^"]


def test_an_empty_file_has_no_lines_to_show(make):
    assert render("text", [make("", "", at=0)]) == (
        "error[NPA302] unknown-state: no state `trian`\n"
        " --> specs/a.yaml:1:1\n"
        "  = more: npac explain NPA302\n"
        "\n"
        "1 error in 1 file\n"
    )


def test_a_span_over_several_lines(make):
    text = "a:\n  b:  \n\n    - 1\nz: 1\n"
    assert body(make(text, text[5 : text.index("z")])) == [
        "2 |   b:",
        "  |   ^^",
        "3 |",
        "4 |     - 1",
        "  |     ^^^",
    ]


def test_a_span_over_many_lines_shows_its_ends():
    text = "a:\n" + "".join(f"  - {n}\n" for n in range(9)) + "z: 1\n"
    source = SourceFile("a.yaml", text)
    found = Diagnostic(
        CODE, "m", source.span(text.index("z"), text.index("z") + 1), (Related("all", source.span(0, 57)),)
    )
    assert body(found) == [
        " 1 | a:",
        "   | --",
        " 2 |   - 0",
        "   |   ---",
        " 3 |   - 1",
        "   |   ---",
        "...",
        "10 |   - 8",
        "   |   --- all",
        "11 | z: 1",
        "   | ^",
    ]


def test_a_long_line_is_cut_around_the_marks(make):
    text = "x: " + "a" * 300 + "BAD" + "b" * 300 + "TWO\n"
    assert body(make(text, "BAD", related=(("here", "TWO"),)), width=60) == [
        "1 | …" + "a" * 20 + "BAD" + "b" * 35 + "…",
        "  | " + " " * 21 + "^^^",
        "1 | …" + "b" * 55 + "TWO",
        "  | " + " " * 56 + "--- here",
    ]


def test_a_span_longer_than_the_window_is_marked_as_far_as_it_is_shown(make):
    assert body(make("k: " + "v" * 500 + "\n", "v" * 500), width=30) == [
        "1 | k: " + "v" * 25 + "…",
        "  |    " + "^" * 25,
    ]


def test_a_long_line_of_wide_characters_stays_within_the_width(make):
    text = "学" * 200 + "X" + "学" * 200 + "\n"
    line, marks = body(make(text, "X"), width=41)
    assert sum(2 if unicodedata.east_asian_width(char) == "W" else 1 for char in line[4:]) <= 41
    assert marks[4:].index("^") == sum(
        2 if unicodedata.east_asian_width(char) == "W" else 1 for char in line[4 : line.index("X")]
    )


def test_nothing_in_a_message_acts_on_the_terminal(make):
    found = make(
        "a: 1\n",
        "1",
        message="evil \x1b]0;title\x07\nerror: forged\u202e",
        path="a\x1b[2J\n.yaml",
        help="first\n  second\x1b[0m",
        related=(("said\r\x1b[A", "a"),),
    )
    assert shown(found)[:9] == [
        "error[NPA302] unknown-state: evil ␛]0;title␇␊error: forged<U+202E>",
        " --> a␛[2J␊.yaml:1:4",
        "  |",
        "1 | a: 1",
        "  |    ^",
        "  | - said␍␛[A",
        "  |",
        "  = help: first",
        "            second␛[0m",
    ]


def test_hidden_places_are_never_shown(make):
    source = SourceFile("a.yaml", "key: s3cr3t-value # trian\n")
    found = make(source, "s3cr3t-value", related=(("after", "trian"),))
    assert body(found, hidden=[found.span]) == [
        "1 | key: [hidden] # trian",
        "  |      ^^^^^^^^",
        "  |                 ----- after",
    ]


def test_a_hidden_place_at_the_edge_of_a_window_is_not_shown(make):
    secret = "TOPSECRET" * 30
    source = SourceFile("a.yaml", f"k: {secret}X{secret}\n")
    spans = [source.span(3, 3 + len(secret)), source.span(4 + len(secret), len(source.text) - 1)]
    text = render("text", [make(source, "X")], hidden=spans, width=40)
    assert "1 | …[hidden]X[hidden]\n  |          ^\n" in text
    assert "TOPSECRET" not in text


def test_fixes_are_announced(make):
    source = SourceFile("a.yaml", "max_polls: 1\n")
    edit = Edit(source.span(0, 9), "maxPolls")
    safe = make(source, "max_polls", fix=Fix("write `maxPolls`", (edit,)))
    bold = make(source, "max_polls", fix=Fix("drop it", (edit,), safe=False))
    assert "  = fix: write `maxPolls`" in shown(safe)
    assert "  = unsafe fix: drop it" in shown(bold)


def test_summary(make, codes):
    _, warning, note = codes
    found = [
        make("a\n", "a", path="b.yaml"),
        make("a\n", "a", path="a.yaml", code=warning),
        make("b\n", "b", path="a.yaml"),
        make("bb\n", "bb", path="a.yaml"),
    ]
    assert render("text", found).splitlines()[-1] == "3 errors, 1 warning in 2 files"
    notes = [make("a\n", "a", code=note), make("b\n", "b", code=note)]
    assert render("text", notes, checked=9).splitlines()[-1] == "2 notes in 1 file"
    assert render("text", [], checked=38) == "all 38 specs are fine\n"
    assert render("text", [], checked=1) == "the spec is fine\n"
    assert render("text", [], checked=0) == "no spec was checked\n"
    assert render("text", []) == "nothing was found\n"


def test_findings_stand_in_order_with_an_empty_line_between(make):
    text = "a: 1\nb: 2\n"
    lines = shown(make(text, "2"), make(text, "1"), make("x\n", "x", path="A.yaml"))
    places = [line.strip() for line in lines if "-->" in line]
    assert places == ["--> A.yaml:1:1", "--> specs/a.yaml:1:4", "--> specs/a.yaml:2:4"]
    assert lines[5:8] == ["  |", "", "error[NPA302] unknown-state: no state `trian`"]


def test_color_only_adds_escapes(make):
    import re

    found = make("a: 1\nb: trian\n", "trian", help="h", related=(("here", "a"),))
    colored = render("text", [found], color=True)
    assert "\x1b[1;31merror[NPA302]\x1b[0m" in colored
    assert "\x1b[1;31m   ^^^^^\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render("text", [found])


@settings(max_examples=150, deadline=None)
@given(
    text=st.text(st.sampled_from("ab:\t \n\r学é\u0301\u200b\x1b🤖"), max_size=60),
    places=st.lists(st.tuples(st.integers(0, 62), st.integers(0, 62)), min_size=1, max_size=4),
    width=st.integers(8, 40),
)
def test_any_span_in_any_text_is_shown(text, places, width):
    source = SourceFile("a", text)
    spans = [source.span(min(place), max(place)) for place in places]
    found = Diagnostic(CODE, "m", spans[0], tuple(Related("", span) for span in spans[1:]))
    lines = render("text", [found], width=width).split("\n")
    assert all(line.isprintable() or "\u0301" in line for line in lines)
    if text:
        assert sum("^" in line for line in lines) >= 1


def test_many_findings_on_a_long_line_take_linear_time(make):
    import time

    source = SourceFile("a.yaml", "k: " + "v" * 1_000_000 + "\n")
    found = [Diagnostic(CODE, "m", source.span(at, at + 3)) for at in range(0, 1_000_000, 1000)]
    begun = time.process_time()
    text = render("text", found)
    assert text.count("^^^") == 1000
    assert time.process_time() - begun < 5


def test_rendering_text_imports_little():
    code = (
        "import sys, npac.diagnostics.render.text, npac.diagnostics.render, npac.diagnostics.suppress, "
        "npac.diagnostics.fixes\n"
        "print([m for m in ('textwrap', 'difflib', 'json', 'unicodedata', 'urllib.parse', 'rich', 'pathlib')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_beyond_a_thousand_findings_each_is_one_line(make):
    source = SourceFile("a.yaml", "".join(f"k{number}: 1\n" for number in range(1500)))
    found = [make(source, f"k{number}:", message=f"no state {number}") for number in range(1500)]
    lines = render("text", found).splitlines()
    more = lines.index("500 more, one on each line:")
    assert sum(line.startswith("error[NPA302]") for line in lines[:more]) == 1000
    assert lines[more + 1] == "a.yaml:1001:1: error[NPA302] no state 1000"
    assert lines[more + 500] == "a.yaml:1500:1: error[NPA302] no state 1499"
    assert lines[-1] == "1500 errors in 1 file"
    assert "more, one on each line" not in render("text", found[:1000])


def test_characters_without_a_column_do_not_go_on_without_end(make):
    source = SourceFile("a.yaml", "a" + "\u0301" * 50_000 + "X" + "\u0301" * 50_000 + "\n")
    text = render("text", [make(source, "X")], width=40)
    assert len(text) < 1_000 and "X" in text
