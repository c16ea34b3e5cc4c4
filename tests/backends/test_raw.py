from __future__ import annotations

import pytest

from npac.backends.skypilot.documents import LaunchValues, link_documents, unlinked
from npac.backends.skypilot.raw import is_raw, program_from_yaml
from npac.backends.skypilot.raw_faults import RawError
from npac.ir.canonical import digest
from npac.ir.codec import program_from_json, program_to_json
from npac.ir.linking import LinkRecord, link_program
from npac.ir.verifier import verify

TASK = """\
name: old
resources:
  infra: k8s
  cpus: 4+
  image_id: docker:python:3.11
envs: {A: 1, B: "two"}
secrets: {HF_TOKEN: null}
file_mounts: {/data: s3://bucket/data}
setup: pip list
run: |
  echo ${A} $SKYPILOT_NODE_RANK
"""
PIPELINE = "name: line\n---\nname: a\nrun: echo a\n---\nname: b\nrun: echo b\n---\nname: a\nrun: echo again\n"
GROUP = (
    "name: gang\nexecution: parallel\n---\nname: a\nrun: echo a\n---\nname: b\nrun: echo b\nnum_nodes: 2\n"
)
LAUNCH = LaunchValues(attempt=1, fence=1, launch_id="L", number=1)


def test_a_task_stays_as_its_author_wrote_it() -> None:
    program = program_from_yaml(TASK, "file")
    assert verify(program) == []
    assert program.workflow == "old" and program.steps[0].secrets == ("HF_TOKEN",)
    (document,) = link_documents(unlinked(program, program.waves()[0], 0), LinkRecord("r"), LAUNCH)
    assert document == {
        "name": "old",
        "resources": {"infra": "k8s", "cpus": "4+", "image_id": "docker:python:3.11"},
        "file_mounts": {"/data": "s3://bucket/data"},
        "setup": "pip list",
        "run": "echo ${A} $SKYPILOT_NODE_RANK\n",
        "envs": {
            "A": "1",
            "B": "two",
            "NPA_TASK_IMAGE": "python:3.11",
            "NPA_WORKFLOW_ATTEMPT_ID": "L",
            "NPA_WORKFLOW_FENCE_ATTEMPT": "1",
            "NPA_WORKFLOW_FENCE_SEQUENCE": "1",
            "NPA_WORKFLOW_NAME": "old",
            "NPA_WORKFLOW_RUN_ID": "r",
            "NPA_WORKFLOW_STATE": "old",
        },
    }


def test_a_pipeline_is_a_chain_of_waves() -> None:
    program = program_from_yaml(PIPELINE, "file")
    assert verify(program) == []
    assert program.workflow == "line"
    assert [(wave.id, wave.next) for wave in program.waves()] == [("a", "b"), ("b", "a-2"), ("a-2", "end")]
    assert program.steps[2].raw["run"] == "echo again"


def test_a_job_group_is_one_parallel_wave() -> None:
    program = program_from_yaml(GROUP, "file")
    assert verify(program) == []
    (wave,) = program.waves()
    assert wave.kind == "parallel" and wave.batches == ((0, 1),)
    header, first, second = link_documents(unlinked(program, wave, 0), LinkRecord("r"), LAUNCH)
    assert header == {"name": "gang", "execution": "parallel"}
    assert first["name"] == "a" and second["num_nodes"] == 2


def test_names_are_made_up_where_the_file_has_none() -> None:
    program = program_from_yaml("run: echo\n", "my-file")
    assert program.workflow == "my-file" and program.steps[0].state == "task-1"
    assert [wave.id for wave in program_from_yaml("name: end\nrun: x\n", "f").waves()] == ["end-2"]


def test_a_raw_program_can_be_stored_and_linked() -> None:
    program = program_from_yaml(TASK, "file")
    assert program_from_json(program_to_json(program)) == program
    assert digest(program) != digest(program_from_yaml(TASK.replace("pip list", "pip freeze"), "file"))
    pin = "docker.io/library/python@sha256:" + "0" * 64
    link = LinkRecord("r", pins={"python:3.11": pin})
    link_program(program, link)
    (document,) = link_documents(unlinked(program, program.waves()[0], 0), link, LAUNCH)
    assert document["resources"]["image_id"] == f"docker:{pin}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the file is empty"),
        ("- a\n", "document 1 is list; a SkyPilot task is a mapping"),
        ("run: [\n", "line 2: this is no YAML"),
        ("name: a\n", "document 1 (task 'a') has nothing to run"),
        ("name: ../a\nrun: x\n", "the name '../a' is not allowed"),
        ("run: x\nenvs: {A: null}\n", "A has no value"),
        ("run: x\nenvs: {A: [1]}\n", "the value of A must be text"),
        ("run: x\nenvs: {A-B: 1}\n", "'A-B' is not the name of an environment variable"),
        ("run: x\nenvs: []\n", "envs must be a mapping"),
        ("run: x\nsecrets: {T: hunter2}\n", "use --secret-env T"),
        ("run: x\nsecrets: [T]\n", "secrets must be a mapping"),
        ("run: [x]\n", "run must be text"),
        ("run: x\nnum_nodes: true\n", "num_nodes is True"),
        ("run: x\nconfig: {a: 2026-08-22}\n", "holds a date (2026-08-22); quote it"),
        ("run: x\nconfig: {1: a}\n", "a key that is not text: 1"),
        ("1: x\n", "a key that is not text: 1"),
        ("run: !!python/object:os.system x\n", "no YAML"),
        ("a: &x [1]\nrun: *x\n", "line 2: an alias (*x) is not accepted"),
        ("run: " + "[" * 100 + "]" * 100 + "\n", "nested deeper than 64 levels"),
        ("name: g\nexecution: sideways\n---\nrun: x\n", "execution: 'sideways' does not exist"),
        (GROUP.replace("name: b", "name: a"), "two tasks of the job group are called 'a'"),
        (GROUP.replace("name: gang", "name: end"), "is called 'end'"),
        ("run: \0\n", "no YAML"),
        ("x" * (9 << 20), "larger than 8 MiB"),
    ],
)
def test_what_cannot_be_run_is_refused_in_a_sentence(text: str, expected: str) -> None:
    with pytest.raises(RawError) as caught:
        program_from_yaml(text, "file")
    assert expected in str(caught.value)


def test_a_secrets_value_is_never_printed() -> None:
    with pytest.raises(RawError) as caught:
        program_from_yaml("run: x\nsecrets: {T: hunter2}\n", "file")
    assert "hunter2" not in str(caught.value)


def test_which_files_are_raw() -> None:
    assert is_raw({"name": "a", "run": "x"}) and is_raw({"name": "g", "execution": "parallel"})
    assert not is_raw({"apiVersion": "npa.workflow/v0.0.1", "states": {}}) and not is_raw(["run"])
    assert not is_raw({"name": "only"})
