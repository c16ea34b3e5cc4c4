from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.ir.canonical import canonical_bytes
from npac.ir.errors import LinkError
from npac.ir.linking import (
    IMAGE,
    LinkRecord,
    is_immutable,
    link_program,
    recheck,
    record_bytes,
    record_digest,
    record_from_json,
    record_problems,
    record_to_json,
    remapped,
)
from npac.ir.program import Artifact, Baked, Gate, Program, Step
from npac.ir.values import RUN_ID, concat
from tests.ir.programs import BAKED_IMAGE, DIGEST, SOURCE_SHA, everything, group, single

LINK = LinkRecord("run-1")


def _refusal(program: Program, link: LinkRecord = LINK) -> str:
    with pytest.raises(LinkError) as caught:
        link_program(program, link)
    return str(caught.value)


def test_every_hole_is_filled() -> None:
    linked = link_program(everything(), LINK)
    assert recheck(linked, LINK) == []
    assert linked.steps[0].argv == ("python3", "prepare.py", "--out", "s3://bucket/run-1/data", "xcnVuLTE=")
    assert linked.steps[1].shell == "echo run-1 0 > out"
    assert linked.steps[1].env["OUT"] == "s3://bucket/run-1/shards"
    kubernetes = linked.steps[1].profile["kubernetes"]
    assert isinstance(kubernetes, dict)
    assert kubernetes["pod_config"]["metadata"]["labels"] == {"team/run": "r-run-1"}  # type: ignore[index,call-overload]
    assert kubernetes["pod_config"]["spec"]["hole"] == "run.id"  # type: ignore[index,call-overload]
    gate = linked.gates()[0]
    assert isinstance(gate, Gate) and gate.uri == "s3://bucket/run-1/decision.json"
    assert gate.checks[0].outputs[0].uri == "s3://bucket/run-1/model"
    wave = linked.waves()[0]
    assert wave.triggers[0].uri == "s3://bucket/run-1/inbox/"
    assert linked.waves()[1].outputs[0].uri == "s3://bucket/run-1/shards/"


def test_the_program_itself_is_not_changed() -> None:
    program = everything()
    link_program(program, LINK)
    assert program == everything()


def test_a_record_reads_back_and_has_a_digest_of_its_own() -> None:
    link = LinkRecord(
        "r",
        "00" * 16,
        "s3://b/src/1",
        "f" * 64,
        "http://e:9000",
        {"a:1": BAKED_IMAGE},
        {"H100": "B200"},
        "ctx",
    )
    assert record_from_json(record_to_json(link)) == link
    assert record_bytes(link) == canonical_bytes(record_to_json(link))
    assert record_digest(link) != record_digest(replace(link, run_id="r2"))
    assert record_to_json(LinkRecord("r")) == {"schema": "npac.link/v1", "run_id": "r"}


@pytest.mark.parametrize("run_id", ["", ".", "..", "../x", "a/b", "a b", "a\nb", "-x", "x" * 97, "é"])
def test_a_bad_run_id_is_refused(run_id: str) -> None:
    assert "the run id" in _refusal(single(), LinkRecord(run_id))


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (LinkRecord("r", pins={"a": "registry.example/a:1"}), "must be REGISTRY/REPO@sha256"),
        (LinkRecord("r", pins={"a": f"a@{DIGEST}"}), "must be REGISTRY/REPO@sha256"),
        (LinkRecord("r", accelerators={"H100": "B200:0"}), "not of the form FROM=TO"),
        (LinkRecord("r", endpoint_url="http://user:pw@host"), "holds a user name or password"),
        (LinkRecord("r", endpoint_url="ftp://host"), "no http:// or https:// URL"),
        (LinkRecord("r", source_uri="file:///x"), "is no s3:// URI"),
        (LinkRecord("r", source_uri="s3://b/\n"), "holds a control character"),
    ],
)
def test_a_bad_record_is_refused(link: LinkRecord, expected: str) -> None:
    assert any(expected in problem for problem in record_problems(link))
    assert expected in _refusal(single(), link)


def test_outputs_that_become_equal_side_by_side_are_refused() -> None:
    steps = (
        Step("a", argv=("x",), outputs=(Artifact(concat(["s3://b/", RUN_ID])),)),
        Step("b", argv=("x",), outputs=(Artifact("s3://b/run-1"),)),
    )
    assert "states a and b run side by side and both write s3://b/run-1" in _refusal(group(*steps))
    assert link_program(group(*steps), LinkRecord("run-2")).steps[0].outputs[0].uri == "s3://b/run-2"
    # Batches are launched one after the other, yet the members are of one group.
    assert "side by side" in _refusal(group(*steps, size=1))


def test_a_label_that_becomes_too_long_is_refused() -> None:
    assert "Kubernetes allows 63" in _refusal(everything(), LinkRecord("x" * 90))


def test_a_pod_label_key_is_checked() -> None:
    program = single(profile={"kubernetes": {"pod_config": {"metadata": {"labels": {"a b": "c"}}}}})
    assert "the pod label key 'a b'" in _refusal(program)


def test_texts_that_the_system_would_refuse_are_refused() -> None:
    assert "holds a NUL character" in _refusal(single(argv=("a\0b",)))
    assert "longer than 131072 bytes" in _refusal(single(argv=("é" * 70_000,)))
    assert "longer than 1024 bytes" in _refusal(single(outputs=(Artifact("s3://b/" + "k" * 1025),)))
    assert "names no bucket" in _refusal(single(outputs=(Artifact("s3:///k"),)))
    assert "holds a control character" in _refusal(single(outputs=(Artifact("s3://b/\n"),)))
    assert "is no image reference" in _refusal(single(image="Upper/Case image"))


def test_a_baked_image_needs_a_digest() -> None:
    baked = Baked(SOURCE_SHA, "npa.cli.main")
    program = single(image="registry.example/team/x:1", baked=baked)
    refusal = _refusal(program)
    assert "demands a baked image" in refusal and "--pin registry.example/team/x:1=" in refusal
    link = LinkRecord("r", pins={"registry.example/team/x:1": BAKED_IMAGE})
    # Images stay as written; documents get the pin.
    assert link_program(program, link).steps[0].image == "registry.example/team/x:1"
    assert "it has no image" in _refusal(single(baked=baked))
    assert "40 hex digits" in _refusal(single(image=BAKED_IMAGE, baked=Baked("abc", "npa")))


def test_a_pin_or_remap_that_nothing_uses_is_refused() -> None:
    assert "the pin of 'typo:1' is used by no state" in _refusal(
        everything(), LinkRecord("r", pins={"typo:1": BAKED_IMAGE})
    )
    assert "the accelerator remap of 'H10' is used by no state" in _refusal(
        everything(), LinkRecord("r", accelerators={"H10": "B200"})
    )
    assert link_program(everything(), LinkRecord("r", accelerators={"H100:2": "B200"}))


@pytest.mark.parametrize(
    ("written", "table", "expected"),
    [
        ("H100:2", {"H100": "B200"}, "B200:2"),
        ("H100:2", {"H100": "B200:1"}, "B200:1"),
        ("H100:2", {"H100": "B200", "H100:2": "L40S:4"}, "L40S:4"),
        ("H100", {"H100": "B200"}, "B200"),
        ("H100:8", {"H100:2": "B200"}, "H100:8"),
        ("H1000:8", {"H100": "B200"}, "H1000:8"),
    ],
)
def test_accelerator_remaps(written: str, table: dict[str, str], expected: str) -> None:
    assert remapped(written, LinkRecord("r", accelerators=table)) == expected


@pytest.mark.parametrize(
    "image",
    [
        "python:3.11-slim",
        "a/b",
        "localhost/x",
        "host:5000/a/b:t",
        f"r.io/a__b/c.d@{DIGEST}",
        f"[::1]:5000/x@{DIGEST}",
    ],
)
def test_image_references(image: str) -> None:
    assert IMAGE.fullmatch(image)


@pytest.mark.parametrize(
    "image", ["", "A/b", "a b", "a@sha256:ab", f"a@{DIGEST.upper()}", "a/:t", "/a", "a//b", "a:"]
)
def test_what_is_no_image_reference(image: str) -> None:
    assert not IMAGE.fullmatch(image)


def test_immutable_images() -> None:
    assert is_immutable(BAKED_IMAGE)
    assert is_immutable(f"localhost:5000/x@{DIGEST}")
    assert not is_immutable(f"registry.example/x:1@{DIGEST}")
    assert not is_immutable(f"team/x@{DIGEST}")


@given(
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True).filter(
        lambda text: text not in (".", "..")
    )
)
def test_what_a_run_id_brings_in_is_text(run_id: str) -> None:
    linked = link_program(
        single(argv=("p", concat(["<run.id>", RUN_ID, "{{config.x}}"]))), LinkRecord(run_id)
    )
    assert linked.steps[0].argv[1] == f"<run.id>{run_id}{{{{config.x}}}}"
