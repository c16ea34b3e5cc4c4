"""Artifacts: who writes what, with which label, and for which run."""

from __future__ import annotations

import pytest

from tests.rules.specs import END, checked, codes


def _output(uri: str, more: str = "") -> str:
    return f"outputs: [{{uri: '{uri}'{more}}}]"


def _members(first: str, second: str) -> str:
    return (
        "config: {i: x}\nstates:\n  p: {parallel: [m, n], next: z}\n"
        f"  m: {{run: {{argv: ['{{{{config.i}}}}']}}, {first}}}\n  n: {{run: {{argv: [x]}}, {second}}}\n"
        + END
    )


OUTPUT = _output("s3://bkt/{{run.id}}/o.j")


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        (OUTPUT, OUTPUT, "701"),
        (OUTPUT, _output("s3://bkt/{{run.id}}/p.j"), ""),
        (
            f"params: {{i: 1}}, {_output('s3://bkt/{{run.id}}/{{config.i}}.j')}",
            _output("s3://bkt/{{run.id}}/1.j"),
            "215 701",
        ),
        (
            f"params: {{i: 1}}, {_output('s3://bkt/{{run.id}}/{{config.i}}.j')}",
            _output("s3://bkt/{{run.id}}/2.j"),
            "215",
        ),
    ],
)
def test_members_of_a_group_write_different_uris(first: str, second: str, wanted: str) -> None:
    assert codes(_members(first, second)) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            f"  a: {{run: {{argv: [x]}}, {OUTPUT}, next: b}}\n  b: {{run: {{argv: [x]}}, {OUTPUT}, next: z}}\n",
            "702",
        ),
        (
            "  q: {transitions: [{if: config.k, goto: a}], next: b}\n"
            f"  a: {{run: {{argv: [x]}}, {OUTPUT}, next: z}}\n  b: {{run: {{argv: [x]}}, {OUTPUT}, next: z}}\n",
            "",
        ),
        (f"  a: {{run: {{argv: ['{{{{config.k}}}}']}}, {OUTPUT}, loop: {{max: 2}}, next: z}}\n", "702"),
        (
            f"  s: {{sequence: [a], {OUTPUT}, next: z}}\n  a: {{run: {{argv: ['{{{{config.k}}}}']}}, {OUTPUT}}}\n",
            "",
        ),
        (
            "  s: {sequence: [a], loop: {max: 2}, next: z}\n"
            "  a: {run: {argv: [x]}, " + _output("s3://bkt/{{run.id}}/{{loop.s}}.j") + "}\n",
            "",
        ),
    ],
    ids=["one path", "branches", "own iterations", "a group's own", "the iteration's"],
)
def test_what_is_written_again_is_noted(body: str, wanted: str) -> None:
    assert codes("config: {k: true}\nstates:\n" + body + END, but="215") == wanted


READ = """\
states:
  a: {{run: {{argv: [x]}}, outputs: [{{uri: "s3://bkt/{{{{run.id}}}}/o.j"{made}}}], next: b}}
  b: {{run: {{argv: [x]}}, inputs: [{{uri: "{uri}"{read}}}], terminal: true}}
"""
SAME = "s3://bkt/{{run.id}}/o.j"


@pytest.mark.parametrize(
    ("made", "uri", "read", "wanted"),
    [
        (", schema: v1", SAME, ", schema: v1", ""),
        (", schema: v1", SAME, ", schema: v2", "704"),
        (", schema: v1", SAME, "", "704"),
        ("", SAME, ", schema: v1", ""),
        (", schema: v1", "{{state.a.uri}}", ", schema: v1", ""),
        (", schema: v1", "{{state.a.uri}}", ", schema: v2", "704"),
        (", schema: v1", "s3://bkt/{{run.id}}/", ", schema: v2", ""),
        (", schema: v1", "s3://elsewhere/x", ", schema: v2", ""),
    ],
)
def test_an_input_carries_the_label_of_what_makes_it(made: str, uri: str, read: str, wanted: str) -> None:
    assert codes(READ.format(made=made, uri=uri, read=read)) == wanted


def test_a_wrong_label_is_shown_with_its_producer() -> None:
    (item,) = checked(READ.format(made=", schema: v1", uri=SAME, read=", schema: v2")).findings
    assert item.message == "'b' reads as 'v2' what 'a' writes as 'v1'"
    assert item.span.text == "v2" and [other.span.text for other in item.related] == ["v1"]


@pytest.mark.parametrize(
    ("uri", "more", "wanted"),
    [
        ("s3://bkt/{{run.id}}/o.j", "", ""),
        ("file:///data/{{run.id}}/o.j", "", ""),
        ("s3://bkt/{{run.prefix}}/o.j", "", ""),
        ("s3://bkt/o.j", "", "703"),
        ("gs://b/{{run.id}}/o.j", "", "706"),
        ("out/{{run.id}}.j", "", "706"),
        ("", "", "706"),
        ("s3://bkt/{{run.id}}/folder", "", "705"),
        ("s3://bkt/{{run.id}}/folder/", "", ""),
        ("s3://bkt/{{run.id}}/folder", ", kind: directory", ""),
        ("s3://bkt/{{run.id}}/name", ", kind: file", ""),
        ("s3://bkt/{{run.id}}", "", ""),
    ],
)
def test_an_output_can_be_looked_at_and_belongs_to_its_run(uri: str, more: str, wanted: str) -> None:
    assert codes(f"states:\n  a: {{run: {{argv: [x]}}, {_output(uri, more)}, next: z}}\n" + END) == wanted
