"""The pipeline of baked images compiles when its operator inputs are given, and is refused without."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from npac import api
from tests.golden.cases import CASES, ZEROS
from tests.workflows.conftest import WORKFLOWS

(CASE,) = [case for case in CASES if case.folder == "baked-kubernetes"]
SPEC = WORKFLOWS / CASE.spec


def test_it_is_refused_without_its_operator_inputs_and_names_each() -> None:
    with pytest.raises(api.SpecError) as refusal:
        api.compile(SPEC)
    errors = [item for item in refusal.value.checked.findings if item.severity is api.Severity.ERROR]
    assert {item.code.name for item in errors} == {"operator-input-empty"}
    advice = " ".join(item.help for item in errors)
    for key in ("source_sha", "stage_image", "trainer_image"):
        assert f"--var {key}=" in advice


def test_a_mutable_image_is_refused() -> None:
    values = {**CASE.vars, "trainer_image": "registry.example.com/acme/trainer:latest"}
    with pytest.raises(api.SpecError) as refusal:
        api.compile(SPEC, api.Options(vars=values))
    names = {item.code.name for item in refusal.value.checked.findings}
    assert "image-not-immutable" in names


def test_the_documents_ask_for_the_images_nodes_and_gpus_that_the_spec_says(tmp_path: Path) -> None:
    CASE.build(tmp_path)
    documents = {
        document["name"]: document
        for path in (tmp_path / "waves").iterdir()
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    }
    train, evaluate = documents["train-policy"], documents["evaluate-policy"]
    assert train["resources"]["accelerators"] == "H100:1"
    assert train["resources"]["image_id"] == f"docker:registry.example.com/acme/trainer@{ZEROS}"
    assert "npa.workbench.lerobot.policy_container train" in train["run"]
    assert evaluate["num_nodes"] == 2
    assert evaluate["resources"]["image_id"] == f"docker:registry.example.com/acme/stages@{ZEROS}"
    for document in documents.values():
        assert document["envs"]["NPA_SIM2REAL_SOURCE_SHA"] == CASE.vars["source_sha"]
        assert "acme.stages" in document["setup"]
        assert "pip install" not in document["setup"]
        pulls = document["config"]["kubernetes"]["pod_config"]["spec"]["imagePullSecrets"]
        assert pulls == [{"name": "acme-registry"}]


def test_its_secrets_are_listed_by_name() -> None:
    program = api.compile(SPEC, api.Options(vars=CASE.vars)).program
    assert {name for step in program.steps for name in step.secrets} == {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "HF_TOKEN",
    }
