"""Mermaid and DOT: sound syntax, the same things as in the picture, and text that stays text."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from npac.report.dot import dot
from npac.report.drawing import Box, Drawing, Edge, Group
from npac.report.mermaid import mermaid
from tests.report.pictures import MIXED, folded, gated, unrolled

HOSTILE = 'a"];\nend\n%% x --> y | `<b>` # \\ } {'

_NODE = re.compile(r'(n\d+)(\(\(|\(\[|\[|\{)"([^"]*)"(\)\)|\]\)|\]|\})(:::\w+)?')
_EDGE = re.compile(r'(n\d+) (-->|-\.->)(?:\|"([^"]*)"\|)? (n\d+)')
_FRAME = re.compile(r'subgraph (n\d+)\["([^"]*)"\]')


def read(text: str) -> tuple[set[str], list[tuple[str, str, str]]]:
    """Read Mermaid line by line; anything that is not one of the forms above fails."""
    lines = text.splitlines()
    assert lines[0].startswith("%% ")
    assert lines[1] == "flowchart TD"
    names: set[str] = set()
    edges = []
    depth = 0
    for line in (line.strip() for line in lines[2:]):
        if line == "end":
            depth -= 1
            assert depth >= 0
        elif frame := _FRAME.fullmatch(line):
            names.add(frame[1])
            depth += 1
        elif node := _NODE.fullmatch(line):
            assert (node[2], node[4]) in {("[", "]"), ("{", "}"), ("([", "])"), ("((", "))")}
            assert depth >= 0 and node[1] not in names
            names.add(node[1])
        elif edge := _EDGE.fullmatch(line):
            assert depth == 0
            edges.append((edge[1], edge[3] or "", edge[4]))
        else:
            assert re.fullmatch(r"classDef \w+ .*|%% .*", line), line
    assert depth == 0
    assert all(source in names and target in names for source, _, target in edges)
    return names, edges


@pytest.mark.parametrize("drawing", [folded(MIXED), unrolled(MIXED), unrolled(gated(2, 3))], ids="fug")
def test_mermaid_has_every_box_and_edge(drawing: Drawing) -> None:
    names, edges = read(mermaid(drawing))
    assert len(names) == len(drawing.boxes) + len(drawing.groups)
    assert [label for _, label, _ in edges] == [edge.label for edge in drawing.edges]


def hostile() -> Drawing:
    boxes = (
        Box("start", "start"),
        Box("a", "wave", HOSTILE, (HOSTILE,), HOSTILE, "g"),
        Box("e", "end", HOSTILE),
    )
    edges = (Edge("start", "g", "next", HOSTILE), Edge("g", "g", "next", "", "g"), Edge("a", "e"))
    return Drawing(HOSTILE, HOSTILE, boxes, (Group("g", "parallel", HOSTILE, (HOSTILE,)),), edges, (HOSTILE,))


def test_hostile_text_stays_text_in_mermaid() -> None:
    drawing = hostile()
    text = mermaid(drawing)
    names, edges = read(text)
    assert len(names) == 4
    assert len(edges) == 3
    assert "<b>" not in text


def test_no_frame_leads_to_itself_in_mermaid() -> None:
    _, edges = read(mermaid(hostile()))
    frames = {"n3"}
    assert not any(source == target and source in frames for source, _, target in edges)


def test_a_plain_flowchart_has_shapes_and_nothing_else() -> None:
    boxes = (
        Box("a", "wave", "1. a"),
        Box("g", "group", "2. g: x, y"),
        Box("q", "gate", "q?"),
        Box("e", "end", "end"),
    )
    edges = (
        Edge("a", "g"),
        Edge("g", "q"),
        Edge("q", "e", "promote_checkpoint", "promote_checkpoint"),
        Edge("q", "a", "loop_back", HOSTILE),
    )
    lines = mermaid(Drawing("title", "subtitle", boxes, (), edges, ("note",)), styled=False).splitlines()
    assert lines[:8] == [
        "flowchart TD",
        '  n0["1. a"]',
        '  n1[["2. g: x, y"]]',
        '  n2{"q?"}',
        '  n3(["end"])',
        "  n0 --> n1",
        "  n1 --> n2",
        "  n2 -->|promote_checkpoint| n3",
    ]
    (hostile,) = lines[8:]
    assert _EDGE.fullmatch(hostile.strip())


def accepted(text: str) -> str:
    """Let Graphviz read DOT and give it as Graphviz understood it."""
    program = shutil.which("dot")
    if program is None:
        pytest.skip("Graphviz (dot) is not installed")
    done = subprocess.run(
        [program, "-Tplain"], input=text.encode(), capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"syntax error" not in done.stderr
    return done.stdout.decode()


@pytest.mark.parametrize("drawing", [folded(MIXED), unrolled(MIXED)], ids="fu")
def test_graphviz_accepts_every_box_and_edge(drawing: Drawing) -> None:
    plain = accepted(dot(drawing))
    assert sum(line.startswith("node ") for line in plain.splitlines()) == len(drawing.boxes)
    assert sum(line.startswith("edge ") for line in plain.splitlines()) == len(drawing.edges)


def test_hostile_text_stays_text_in_dot() -> None:
    plain = accepted(dot(hostile()))
    assert sum(line.startswith("node ") for line in plain.splitlines()) == 3


def test_dot_quotes_balance_without_graphviz() -> None:
    for drawing in (hostile(), folded(MIXED)):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', dot(drawing))
        assert bare.count("{") == bare.count("}") == 1 + len(drawing.groups)
        assert "\\" not in bare
