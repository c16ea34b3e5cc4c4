from __future__ import annotations

import json
from typing import Any

import pytest

from npac.backends.errors import BackendError
from npac.backends.skypilot.documents import (
    LaunchValues,
    ScriptRequest,
    documents_from_json,
    documents_to_json,
    link_documents,
    secret_names,
    show_documents,
    unlinked,
    waits_for,
)
from npac.ir.canonical import canonical_bytes, digest_data
from npac.ir.errors import LinkError
from npac.ir.linking import LinkRecord, link_program
from npac.ir.program import Program, Step, Wave
from npac.ir.values import RUN_ID, Hole, concat
from tests.ir.programs import BAKED_IMAGE, SOURCE_SHA, everything, single

LINK = LinkRecord(
    "run-1", source_uri="s3://bucket/npa-src/abc", endpoint_url="https://storage.example", context="ctx"
)
LAUNCH = LaunchValues(attempt=2, fence=9, launch_id="npa-launch-ff", number=3)


def _trees(program: Program, place: int, batch: int = 0) -> list[dict[str, Any]]:
    return unlinked(program, program.waves()[place], batch)


def _documents(
    program: Program, place: int = 0, batch: int = 0, link: LinkRecord = LINK
) -> list[dict[str, Any]]:
    return link_documents(_trees(program, place, batch), link, LAUNCH)


def _only(**changes: Any) -> dict[str, Any]:
    (document,) = _documents(single(**changes))
    return document


def test_a_serial_wave_is_one_task() -> None:
    (document,) = _documents(everything())
    run = document.pop("run")
    setup = document.pop("setup")
    assert document == {
        "name": "prepare",
        "resources": {"cloud": "kubernetes", "cpus": "2+", "memory": "4+", "ephemeral_storage": 512},
        "envs": {
            "AWS_ENDPOINT_URL": "https://storage.example",
            "NPA_SRC_S3_URI": "s3://bucket/npa-src/abc",
            "NPA_WORKFLOW_ATTEMPT_ID": "npa-launch-ff",
            "NPA_WORKFLOW_FENCE_ATTEMPT": "2",
            "NPA_WORKFLOW_FENCE_SEQUENCE": "3",
            "NPA_WORKFLOW_NAME": "everything",
            "NPA_WORKFLOW_RUN_ID": "run-1",
            "NPA_WORKFLOW_STATE": "prepare",
        },
    }
    assert run.endswith("exec -- python3 prepare.py --out s3://bucket/run-1/data xcnVuLTE=\n")
    assert "NPA_SRC_S3_URI" in setup


def test_a_batch_of_several_is_a_job_group() -> None:
    header, first, second = _documents(everything(), 1, 0)
    assert header == {"name": "fan", "execution": "parallel"}
    assert [first["name"], second["name"]] == ["shard-0", "shard-1"]
    assert first["resources"] == {
        "cloud": "kubernetes",
        "accelerators": "H100:2",
        "cpus": "16+",
        "memory": "64+",
        "image_id": "docker:registry.example/team/sim:1",
    }
    assert first["envs"]["ACCEPT_EULA"] == "Y"
    assert first["envs"]["OUT"] == "s3://bucket/run-1/shards"
    assert first["envs"]["NPA_TASK_IMAGE"] == "registry.example/team/sim:1"
    assert first["config"]["kubernetes"]["provision_timeout"] == 2400
    pod = first["config"]["kubernetes"]["pod_config"]
    assert pod["metadata"]["labels"] == {"team/run": "r-run-1"}
    assert pod["spec"]["hole"] == "run.id" and repr(pod["spec"]["weight"]) == "1.0"
    assert first["run"].endswith("exec bash -c 'echo run-1 0 > out'\n")


def test_a_batch_of_one_is_a_plain_task() -> None:
    (document,) = _documents(everything(), 1, 2)
    assert document["name"] == "shard-4"


def test_secret_names_stand_beside_the_documents_and_not_in_them() -> None:
    trees = _trees(everything(), 1, 0)
    assert trees[1]["secret_names"] == ["HF_TOKEN"]
    assert secret_names(trees) == ("HF_TOKEN",)
    assert all("secret_names" not in document for document in link_documents(trees, LINK, LAUNCH))


def test_several_nodes_stand_at_the_task() -> None:
    (document,) = _documents(everything(), 2)
    assert document["num_nodes"] == 4
    assert document["resources"] == {
        "cloud": "aws",
        "region": "eu-north-1",
        "cpus": "8.5",
        "memory": "32",
        "image_id": "docker:registry.example/team/train:2",
    }
    assert "num_nodes" not in _only()


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ({"cpus": 16, "memory": "64Gi", "disk_size": 512}, {"cpus": "16", "memory": "64"}),
        (
            {"cloud": "kubernetes", "cpus": 16, "memory": "64Gi", "disk_size": "512"},
            {"cloud": "kubernetes", "cpus": "16+", "memory": "64+", "ephemeral_storage": 512},
        ),
        ({"cloud": "kubernetes", "cpus": "2+"}, {"cloud": "kubernetes", "cpus": "2+"}),
        ({"cloud": "kubernetes", "memory": "8G+"}, {"cloud": "kubernetes", "memory": "8+"}),
        ({"cloud": "kubernetes", "memory": 1.5}, {"cloud": "kubernetes", "memory": "1.5+"}),
        (
            {"cloud": "nebius", "memory": "1.5Gi+", "use_spot": False},
            {"cloud": "nebius", "memory": "1.5+", "use_spot": False},
        ),
        ({"accelerators": {"H100": 8}}, {"accelerators": {"H100": 8}}),
        ({"deployIfAbsent": True, "num_nodes": 1}, None),
        ({}, None),
    ],
)
def test_resources_are_normalised(profile: dict[str, Any], expected: dict[str, Any] | None) -> None:
    assert _only(profile=profile).get("resources") == expected


@pytest.mark.parametrize("profile", [{"cpus": "2Gi"}, {"memory": "lots"}, {"cpus": True}, {"memory": [1]}])
def test_what_is_no_quantity_is_refused(profile: dict[str, Any]) -> None:
    with pytest.raises(BackendError, match="which is no quantity"):
        _only(profile=profile)
    with pytest.raises(BackendError, match="disk_size"):
        _only(profile={"cloud": "kubernetes", "disk_size": "many"})


def test_a_baked_task_takes_no_source() -> None:
    (document,) = _documents(everything(), 3)
    assert "NPA_SRC_S3_URI" not in document["envs"]
    assert document["envs"]["NPA_SIM2REAL_SOURCE_SHA"] == SOURCE_SHA
    assert document["envs"]["NPA_TASK_IMAGE"] == BAKED_IMAGE
    assert "install" not in document["setup"] and "npa.judge" in document["setup"]
    assert document["config"]["kubernetes"]["pod_config"]["spec"]["containers"] == [
        {
            "name": "ray-node",
            "env": [
                {"name": "XDG_CACHE_HOME", "value": "/tmp/npa-skypilot-xdg-cache"},
                {"name": "UV_CACHE_DIR", "value": "/tmp/npa-skypilot-uv-cache"},
            ],
        }
    ]


def test_what_the_spec_sets_for_the_pod_stays() -> None:
    from npac.ir.program import Baked

    profile: dict[str, Any] = {
        "cloud": "kubernetes",
        "kubernetes": {
            "pod_config": {
                "spec": {
                    "containers": [
                        {"name": "sidecar"},
                        {
                            "name": "ray-node",
                            "env": [{"name": "UV_CACHE_DIR", "value": "/mine"}],
                            "volumeMounts": [],
                        },
                    ]
                }
            }
        },
    }
    before = json.dumps(profile)
    program = single(profile=profile, image=BAKED_IMAGE, baked=Baked(SOURCE_SHA, "npa"))
    (document,) = _documents(program)
    sidecar, main = document["config"]["kubernetes"]["pod_config"]["spec"]["containers"]
    assert sidecar == {"name": "sidecar"}
    assert main["env"] == [
        {"name": "UV_CACHE_DIR", "value": "/mine"},
        {"name": "XDG_CACHE_HOME", "value": "/tmp/npa-skypilot-xdg-cache"},
    ]
    assert json.dumps(profile) == before
    (elsewhere,) = _documents(single(image=BAKED_IMAGE, baked=Baked(SOURCE_SHA, "npa")))
    assert "config" not in elsewhere


def test_without_source_and_tools_there_is_no_setup() -> None:
    bare = LinkRecord("run-1")
    (document,) = _documents(single(), link=bare)
    assert list(document) == ["name", "envs", "run"]
    assert "AWS_ENDPOINT_URL" not in document["envs"] and "NPA_SRC_S3_URI" not in document["envs"]
    (tool,) = _documents(everything(), 2, link=bare)
    assert "setup" in tool


def test_equal_iterations_share_their_documents() -> None:
    program = everything()
    first, second = (documents_to_json(_trees(program, place)) for place in (2, 4))
    assert program.waves()[2].number != program.waves()[4].number
    assert digest_data(first) == digest_data(second)


def test_trees_read_back_from_their_json() -> None:
    program = everything()
    for wave in program.waves():
        for batch in range(len(wave.batches)):
            trees = unlinked(program, wave, batch)
            data = json.loads(canonical_bytes(documents_to_json(trees)))
            back = documents_from_json(data)
            assert back == trees
            assert link_documents(back, LINK, LAUNCH) == link_documents(trees, LINK, LAUNCH)
    with pytest.raises(ValueError, match="no documents"):
        documents_from_json({"schema": "other"})


def test_a_users_mapping_cannot_pass_for_a_script() -> None:
    forged = {"script": "run", "args": {"argv": ["evil"], "shell": ""}}
    program = single(profile={"kubernetes": {"pod_config": forged}})
    trees = documents_from_json(json.loads(canonical_bytes(documents_to_json(_trees(program, 0)))))
    assert trees[0]["config"]["kubernetes"]["pod_config"] == forged
    assert not isinstance(trees[0]["config"]["kubernetes"]["pod_config"], ScriptRequest)


def test_linking_the_program_first_gives_the_same_documents() -> None:
    program = everything()
    linked = link_program(program, LINK)
    for place, wave in enumerate(program.waves()):
        assert isinstance(wave, Wave)
        assert _documents(program, place) == _documents(linked, place)


def test_documents_wait_for_late_values_only() -> None:
    waits = waits_for(_trees(everything(), 1))
    assert waits == ("endpoint", "launch.attempt", "launch.id", "run.id", "source.uri", "wave.number")


def test_only_the_run_id_enters_a_script() -> None:
    for late in ("launch.id", "source.uri", "wave.number"):
        with pytest.raises(LinkError, match=f"a script may not hold <{late}>"):
            _only(argv=("echo", concat(["x", Hole(late)])))
    assert "run-1" in _only(argv=("echo", RUN_ID))["run"]


def test_pins_and_remaps_are_applied() -> None:
    pin = f"registry.example/team/sim@{BAKED_IMAGE.partition('@')[2]}"
    link = LinkRecord("r", pins={"registry.example/team/sim:1": pin}, accelerators={"H100": "B200"})
    _, first, _ = _documents(everything(), 1, link=link)
    assert first["resources"]["image_id"] == f"docker:{pin}"
    assert first["envs"]["NPA_TASK_IMAGE"] == pin
    assert first["resources"]["accelerators"] == "B200:2"
    profile = {
        "accelerators": {"H100": 8},
        "kubernetes": {
            "pod_config": {"spec": {"initContainers": [{"image": "registry.example/team/sim:1"}]}}
        },
    }
    (document,) = _documents(single(profile=profile), link=link)
    assert document["resources"]["accelerators"] == {"B200": 8}
    assert document["config"]["kubernetes"]["pod_config"]["spec"]["initContainers"] == [{"image": pin}]


def test_two_accelerators_that_would_become_one_are_refused() -> None:
    link = LinkRecord("r", accelerators={"A100": "B200", "H100": "B200"})
    with pytest.raises(LinkError, match="both become B200"):
        _documents(single(profile={"accelerators": {"A100": 1, "H100": 1}}), link=link)


def test_attempt_and_number_count_from_one() -> None:
    for launch in (LaunchValues(0, 1, "x", 1), LaunchValues(1, 1, "x", 0)):
        with pytest.raises(LinkError, match="count from 1"):
            link_documents(_trees(single(), 0), LINK, launch)


def test_a_name_of_the_launch_layer_cannot_be_overridden() -> None:
    document = _only(env={"NPA_WORKFLOW_ATTEMPT_ID": "mine", "MINE": "x"})
    assert document["envs"]["NPA_WORKFLOW_ATTEMPT_ID"] == "npa-launch-ff"
    assert document["envs"]["MINE"] == "x"


def test_key_order_of_a_profile_does_not_show() -> None:
    one = single(profile={"kubernetes": {"pod_config": {"a": 1, "b": {"c": 1, "d": 2}}}})
    two = single(profile={"kubernetes": {"pod_config": {"b": {"d": 2, "c": 1}, "a": 1}}})
    assert json.dumps(_documents(one)) == json.dumps(_documents(two))


def test_open_values_are_shown_by_name() -> None:
    (document,) = show_documents(_trees(everything(), 0))
    assert document["envs"]["NPA_WORKFLOW_FENCE_SEQUENCE"] == "<wave.number>"
    assert document["envs"]["NPA_SRC_S3_URI"] == "<source.uri>"
    assert "'s3://bucket/<run.id>/data'" in document["run"]


def test_a_nul_character_never_reaches_an_engine() -> None:
    with pytest.raises(LinkError, match="NUL"):
        _only(env={"A": "x\0y"})
    with pytest.raises(LinkError, match="NUL"):
        _only(argv=("x\0y",))


def test_steps_are_not_mixed_up_between_batches() -> None:
    program = everything()
    names = [
        [document["name"] for document in _documents(program, 1, batch) if "execution" not in document]
        for batch in range(3)
    ]
    assert names == [["shard-0", "shard-1"], ["shard-2", "shard-3"], ["shard-4"]]


def test_a_step_without_anything_still_makes_a_task() -> None:
    assert isinstance(everything().steps[0], Step)
    assert _only(shell="", argv=("true",))["run"].endswith("exec -- true\n")
