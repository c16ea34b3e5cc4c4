"""Fixes by span: every other byte stays, clashes wait, a second round changes nothing."""

from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.diagnostics.diagnostic import Code, Diagnostic, Edit, Fix, Severity
from npac.diagnostics.fixes import apply_edits, apply_fixes, encode, fix_all, unified_diff
from npac.text.source import SourceFile, decode

CODE = Code("NPA106", "old-spelling", Severity.WARNING, "a snake_case spelling of a key")


def fixing(source, *edits, safe=True):
    """Make a finding whose fix holds ``edits``: (start, end, text)."""
    made = tuple(Edit(source.span(start, end), text) for start, end, text in edits)
    return Diagnostic(CODE, f"at {edits[0][0]}", made[0].span, fix=Fix("mend", made, safe))


def respell(source):
    """Find every ``max_polls`` and offer ``maxPolls``: a check as simple as one can be."""
    found = []
    at = source.text.find("max_polls")
    while at >= 0:
        found.append(fixing(source, (at, at + 9, "maxPolls")))
        at = source.text.find("max_polls", at + 9)
    return found


def test_every_other_byte_is_kept():
    data = b"\xef\xbb\xbf# \xe5\xad\xa6\r\nmax_polls: 1\r\n\tx:  'y' \nmax_polls: 2"
    source, problem = decode("a.yaml", data)
    assert problem is None
    result = apply_fixes(source, respell(source))
    assert result.data == data.replace(b"max_polls", b"maxPolls")
    assert len(result.applied) == 2
    assert result.waiting == ()


def test_nothing_to_fix_gives_the_same_bytes():
    data = b"\xef\xbb\xbfa: 1\r\n"
    source, _ = decode("a.yaml", data)
    assert apply_fixes(source, []).data == data == encode(source)


def test_inserted_lines_end_as_the_file_does():
    source = SourceFile("a.yaml", "a: 1\r\nb: 2\r\n")
    assert apply_edits(source, [Edit(source.span(6, 6), "x:\n  y\n")]) == "a: 1\r\nx:\r\n  y\r\nb: 2\r\n"
    plain = SourceFile("a.yaml", "a: 1\nb: 2\n")
    assert apply_edits(plain, [Edit(plain.span(5, 5), "x: 1\r\n")]) == "a: 1\nx: 1\nb: 2\n"


def test_edits_apply_in_any_order_and_touch_without_overlapping():
    source = SourceFile("a", "abcdef")
    edits = [
        Edit(source.span(4, 6), "EF"),
        Edit(source.span(0, 2), ""),
        Edit(source.span(2, 4), "__"),
        Edit(source.span(6, 6), "!"),
    ]
    assert apply_edits(source, edits) == "__EF!"


@pytest.mark.parametrize(
    ("first", "second"),
    [((0, 3), (2, 4)), ((2, 4), (0, 3)), ((1, 5), (2, 3)), ((2, 2), (2, 2)), ((2, 2), (2, 4))],
)
def test_clashing_edits_are_refused(first, second):
    source = SourceFile("a", "abcdef")
    edits = [Edit(source.span(*first), "1"), Edit(source.span(*second), "2")]
    with pytest.raises(ValueError, match="overlap"):
        apply_edits(source, edits)


@pytest.mark.parametrize("place", [(4, 9), (3, 2), (-1, 1)])
def test_edits_outside_of_the_text_are_refused(place):
    source = SourceFile("a", "abc")
    with pytest.raises(ValueError, match="does not lie in a"):
        apply_edits(source, [Edit(source.span(*place), "")])
    found = fixing(source, (*place, "x"))
    assert apply_fixes(source, [found]).waiting == (found,)


def test_a_fix_is_applied_wholly_or_not_at_all():
    source = SourceFile("a", "abcdef")
    first = fixing(source, (1, 3, "X"))
    split = fixing(source, (2, 4, "Y"), (5, 6, "Z"))
    result = apply_fixes(source, [split, first])
    assert result.source.text == "aXdef"
    assert (result.applied, result.waiting) == ((first,), (split,))


def test_the_same_edit_twice_is_one_edit():
    source = SourceFile("a", "abc")
    twice = [fixing(source, (0, 1, "X")), fixing(source, (0, 1, "X"), (2, 3, "Z"))]
    result = apply_fixes(source, twice)
    assert result.source.text == "XbZ"
    assert len(result.applied) == 2


def test_unsafe_fixes_are_left_out_unless_asked_for():
    source = SourceFile("a", "abc")
    found = fixing(source, (0, 1, "X"), safe=False)
    assert apply_fixes(source, [found]).source.text == "abc"
    assert apply_fixes(source, [found], unsafe=True).source.text == "Xbc"


def test_fixes_of_other_files_are_not_ours():
    source, other = SourceFile("a", "abc"), SourceFile("b", "abc")
    foreign = fixing(other, (0, 1, "X"))
    both = Diagnostic(
        CODE,
        "m",
        source.span(0, 1),
        fix=Fix("m", (Edit(source.span(0, 1), "X"), Edit(other.span(0, 1), "X"))),
    )
    result = apply_fixes(source, [foreign, both])
    assert result.source.text == "abc"
    assert result.waiting == (both,)


def test_fixing_until_nothing_changes_is_idempotent():
    source = SourceFile("a.yaml", "max_polls: 1\r\nx: max_polls\r\n", bom=True)
    result, remaining = fix_all(source, respell)
    assert result.source.text == "maxPolls: 1\r\nx: maxPolls\r\n"
    assert result.source.bom
    assert (len(result.applied), remaining) == (2, [])
    again, _ = fix_all(result.source, respell)
    assert again.data == result.data
    assert again.applied == ()


def test_a_clash_is_settled_in_the_next_round():
    def check(source):
        text = source.text
        found = [fixing(source, (at, at + 2, "b")) for at in range(len(text)) if text[at : at + 2] == "aa"]
        return found

    result, remaining = fix_all(SourceFile("a", "aaaa"), check)
    assert (result.source.text, remaining) == ("bb", [])


def test_fixes_that_undo_each_other_end():
    def check(source):
        return [fixing(source, (0, 1, "b" if source.text == "a" else "a"))]

    result, remaining = fix_all(SourceFile("a", "a"), check)
    assert result.source.text in ("a", "b")
    assert len(remaining) == 1


@given(
    text=st.text("ab\r\n学", max_size=30),
    places=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.text("xy", max_size=2)), max_size=8),
)
def test_what_is_applied_never_overlaps(text, places):
    source = SourceFile("a", text)
    size = len(text)
    made = [(min(at, size), min(at + more, size), new) for at, more, new in places]
    result = apply_fixes(source, [fixing(source, edit) for edit in made])
    edits = sorted({(e.span.start, e.span.end, e.text) for d in result.applied if d.fix for e in d.fix.edits})
    assert all(first[1] <= second[0] and first[0] < second[0] for first, second in pairwise(edits))
    grown = sum(len(new) - (end - start) for start, end, new in edits)
    assert len(result.source.text) == size + grown
    if made:
        assert result.applied


def test_a_unified_diff():
    before = SourceFile("a.yaml", "a: 1\nmax_polls: 2\nc: 3")
    after = apply_fixes(before, respell(before)).source
    assert unified_diff(before, after) == (
        "--- a.yaml\n"
        "+++ a.yaml\n"
        "@@ -1,3 +1,3 @@\n"
        " a: 1\n"
        "-max_polls: 2\n"
        "+maxPolls: 2\n"
        " c: 3\n"
        "\\ No newline at end of file\n"
    )
    assert unified_diff(before, before) == ""


def test_a_diff_for_a_terminal_is_colored_and_harmless():
    before = SourceFile("a.yaml", "--x: \x1b[2J\r\n")
    after = SourceFile("a.yaml", "y: \x1b[2J\r\n")
    assert unified_diff(before, after, color=True, terminal=True).splitlines() == [
        "\x1b[1m--- a.yaml\x1b[0m",
        "\x1b[1m+++ a.yaml\x1b[0m",
        "\x1b[36m@@ -1 +1 @@\x1b[0m",
        "\x1b[31m---x: ␛[2J\x1b[0m",
        "\x1b[32m+y: ␛[2J\x1b[0m",
    ]


def test_a_diff_never_shows_secrets():
    before = SourceFile("a.yaml", "key: hunter2hunter2\nmax_polls: 2\n")
    after = apply_fixes(before, respell(before)).source
    diff = unified_diff(before, after, secrets=["hunter2hunter2"])
    assert " key: [hidden]\n" in diff
    assert "hunter2" not in diff


@pytest.mark.skipif(shutil.which("patch") is None, reason="the program `patch` is not installed")
def test_patch_takes_the_diff(tmp_path):
    data = b"\xef\xbb\xbfa: \xe5\xad\xa6\r\nmax_polls: 2\r\nc: 3"
    (tmp_path / "a.yaml").write_bytes(data)
    before, _ = decode("a.yaml", data)
    after = apply_fixes(before, respell(before)).source
    diff = unified_diff(before, after).encode()
    subprocess.run(["patch", "-p0", "--binary"], input=diff, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "a.yaml").read_bytes() == encode(after)
