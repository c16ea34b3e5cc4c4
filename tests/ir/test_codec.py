from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.ir.canonical import CanonicalError, canonical_bytes, digest, program_bytes
from npac.ir.codec import program_from_json, program_schema, program_to_json, tree_from_json, tree_to_json
from npac.ir.forms import FormError
from npac.ir.program import Artifact, Program, Step
from npac.ir.values import RUN_ID, Hole, concat
from tests.ir.programs import chain, everything, single

ROOT = Path(__file__).resolve().parents[2]

values = st.one_of(
    st.text(st.characters(codec="utf-8")), st.just(RUN_ID), st.just(concat(["a", RUN_ID, "b"]))
)
trees = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), values),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(st.sampled_from(["hole", "map", "concat", "float"]), st.text(max_size=4)),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=12,
)


def test_a_program_reads_back_equal_from_its_canonical_bytes() -> None:
    program = everything()
    back = program_from_json(json.loads(program_bytes(program)))
    assert back == program
    assert program_bytes(back) == program_bytes(program)


def test_the_order_of_enclosing_loops_is_kept() -> None:
    back = program_from_json(json.loads(program_bytes(everything())))
    wave = back.waves()[2]
    assert list(wave.loops.items()) == [("loop", 1), ("a-inner", 1)]


def test_what_equals_its_default_is_not_written() -> None:
    data = program_to_json(single())
    assert data == {
        "schema": "npac.ir/v1",
        "workflow": "single",
        "entry": "only",
        "steps": [{"state": "only", "argv": ["true"]}],
        "nodes": [
            {
                "node": "wave",
                "id": "only",
                "number": 1,
                "members": [{"step": 0}],
                "batches": [[0]],
                "next": "end",
            },
            {"node": "end", "id": "end"},
        ],
    }


def test_the_digest_is_the_hash_of_the_canonical_text() -> None:
    text = (
        '{"entry":"only","nodes":[{"batches":[[0]],"id":"only","members":[{"step":0}],"next":"end",'
        '"node":"wave","number":1},{"id":"end","node":"end"}],"schema":"npac.ir/v1",'
        '"steps":[{"argv":["true"],"state":"only"}],"workflow":"single"}'
    )
    assert program_bytes(single()).decode() == text
    assert digest(single()) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "step",
    [
        Step("a", argv=("x", "y")),
        Step("a", shell="x"),
        Step("a", argv=("x",), image="i"),
        Step("a", argv=("x",), num_nodes=2),
        Step("a", argv=("x",), profile={"cpus": 1}),
        Step("a", argv=("x",), profile={"cpus": "1"}),
        Step("a", argv=("x",), profile={"cpus": 1.0}),
        Step("a", argv=("x",), env={"A": "b"}),
        Step("a", argv=(RUN_ID,)),
        Step("a", argv=("<run.id>",)),
        Step("a", argv=('{"hole":"run.id"}',)),
        Step("a", argv=("x",), outputs=(Artifact("s3://b/k"),)),
        Step("a", argv=("x",), outputs=(Artifact("s3://b/k", kind="directory"),)),
        Step("a", argv=("x",), source_overlay=True),
    ],
)
def test_what_would_run_differently_has_another_digest(step: Step) -> None:
    assert digest(chain(step)) != digest(chain(Step("a", argv=("x",))))


def test_key_order_does_not_change_the_digest() -> None:
    one = single(profile={"cpus": 1, "memory": 2}, env={"A": "1", "B": "2"})
    two = single(profile={"memory": 2, "cpus": 1}, env={"B": "2", "A": "1"})
    assert digest(one) == digest(two)


def test_a_users_mapping_cannot_pass_for_a_hole() -> None:
    forged = tree_to_json({"hole": "run.id"})
    assert forged == {"map": {"hole": "run.id"}}
    assert tree_from_json(forged) == {"hole": "run.id"}
    assert tree_to_json(Hole("run.id")) == {"hole": "run.id"}


@given(trees)
def test_every_tree_reads_back_with_its_types(tree: object) -> None:
    back = tree_from_json(json.loads(canonical_bytes(tree_to_json(tree))))  # type: ignore[arg-type]
    assert _typed(back) == _typed(tree)


def _typed(tree: object) -> object:
    if isinstance(tree, dict):
        return {key: _typed(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_typed(value) for value in tree]
    return (type(tree).__name__, repr(tree))


def test_numbers_that_canonical_json_would_bend_are_wrapped() -> None:
    assert tree_to_json([1, 1.0, 1.5, 2**60]) == [1, {"float": "1.0"}, 1.5, {"int": str(2**60)}]


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("schema",), "npac.ir/v2", "schema must be 'npac.ir/v1'"),
        (("extra",), 1, "unknown entry 'extra'"),
        (("steps", 0, "argv"), "echo hello", "steps/0/argv: must be a list"),
        (("steps", 0, "argv", 0), {"hole": 1}, "steps/0/argv/0: not a template value"),
        (("steps", 0, "num_nodes"), True, "steps/0/num_nodes: must be a whole number"),
        (("steps", 0, "profile"), {"hole": "run.id"}, "steps/0/profile: must be a mapping"),
        (("nodes", 0, "node"), "router", "nodes/0: must be a wave, a gate or an end"),
        (("nodes", 0, "next"), None, "nodes/0/next: must be text"),
        (("nodes",), {}, "nodes: must be a list"),
    ],
)
def test_a_damaged_program_is_refused_with_its_place(path: tuple, value: object, where: str) -> None:
    data = json.loads(program_bytes(single()))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(FormError) as caught:
        program_from_json(data)
    assert where in str(caught.value)


def test_a_lacking_entry_is_named() -> None:
    data = program_to_json(single())
    del data["nodes"][0]["next"]
    with pytest.raises(FormError, match="nodes/0: lacks 'next'"):
        program_from_json(data)


@pytest.mark.parametrize("data", [None, [], "text", 3, {}])
def test_other_json_is_no_program(data: object) -> None:
    with pytest.raises(ValueError, match="the document"):
        program_from_json(data)


def test_an_unpaired_surrogate_has_no_canonical_form() -> None:
    with pytest.raises(CanonicalError, match="no canonical JSON form"):
        program_bytes(single(argv=("\ud800",)))


def test_the_shipped_schema_is_the_codecs_own() -> None:
    path = ROOT / "schemas" / "npac.program.schema.json"
    text = json.dumps(program_schema(), indent=2, sort_keys=True) + "\n"
    if os.environ.get("NPAC_UPDATE_SCHEMAS"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "run this test once with NPAC_UPDATE_SCHEMAS=1"


def test_programs_are_valid_by_the_shipped_schema() -> None:
    schema = json.loads((ROOT / "schemas" / "npac.program.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for program in (single(), everything()):
        validator.validate(program_to_json(program))
    broken = program_to_json(single())
    broken["steps"][0]["argv"] = "echo"
    assert not validator.is_valid(broken)


def test_bytes_do_not_depend_on_the_process() -> None:
    code = (
        "from tests.ir.programs import everything; from npac.ir.canonical import digest;"
        "print(digest(everything()))"
    )
    found = set()
    for seed, zone, lang in (("0", "UTC", "C"), ("1", "Asia/Tokyo", "C.UTF-8"), ("4242", "", "tr_TR")):
        env = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": lang, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, cwd="/", capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert found == {digest(everything()) + "\n"}


def test_program_equality_survives_a_change_of_one_field() -> None:
    program: Program = everything()
    assert digest(replace(program, default_assumption="promote_checkpoint")) != digest(program)
