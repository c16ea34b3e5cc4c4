"""Gathering, ordering and judging findings; and when to colour."""

from __future__ import annotations

import io

import pytest

from npac.diagnostics.collector import Collector, Policy, counts, fails, limited, ordered
from npac.diagnostics.color import paint, wants_color
from npac.diagnostics.diagnostic import Severity
from npac.text.source import SourceFile


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("flag", "environment", "terminal", "expected"),
    [
        (True, {"NO_COLOR": "1"}, False, True),
        (False, {"FORCE_COLOR": "1"}, True, False),
        (None, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        (None, {"NO_COLOR": ""}, True, True),
        (None, {"FORCE_COLOR": "1"}, False, True),
        (None, {"FORCE_COLOR": ""}, False, False),
        (None, {}, True, True),
        (None, {}, False, False),
        (None, {"TERM": "dumb"}, True, False),
        (None, {"TERM": "dumb", "FORCE_COLOR": "1"}, True, True),
    ],
)
def test_color_goes_by_flag_then_variables_then_terminal(flag, environment, terminal, expected):
    stream = Terminal() if terminal else io.StringIO()
    assert wants_color(flag, environment, stream) is expected


def test_a_closed_stream_is_no_terminal():
    stream = io.StringIO()
    stream.close()
    assert wants_color(None, {}, stream) is False


def test_paint():
    assert paint("x", "error", True) == "\x1b[1;31mx\x1b[0m"
    assert paint("x", "error", False) == "x"
    assert paint("", "error", True) == ""


def test_a_collector_orders_and_drops_repetitions(make, codes):
    error, warning, _ = codes
    source = SourceFile("b.yaml", "a: 1\nb: 2\n")
    found = Collector([make(source, "2"), make(source, "1")])
    found.add(make(source, "2"))
    found.report(warning, "w", source.span(3, 4), help="h", severity=Severity.NOTE)
    found.report(error, "first", SourceFile("a.yaml", "z").span(0, 1))
    assert len(found) == 4
    assert [(each.span.source.path, each.span.start, each.code.id) for each in found.ordered()] == [
        ("a.yaml", 0, "NPA302"),
        ("b.yaml", 3, "NPA106"),
        ("b.yaml", 3, "NPA302"),
        ("b.yaml", 8, "NPA302"),
    ]
    assert found.ordered()[1].severity is Severity.NOTE
    assert found.ordered() == ordered(reversed(found.ordered()))
    assert found.has_errors
    assert counts(found.ordered()) == {Severity.ERROR: 3, Severity.WARNING: 0, Severity.NOTE: 1}


def test_what_fails(make, codes):
    error, warning, note = codes
    one = {code: make("a\n", "a", code=code) for code in codes}
    assert fails([one[error]])
    assert not fails([one[warning], one[note]])
    assert fails([one[warning]], strict=True)
    assert not fails([one[note]], strict=True)
    assert not fails([])


@pytest.mark.parametrize(
    ("policy", "shown"),
    [
        (Policy(), True),
        (Policy(ignore=("NPA302",)), False),
        (Policy(ignore=("NPA3",)), False),
        (Policy(ignore=("NPA1",)), True),
        (Policy(select=("NPA3",)), True),
        (Policy(select=("NPA1",)), False),
        (Policy(select=("NPA302",), ignore=("NPA3",)), True),
        (Policy(select=("NPA3",), ignore=("NPA302",)), False),
        (Policy(select=("NPA302",), ignore=("NPA302",)), False),
        (Policy(select=("NPA",), ignore=("NPA3",)), False),
        (Policy(ignore=("NPA302",), always=("NPA302",)), True),
    ],
)
def test_the_longest_entry_decides(policy, shown):
    assert policy.shows("NPA302") is shown


def test_severities_are_set_by_the_longest_entry(make, codes):
    _, warning, _ = codes
    policy = Policy(
        ignore=("NPA215",),
        severity={"NPA": Severity.NOTE, "NPA302": Severity.WARNING, "NPA1": Severity.ERROR},
    )
    found = [make("a\n", "a"), make("a\n", "a", code=warning), make("a\n", "a", code=codes[2])]
    assert [(each.code.id, each.severity) for each in policy.apply(found)] == [
        ("NPA302", Severity.WARNING),
        ("NPA106", Severity.ERROR),
    ]


def test_what_must_be_shown_cannot_be_lowered(make):
    policy = Policy(severity={"NPA302": Severity.NOTE}, always=("NPA302",))
    assert [each.severity for each in policy.apply([make("a\n", "a")])] == [Severity.ERROR]


def test_of_one_kind_only_so_many_are_listed_and_the_others_counted(make, codes):
    _, warning, _ = codes
    text = "".join(f"{letter}\n" for letter in "abcdef")
    found = [make(text, letter) for letter in "abcdef"] + [make(text, "a", code=warning)]
    listed = list(limited(found, most=2))
    assert [item.span.text for item in listed] == ["a", "b", "a", "c"]
    assert listed[-1].message == "4 more of this kind begin here, which are not listed"
    assert (listed[-1].code.id, listed[-1].severity) == ("NPA302", Severity.ERROR)
    assert list(limited(found, most=6)) == found
    assert list(limited(found, most=2, but=("unknown-state", "old-spelling"))) == found


def test_counts_of_what_was_left_out_are_put_together(make):
    from npac.diagnostics.collector import limited, shortened

    source = SourceFile("a.yaml", "abcdefgh")
    many = [make(source, letter, message=letter) for letter in "abcde"]
    once = list(limited(many, most=3))
    assert once[-1].message == "2 more of this kind begin here, which are not listed"
    twice = list(limited([*once, *many], most=4))
    assert [item.message for item in twice[:-1]] == ["a", "b", "c", "a"]
    assert twice[-1].message == "6 more of this kind begin here, which are not listed"
    assert shortened(once[-1]) is once[-1]


def test_very_long_names_are_cut_in_their_middle(make):
    from npac.diagnostics.collector import shortened
    from npac.diagnostics.diagnostic import Fix

    long = "a." * 5000 + "end"
    found = make(
        "abc", "b", message=f"there is no '{long}' here", help=f"write {long}", related=((f"{long}", "c"),)
    )._replace(fix=Fix(f"write {long}", ()))
    short = shortened(found)
    assert short.fix is not None
    assert short.message.startswith("there is no 'a.a.") and short.message.endswith("a.end' here")
    assert max(map(len, (short.message, short.help, short.related[0].message, short.fix.message))) < 200
    assert len(shortened(make("abc", "b", message="word " * 5000)).message) < 5000
