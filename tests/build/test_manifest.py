"""Reader, shipped schema and writer of a manifest agree on what one is, and a fault has a place."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npac.build.manifest import (
    SCHEMA,
    BatchEntry,
    Manifest,
    ObjectEntry,
    ViewEntry,
    manifest_bytes,
    manifest_from_bytes,
)
from npac.build.verify import verify_build
from npac.ir.forms import FormError
from tests.api.specs import GOOD
from tests.api.test_imports import among, modules

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = json.loads((ROOT / "schemas" / "npac.manifest.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SHIPPED)
ONE, TWO = "1" * 64, "ab" * 32

FULL = Manifest(
    compiler="1.0",
    workflow="w",
    spec=ONE,
    program=TWO,
    catalogs=(ONE,),
    waves=(
        BatchEntry("a", 1, "a", ONE, "waves/001-a.sky.yaml"),
        BatchEntry("b[2]/c", 2, "c", TWO, "waves/002-b1-c.sky.yaml", 1),
    ),
    objects=(ObjectEntry(ONE, "documents", 3), ObjectEntry(TWO, "link", 0)),
    views=(ViewEntry("program.json", ONE, 12),),
    overrides={"vars": {"size": "3", "parts": [1, 2.5, None, {"é": True}]}},
    options={"allow": True},
    link=TWO,
)


def data(manifest: Manifest = FULL) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(manifest_bytes(manifest))
    return found


def accepted(document: object) -> bool:
    try:
        manifest_from_bytes(json.dumps(document).encode())
    except FormError:
        return False
    return True


@pytest.mark.parametrize(
    "manifest", [FULL, Manifest("1", "w", ONE, ONE, (), (), (), ())], ids=["full", "least"]
)
def test_what_is_written_is_read_back_and_fits_the_schema(manifest: Manifest) -> None:
    back = manifest_from_bytes(manifest_bytes(manifest))
    assert back == manifest
    assert type(back) is Manifest
    assert manifest_bytes(back) == manifest_bytes(manifest)
    VALIDATOR.validate(data(manifest))


def test_what_equals_its_default_is_not_written() -> None:
    found = data(Manifest("1", "w", ONE, ONE, (), (BatchEntry("a", 1, "a", ONE, "v"),), (), ()))
    assert set(found) == {
        "schema", "compiler", "workflow", "spec", "program", "catalogs", "waves", "objects", "views",
    }  # fmt: skip
    assert found["waves"] == [{"node": "a", "number": 1, "label": "a", "object": ONE, "view": "v"}]


def test_the_schema_names_every_field() -> None:
    jsonschema.Draft202012Validator.check_schema(SHIPPED)
    parts = SHIPPED["properties"]
    assert set(parts) == {"schema", *(each.name for each in fields(Manifest))}
    for name, record in (("waves", BatchEntry), ("objects", ObjectEntry), ("views", ViewEntry)):
        assert set(parts[name]["items"]["properties"]) == {each.name for each in fields(record)}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("schema",), "npac.manifest/v9", "schema: must be 'npac.manifest/v1', not 'npac.manifest/v9'"),
        (("spec",), ONE + "0", "spec: must be 64 hex digits, not '11"),
        (("spec",), ONE + "\n", "spec: must be 64 hex digits"),
        (("link",), "A" * 64, "link: must be 64 hex digits, not 'AA"),
        (("catalogs", 0), 7, "catalogs/0: must be text, not 7"),
        (("waves", 1, "object"), "xyz", "waves/1/object: must be 64 hex digits, not 'xyz'"),
        (("waves", 1, "number"), True, "waves/1/number: must be a whole number, not True"),
        (("waves", 1, "number"), 1.0, "waves/1/number: must be a whole number, not 1.0"),
        (("waves", 1, "number"), "1", "waves/1/number: must be a whole number, not '1'"),
        (("waves", 0, "host"), "h", "waves/0: has an unknown entry 'host'"),
        (("waves", 0), [], "waves/0: must be a mapping, not []"),
        (("waves",), {}, "waves: must be a list, not {}"),
        (
            ("objects", 1, "kind"),
            "secret",
            "objects/1/kind: must be documents, link, program or spec, not 's",
        ),
        (("views", 0, "path"), "a/../b", "views/0/path: must be a plain path inside the build, not 'a/../b'"),
        (("overrides",), [], "overrides: must be a mapping, not []"),
    ],
)
def test_a_fault_is_said_with_its_place(path: tuple[str | int, ...], value: object, said: str) -> None:
    document: Any = data()
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(FormError) as caught:
        manifest_from_bytes(json.dumps(document).encode())
    assert str(caught.value).startswith(said)
    assert "; " not in str(caught.value)


def test_a_lacking_entry_is_named() -> None:
    document = data()
    del document["waves"][1]["label"]
    with pytest.raises(FormError, match=r"^waves/1: lacks 'label'$"):
        manifest_from_bytes(json.dumps(document).encode())


def test_the_first_faults_are_told_and_the_others_counted() -> None:
    document = data()
    document |= {"compiler": 1, "workflow": 2, "waves": [3], "views": [4]}
    with pytest.raises(FormError) as caught:
        manifest_from_bytes(json.dumps(document).encode())
    assert str(caught.value) == (
        "compiler: must be text, not 1; workflow: must be text, not 2; waves/0: must be a mapping, not 3; "
        "and 1 more"
    )


def test_of_another_version_nothing_else_is_said() -> None:
    with pytest.raises(FormError, match=r"^schema: must be 'npac.manifest/v1', not 'npac.manifest/v2'$"):
        manifest_from_bytes(b'{"schema": "npac.manifest/v2", "stages": []}')
    with pytest.raises(FormError, match=r"^the document: lacks 'schema'$"):
        manifest_from_bytes(b"{}")


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000, b'{"a": ' * 100_000, b'"\\ud800"'])
def test_what_is_no_json_is_said(text: bytes) -> None:
    with pytest.raises(FormError, match=r"^the document: this is no JSON: "):
        manifest_from_bytes(text)


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", ".", "..", "a/..", "./a", "a\\b", "a\0", "../../x"])
def test_a_path_out_of_the_build_is_none(path: str) -> None:
    document = data()
    document["views"][0]["path"] = path
    assert not accepted(document)
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize("path", ["a", "a/b", "...", ".a", "..a", "a..", "a/.b/c.d", ". ", "é/ü"])
def test_a_path_inside_the_build_is_one(path: str) -> None:
    document = data()
    document["views"][0]["path"] = path
    assert accepted(document)
    assert VALIDATOR.is_valid(document)


# without whole floats and line feeds at an end: JSON Schema calls 1.0 an integer, and jsonschema's $ matches
# before a last line feed
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0.5, "", "x", ONE, TWO, "a/b", "..", "link", SCHEMA])
    | st.text("abc./\\\0-0", max_size=6)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def damaged(draw: st.DrawFn) -> object:
    """Draw a manifest in which one place holds anything, lacks, or has a neighbour that nobody knows."""
    document: Any = data()
    place: Any = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return document
        key = draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and draw(st.booleans()):
            place = place[key]
            continue
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "remove":
            del place[key]
        elif action == "add" and isinstance(place, dict):
            place[draw(st.sampled_from(["more", "node", "link", "digest"]))] = draw(values)
        else:
            place[key] = draw(values)
        return document


@given(damaged())
@settings(max_examples=400, deadline=None)
def test_the_reader_and_the_schema_agree(document: object) -> None:
    assert accepted(document) == VALIDATOR.is_valid(document)


@given(values)
def test_no_json_is_a_surprise(document: object) -> None:
    assert not accepted(document)


def test_a_build_with_a_damaged_manifest_names_file_and_place(tmp_path: Path) -> None:
    document = data()
    document["waves"][1]["object"] = "xyz"
    (tmp_path / "manifest.json").write_text(json.dumps(document), encoding="utf-8")
    (problem,) = verify_build(tmp_path)
    assert (problem.kind, problem.path) == ("unreadable", "manifest.json")
    assert f"{tmp_path / 'manifest.json'} is no manifest that this npac can read" in problem.message
    assert "waves/1/object: must be 64 hex digits, not 'xyz'" in problem.message


def test_only_what_reads_a_manifest_imports_pydantic(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(GOOD, encoding="utf-8")
    for argv, asked in (
        (("compile", "spec.yaml"), False),
        (("compile", "spec.yaml", "-o", "out"), False),
        (("verify", "out"), True),
    ):
        code, names = modules(*argv, cwd=tmp_path)
        assert code in (0, None)
        assert bool(among(names, {"pydantic", "pydantic_core"})) is asked, argv
