"""Comments that silence findings: where they are found, what they reach, which are idle."""

from __future__ import annotations

import pytest
import yaml

from npac.diagnostics.diagnostic import Code, Diagnostic, Severity
from npac.diagnostics.fixes import apply_fixes
from npac.diagnostics.suppress import find_suppressions, suppress
from npac.text.source import SourceFile

UNUSED = Code("NPA901", "unused-suppression", Severity.WARNING, "a suppression hides nothing")
MALFORMED = Code("NPA902", "malformed-suppression", Severity.WARNING, "a suppression cannot be read")
KNOWN = ("NPA002", "NPA105", "NPA106", "NPA302", "NPA901", "NPA902")


def scalars(text):
    """Give the offsets of every scalar, keys and values, as the YAML parser sees them."""
    events = yaml.parse(text, Loader=yaml.CSafeLoader)
    return [
        (event.start_mark.index, event.end_mark.index)
        for event in events
        if isinstance(event, yaml.ScalarEvent) and event.start_mark and event.end_mark
    ]


def find(text, **options):
    source = SourceFile("a.yaml", text)
    return find_suppressions(source, scalars(text), **options)


def codes_of(found):
    return [[code.text for code in item.codes] for item in found.items]


def at(source, needle, code="NPA302"):
    start = source.text.index(needle)
    kind = Code(code, "kind", Severity.ERROR, "summary")
    return Diagnostic(kind, f"about {needle}", source.span(start, start + len(needle)))


def left(text, *needles, code="NPA302", active=lambda code: True, **options):
    """Give the messages of what stays, of findings at ``needles`` and about the comments."""
    found = find(text, **options)
    source = found.source
    kept = suppress(
        [at(source, needle, code) for needle in needles],
        found,
        unused=UNUSED,
        malformed=MALFORMED,
        active=active,
    )
    return [f"{each.code.id} {each.message}" for each in kept]


def test_on_the_line_and_on_the_line_above():
    text = "a: one # npac: ignore[NPA302] known\n# npac: ignore[NPA302]\nb: two\nc: three\n"
    assert left(text, "one", "two", "three") == ["NPA302 about three"]


def test_a_comment_behind_text_does_not_reach_the_next_line():
    assert left("a: one # npac: ignore[NPA302]\nb: two\n", "one", "two") == ["NPA302 about two"]


def test_comments_above_may_be_stacked_but_a_gap_ends_their_reach():
    text = "# npac: ignore[NPA302]\n# because of this\n#\na: one\n# npac: ignore[NPA302]\n\nb: two\n"
    assert left(text, "one", "two") == [
        "NPA302 about two",
        "NPA901 nothing on this line is silenced by NPA302",
    ]


def test_the_whole_file():
    text = "a: one\nb: two\n# npac: ignore-file[NPA302] all of them are known\n"
    assert left(text, "one", "two") == []
    assert find(text).items[0].lines is None


def test_only_the_named_codes_are_silenced():
    text = "a: one # npac: ignore[NPA105, NPA302]: both\n"
    found = find(text)
    assert codes_of(found) == [["NPA105", "NPA302"]]
    assert found.items[0].reason == "both"
    assert left(text, "one", code="NPA106") == [
        "NPA106 about one",
        "NPA901 nothing on this line is silenced by NPA105, NPA302",
    ]
    assert left(text, "one") == ["NPA901 nothing on this line is silenced by NPA105"]


def test_a_finding_over_several_lines_belongs_to_its_first():
    text = "# npac: ignore[NPA302]\na:\n  b: one\nc: two\n"
    source = SourceFile("a.yaml", text)
    found = find_suppressions(source, scalars(text))
    start = text.index("a:")
    both = Diagnostic(at(source, "one").code, "m", source.span(start, text.index("c:")))
    assert found.split([both]) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: 'x # npac: ignore[NPA302]'\n", id="single quotes"),
        pytest.param('a: "x\n  # npac: ignore[NPA302]"\n', id="double quotes over lines"),
        pytest.param("a: |\n  x\n  # npac: ignore[NPA302]\n  y\n", id="literal block"),
        pytest.param("a: >-\n  x\n\n  # npac: ignore[NPA302]\nb: 1\n", id="folded block"),
        pytest.param("a: &x !!str |\n  # npac: ignore[NPA302]\n", id="block with properties"),
        pytest.param("a: x#npac:ignore[NPA302]\n", id="inside a plain word"),
        pytest.param("? 'k # npac: ignore[NPA302]'\n: v\n", id="inside a key"),
    ],
)
def test_text_that_looks_like_a_comment_is_text(text):
    found = find(text)
    assert (found.items, found.malformed) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# npac: ignore[NPA302]\na: 1\n", id="first line"),
        pytest.param("a: 1 #npac:ignore[NPA302]\n", id="without blanks"),
        pytest.param("a: 1\t## npac:  ignore [NPA302]\n", id="more blanks, tab, two marks"),
        pytest.param("a: 'x' # npac: ignore[NPA302]\n", id="behind a quoted text"),
        pytest.param("a: plain # npac: ignore[NPA302]\n", id="behind a plain text"),
        pytest.param("a: | # npac: ignore[NPA302]\n  x\n", id="at a block's head"),
        pytest.param("a: &x !!str >- # npac: ignore[NPA302]\n  x\n", id="at a head with properties"),
        pytest.param("a: |\n  x\n# npac: ignore[NPA302]\nb: 1\n", id="behind a block"),
        pytest.param("a: [1, # npac: ignore[NPA302]\n  2]\n", id="in a flow list"),
        pytest.param("a: 1 # why # npac: ignore[NPA302]\n", id="behind another comment"),
        pytest.param("a: 1 # npac: ignore[NPA302]", id="without a line end"),
        pytest.param("a: 1 # npac: ignore[NPA302] x\r\nb: 2\r\n", id="crlf"),
        pytest.param("名: 学 # npac: ignore[NPA302]\n", id="wide characters"),
    ],
)
def test_comments_are_found(text):
    found = find(text)
    assert codes_of(found) == [["NPA302"]]
    assert found.malformed == ()
    assert found.items[0].comment.text.startswith("#")
    assert "\r" not in found.items[0].comment.text


def test_a_finding_in_a_block_is_reached_from_its_head():
    head = "run:\n  shell: | # npac: ignore[NPA302]\n    one\n    two\n  x: three\n"
    assert left(head, "one", "two", "three") == ["NPA302 about three"]
    above = "run:\n  # npac: ignore[NPA302]\n  shell: |\n    one\n    two\n"
    assert left(above, "one", "two") == []


def test_two_comments_on_one_line():
    text = "a: one # npac: ignore[NPA105] x # npac: ignore[NPA302] y\n"
    found = find(text)
    assert codes_of(found) == [["NPA105"], ["NPA302"]]
    assert [item.reason for item in found.items] == ["x", "y"]
    assert left(text, "one") == ["NPA901 nothing on this line is silenced by NPA105"]


@pytest.mark.parametrize(
    ("comment", "place", "message"),
    [
        (
            "# npac: ignore",
            "# npac: ignore",
            "`ignore` names no code, and nothing silences everything",
        ),
        (
            "# npac: ignore-file all",
            "# npac: ignore-file all",
            "`ignore-file` names no code, and nothing silences everything",
        ),
        ("# npac: ignore[]", "[]", "a code is missing in the list"),
        ("# npac: ignore[NPA302,]", "[NPA302,]", "a code is missing in the list"),
        ("# npac: ignore[NPA302 x", "[NPA302 x", "the list of codes is not closed by `]`"),
        ("# npac: ignore[npa302]", "npa302", "`npa302` is no code"),
        ("# npac: ignore[NPA302, X1]", "X1", "`X1` is no code"),
        ("# npac: ignore[NPA999]", "NPA999", "there is no code NPA999"),
        (
            "# npac: ingore[NPA302]",
            "# npac: ingore[NPA302]",
            "`ingore` is not what a comment to npac can say",
        ),
        (
            "# npac: ignore[NPA002]",
            "NPA002",
            "NPA002 cannot be silenced: a spec with it cannot be compiled",
        ),
    ],
)
def test_comments_that_cannot_be_read(comment, place, message):
    found = find(f"a: 1 {comment}\n", known=KNOWN, fixed=("NPA002",))
    assert found.items == ()
    assert [(bad.span.text, bad.message) for bad in found.malformed] == [(place, message)]
    assert found.malformed[0].help


def test_help_for_codes():
    def help_for(code):
        return find(f"a: 1 # npac: ignore[{code}]\n", known=KNOWN).malformed[0].help

    assert help_for("npa302") == "write `NPA302`"
    assert help_for("NPA303") == "did you mean NPA302?"
    assert help_for("E501") == "a code is `NPA` and three digits, or its name"


def test_prose_about_npac_is_left_alone():
    text = "# npac: run this with --var\n# see npac: it compiles\n# npac:\n# npac: 3\na: 1\n"
    found = find(text)
    assert (found.items, found.malformed) == ((), ())


def test_a_code_that_is_switched_off_is_not_idle():
    text = "a: one # npac: ignore[NPA302]\n"
    assert left(text) == ["NPA901 nothing on this line is silenced by NPA302"]
    assert left(text, active=lambda code: code != "NPA302") == []


def test_findings_about_comments_can_be_silenced_too():
    text = "# npac: ignore-file[NPA901,NPA902] this file shows comments\na: 1 # npac: ignore[NPA302]\n"
    assert left(text + "b: 1 # npac: ignore\n") == []
    assert left("# npac: ignore-file[NPA901]\na: 1\n") == [
        "NPA901 nothing in this file is silenced by NPA901"
    ]


def test_the_line_goes_before_the_file():
    text = "# npac: ignore-file[NPA302]\na: one # npac: ignore[NPA302]\n"
    assert left(text, "one") == ["NPA901 nothing in this file is silenced by NPA302"]


def test_findings_in_other_files_are_not_touched():
    found = find("a: one # npac: ignore[NPA302]\n")
    other = at(SourceFile("b.yaml", "a: one\n"), "one")
    assert found.split([other])[0] == [other]


def test_reading_stops_where_the_yaml_ends():
    text = "a: 1 # npac: ignore[NPA302]\nb: [ # npac: ignore[NPA105]\n"
    source = SourceFile("a.yaml", text)
    found = find_suppressions(source, [(0, 1), (3, 4)], end=text.index("b"))
    assert codes_of(found) == [["NPA302"]]


@pytest.mark.parametrize(
    ("text", "needles", "fixed"),
    [
        ("a: 1 # npac: ignore[NPA302] x\r\nb: 2\r\n", (), "a: 1\r\nb: 2\r\n"),
        ("a: 1\n  # npac: ignore[NPA302]\nb: 2\n", (), "a: 1\nb: 2\n"),
        ("a: 1 # npac: ignore[NPA302]", (), "a: 1"),
        (
            "a: one # npac: ignore[NPA105, NPA302] why\n",
            ("one",),
            "a: one # npac: ignore[NPA302] why\n",
        ),
        (
            "a: one # npac: ignore[NPA105] x # npac: ignore[NPA302] y\n",
            ("one",),
            "a: one # npac: ignore[NPA302] y\n",
        ),
    ],
)
def test_the_fix_removes_what_is_idle(text, needles, fixed):
    found = find(text)
    findings = [at(found.source, needle) for needle in needles]
    kept = suppress(findings, found, unused=UNUSED, malformed=MALFORMED)
    assert [each.code for each in kept] == [UNUSED]
    result = apply_fixes(found.source, kept)
    assert result.source.text == fixed
    again = find(fixed)
    still = [at(again.source, needle) for needle in needles]
    assert suppress(still, again, unused=UNUSED, malformed=MALFORMED) == []


def test_many_stacked_comments_take_linear_time():
    import time

    text = "# npac: ignore[NPA302]\n" * 40_000 + "a: one\n"
    source = SourceFile("a.yaml", text)
    begun = time.process_time()
    found = find_suppressions(source, [(len(text) - 7, len(text) - 6)])
    kept, unused = found.split([at(source, "one")])
    assert time.process_time() - begun < 5
    assert (kept, len(unused)) == ([], 39_999)


def test_many_comments_on_one_line_are_read_each_for_itself():
    text = (
        "a: 1 "
        + "# npac: ignore[NPA302] " * 2_000
        + "\n"
        + " " * 50
        + "# npac: ignore[NPA105] " * 3
        + "\nb: 2\n"
    )
    found = find(text)
    assert [item.lines for item in found.items[:2_000]] == [(1,)] * 2_000
    assert [item.lines for item in found.items[2_000:]] == [(2, 3)] * 3
    assert [item.comment.text for item in found.items] == (
        ["# npac: ignore[NPA302]"] * 2_000 + ["# npac: ignore[NPA105]"] * 3
    )


def test_only_so_many_codes_that_do_not_exist_are_looked_up():
    text = "".join(f"a{number}: 1 # npac: ignore[NPA{number:03}]\n" for number in range(400, 500))
    found = find(text, known=KNOWN)
    meant = [item.help.startswith("did you mean") for item in found.malformed]
    assert len(meant) == 100
    assert not any(meant[64:])


SCRIPT = """\
a: 1
run:
  shell: |
    one # npac: ignore[NPA302] checked before
    # npac: ignore[NPA302] the same
    two
    three
b: four
"""


def test_a_comment_of_a_script_acts_on_the_lines_of_the_script():
    assert left(SCRIPT, "one", "two", "three", "four") == ["NPA302 about three", "NPA302 about four"]


def test_a_comment_at_the_end_of_a_script_says_nothing_of_what_follows():
    text = "shell: |\n  one\n  # npac: ignore[NPA302]\nb: two\n"
    assert left(text, "two") == ["NPA302 about two", "NPA901 nothing on this line is silenced by NPA302"]


@pytest.mark.parametrize("key", ["note: |", "shell: >", 'shell: "x', "unshell: |", "note: {shell: 1}\nb: |"])
def test_in_any_other_text_a_number_sign_is_text(key):
    end = '"' if key.endswith("x") else ""
    text = f"{key}\n  one # npac: ignore[NPA302]\n  two{end}\n"
    assert left(text, "one") == ["NPA302 about one"]


def test_removing_an_idle_comment_of_a_script_is_not_safe():
    found = find("shell: |\n  one # npac: ignore[NPA302]\n")
    (about,) = suppress([], found, unused=UNUSED, malformed=MALFORMED)
    assert about.fix is not None and not about.fix.safe


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("# Npac: Ignore[npa302]", "does not begin with `# npac:`"),
        ("# NPAC: ignore[NPA302] x", "does not begin with `# npac:`"),
        ("# npac ignore[NPA302]", "does not begin with `# npac:`"),
        ("# npac = ignore-file[NPA302]", "does not begin with `# npac:`"),
        ("# as told, npac: ignore[NPA302]", "stands behind other words"),
        ("# npac: Ignore[NPA302]", "`Ignore` is not what a comment to npac can say"),
    ],
)
def test_near_misses_are_reported(comment, said):
    found = find(f"a: one {comment}\n")
    assert found.items == ()
    assert [said in each.message for each in found.malformed] == [True]


@pytest.mark.parametrize(
    "comment",
    [
        "# write `npac: ignore[NPA302]` here",
        "# checked with npac",
        "# NPAC: see the docs",
        "# npac: ignore[NPA302] and not npac: ignore[NPA105]",
    ],
)
def test_what_is_no_near_miss(comment):
    assert find(f"a: one {comment}\n").malformed == ()


def test_a_name_stands_for_its_code():
    names = {"member-as-target": "NPA302"}
    text = "a: one # npac: ignore[member-as-target] known\nb: two # npac: ignore[member-as-targt]\n"
    found = find(text, known=KNOWN, names=names)
    kept = suppress([at(found.source, "one")], found, unused=UNUSED, malformed=MALFORMED)
    assert [each.message for each in kept] == ["`member-as-targt` is no code"]
    assert kept[0].help == "did you mean member-as-target?"
    (silenced,) = found.silenced([at(found.source, "one")])
    assert silenced[1].text == "member-as-target"


def test_a_name_cannot_silence_what_its_code_cannot():
    found = find("a: 1 # npac: ignore[yaml-syntax]\n", fixed=("NPA002",), names={"yaml-syntax": "NPA002"})
    assert [each.message for each in found.malformed] == [
        "yaml-syntax cannot be silenced: a spec with it cannot be compiled"
    ]
