"""The SVG text: well formed, complete, safe with any text, and the same bytes every time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from npac.report.drawing import Box, Drawing, Edge, Group, Outline
from npac.report.folded import fold
from npac.report.svg import escape, svg
from tests.api.command import ROOT
from tests.corpus.place import each_spec, spec_path
from tests.report.pictures import LATE, MIXED, folded, plan_of, unrolled

NS = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert(1)</script>&amp;\"' onload=x \x00\x1b[31m \u202egnp \ud800 ]]> ☃"


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{NS}text")]


def test_every_state_gate_end_and_label_is_there() -> None:
    root = ET.fromstring(svg(folded(MIXED)))
    shown = texts(root)
    states = (
        "ingest repair check-repair abandoned fan m1 m2 m3 m4 m5 train warm inner fit judge pick second "
        "archive publish notify report rejected"
    )
    for state in states.split():
        assert state in shown, state
    for label in ("promote_checkpoint", "loop_back", "after 4 rounds"):
        assert label in shown
    assert "5 steps, 2 at once in 3 batches" in shown
    assert "at most 3 rounds, until promote_checkpoint" in shown
    assert "No path comes to forgotten." in shown
    assert shown.count("end") == 1


@each_spec
def test_every_corpus_spec_is_drawn_whole(name: str) -> None:
    item = plan_of(spec_path(name))
    shown = texts(ET.fromstring(svg(folded(spec_path(name)))))
    for step in item.program.steps:
        assert step.state in shown
    for gate in item.program.gates():
        assert gate.state in shown


def test_it_is_one_file_without_scripts_or_links() -> None:
    text = svg(unrolled(MIXED))
    root = ET.fromstring(text)
    assert root.tag == f"{NS}svg"
    tags = {element.tag.removeprefix(NS) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "g", "rect", "circle", "path", "polygon", "text"}
    keys = [key for element in root.iter() for key in element.attrib]
    assert not any("href" in key or key.startswith("on") for key in keys)
    assert "url(" not in text
    assert "@import" not in text


def test_numbers_are_numbers() -> None:
    number = r"-?[0-9]+(\.[0-9])?"
    plain = {"x", "y", "width", "height", "cx", "cy", "r", "rx", "font-size"}
    seen = set()
    for element in ET.fromstring(svg(folded(MIXED))).iter():
        for key, value in element.items():
            if key in plain:
                assert re.fullmatch(number, value), (key, value)
            elif key in ("d", "points", "viewBox"):
                assert re.fullmatch(rf"([MLCQZ, ]|{number})+", value), (key, value)
            else:
                continue
            seen.add(key)
    assert seen == plain | {"d", "points", "viewBox"}


def test_who_cannot_see_it_is_told_what_it_shows() -> None:
    root = ET.fromstring(svg(folded(MIXED)))
    title, desc = root.find(f"{NS}title"), root.find(f"{NS}desc")
    assert title is not None and title.text == "mixed"
    assert desc is not None and desc.text is not None
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert "ingest leads to fan (promote_checkpoint)." in desc.text
    assert "inner leads back to fit (loop_back)." in desc.text


def test_descriptions_are_tooltips() -> None:
    root = ET.fromstring(svg(folded(MIXED)))
    notes = [
        title.text
        for group in root.iter(f"{NS}g")
        if group.get("data-id") == "wave:ingest"
        for title in group.iter(f"{NS}title")
    ]
    assert len(notes) == 1 and notes[0] is not None
    lines = notes[0].splitlines()
    assert 'Reads <everything> & "more"' in lines
    assert "secrets HF_TOKEN" in lines
    assert "in s3://lake/raw/ (raw.v1)" in lines


def test_hostile_text_stays_text() -> None:
    boxes = (Box("start", "start"), Box(HOSTILE, "wave", HOSTILE, (HOSTILE,), HOSTILE, "g"))
    group = Group("g", "loop", HOSTILE, (HOSTILE,), HOSTILE)
    edges = (Edge("start", HOSTILE, "next", HOSTILE), Edge(HOSTILE, HOSTILE, "loop_back", HOSTILE, "g"))
    text = svg(Drawing(HOSTILE, HOSTILE, boxes, (group,), edges, (HOSTILE,)))
    text.encode("utf-8")
    root = ET.fromstring(text)
    assert {element.tag for element in root.iter(f"{NS}script")} == set()
    assert "\u202e" not in text and "\x00" not in text and "\x1b" not in text
    assert any("</text><script>alert(1)</script>&amp;" in shown for shown in texts(root))


def test_hostile_descriptions_from_a_spec_stay_text() -> None:
    item = plan_of(MIXED)
    drawing = fold(item.program, LATE, Outline({"ingest": HOSTILE}, {("ingest", ""): HOSTILE}))
    root = ET.fromstring(svg(drawing))
    assert not list(root.iter(f"{NS}script"))


def test_escape() -> None:
    assert escape("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;"
    assert escape("a\nb\tc") == "a\nb\tc"
    assert escape("\x0b\x85\ufffe\u2066") == "\ufffd" * 4


def test_a_chosen_path_is_the_part_that_is_not_faint() -> None:
    drawing = folded(
        MIXED, decide={"ingest": ["loop_back"], "check-repair": ["promote"]}, assume="promote_checkpoint"
    )
    off = {box.id for box in drawing.boxes if box.off}
    assert {"wave:archive", "transitions:second@transitions"} <= off
    assert not off & {"wave:ingest", "wave:repair", "wave:report", "wave:fan#0"}
    taken = {(edge.source, edge.kind) for edge in drawing.edges if not edge.off}
    assert ("transitions:ingest@transitions", "loop_back") in taken
    assert ("transitions:ingest@transitions", "promote_checkpoint") not in taken
    assert 'class="wave off"' in svg(drawing)
    assert 'off"' not in svg(folded(MIXED))


def test_unreached_rounds_of_an_unrolled_path_are_faint() -> None:
    drawing = unrolled(MIXED, assume="promote_checkpoint")
    off = {box.id for box in drawing.boxes if box.off}
    assert "node:train[1]/inner[2]/fit" in off
    assert "node:train[2]/inner[1]/fit" not in off


@pytest.mark.parametrize("view", ["", "--unrolled"])
@pytest.mark.parametrize("format", ["svg", "mmd", "dot"])
def test_bytes_do_not_depend_on_the_process(tmp_path: Path, view: str, format: str) -> None:
    spec = tmp_path / "mixed.yaml"
    spec.write_text(MIXED)
    found = set()
    for seed, zone, lang in (("0", "UTC", "C"), ("1", "Asia/Tokyo", "C.UTF-8"), ("4242", "UTC", "POSIX")):
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "PYTHONHASHSEED": seed,
            "TZ": zone,
            "LC_ALL": lang,
            "COLUMNS": seed,
        }
        output = tmp_path / f"{seed}.{format}"
        words = ["graph", str(spec), "-o", str(output), *([view] if view else [])]
        subprocess.run(
            [sys.executable, "-c", "from npac.cli.main import entry; entry()", *words],
            env=environment,
            check=True,
            capture_output=True,
            timeout=120,
        )
        found.add(output.read_bytes())
    assert len(found) == 1
