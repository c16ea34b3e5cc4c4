"""The compiled SkyPilot tasks of every corpus spec have the shape of the reference tasks.

Left out of the comparison: what belongs to one launch (attempt, fence, endpoint), the pull secret and
the variable that the reference adds for services of its own, and the cache folders that npac adds
to baked Kubernetes tasks.
"""

from __future__ import annotations

from typing import Any

import pytest

from npac.api import Compiled, compile
from npac.backends.skypilot.documents import LaunchValues, link_documents, unlinked
from npac.ir.linking import LinkRecord, link_program
from npac.ir.program import Wave
from npac.ir.walk import assume, walk
from tests.corpus.place import ASSUMPTIONS, RUN_ID, each_spec, expected, given, spec_path, under

SOURCE_URI = "s3://example-bucket/npa-src/npa"
ENDPOINT = "https://storage.eu-north1.nebius.cloud"
OF_THE_LAUNCH = {
    "AWS_ENDPOINT_URL",
    "NPA_WORKFLOW_ATTEMPT_ID",
    "NPA_WORKFLOW_FENCE_ATTEMPT",
    "NPA_WORKFLOW_FENCE_SEQUENCE",
}
REFERENCE_ONLY_ENV = {"NPA_COSMOS_NODE_COUNT"}
REFERENCE_PULL_SECRET = {"name": "npa-nebius-registry"}
CACHE_NAMES = {"XDG_CACHE_HOME", "UV_CACHE_DIR"}


def _tasks(compiled: Compiled, assumption: str) -> list[dict[str, Any]]:
    """Give the linked tasks on the path of an assumption, in the order of their launch."""
    record = LinkRecord(
        RUN_ID, source_uri=SOURCE_URI, endpoint_url=ENDPOINT, pins=dict(compiled.options.pins or {})
    )
    link_program(compiled.program, record)
    program = compiled.program
    answer = program.default_assumption if assumption == "default" else assumption
    tasks: list[dict[str, Any]] = []
    for node in walk(program, assume(answer)):
        if not isinstance(node, Wave):
            continue
        for batch in range(len(node.batches)):
            launch = LaunchValues(attempt=1, fence=1, launch_id=f"{node.number}-{batch}", number=node.number)
            documents = link_documents(unlinked(program, node, batch), record, launch)
            if len(documents) > 1:
                assert documents[0] == {"name": node.group, "execution": "parallel"}
                del documents[0]
            tasks += documents
    return tasks


def _without_empty(tree: Any) -> Any:
    if isinstance(tree, dict):
        kept = {key: _without_empty(value) for key, value in tree.items()}
        return {key: value for key, value in kept.items() if value not in ({}, [])}
    if isinstance(tree, list):
        return [_without_empty(value) for value in tree]
    return tree


def _reference_config(task: dict[str, Any]) -> Any:
    """Take the reference's own pull secret out of a task's config."""
    config = task.get("config", {})
    spec = config.get("kubernetes", {}).get("pod_config", {}).get("spec", {})
    if "imagePullSecrets" in spec:
        spec["imagePullSecrets"] = [
            item for item in spec["imagePullSecrets"] if item != REFERENCE_PULL_SECRET
        ]
    return _without_empty(config)


def _config(task: dict[str, Any]) -> Any:
    """Take the cache folders out of the config of a baked task; others must not have them."""
    config = task.get("config", {})
    baked = "NPA_SIM2REAL_SOURCE_SHA" in task["envs"]
    pod = config.get("kubernetes", {}).get("pod_config", {}).get("spec", {})
    containers = []
    for container in pod.get("containers", []):
        added = [item for item in container.get("env", []) if item["name"] in CACHE_NAMES]
        if added and baked:
            assert container["name"] == "ray-node"
            assert all(item["value"].startswith("/tmp/") for item in added)
            container = {**container, "env": [item for item in container["env"] if item not in added]}
            container = _without_empty(container)
        if container != {"name": "ray-node"}:
            containers.append(container)
    if "containers" in pod:
        pod["containers"] = containers
    return _without_empty(config)


@each_spec
def test_tasks_have_the_shape_of_the_reference(name: str) -> None:
    compiled = compile(spec_path(name), given(name))
    for assumption in ASSUMPTIONS:
        reference = under(expected("tasks", name), assumption)["tasks"]
        tasks = _tasks(compiled, assumption)
        assert [task["name"] for task in tasks] == [task["name"] for task in reference], assumption
        for ours, theirs in zip(tasks, reference, strict=True):
            where = (assumption, ours["name"])
            assert ours.get("num_nodes") == theirs.get("num_nodes"), where
            assert ours["resources"] == theirs["resources"], where
            wanted = {key: theirs["envs"][key] for key in theirs["envs"] if key not in REFERENCE_ONLY_ENV}
            assert set(ours["envs"]) == set(wanted), where
            for key in set(wanted) - OF_THE_LAUNCH:
                assert ours["envs"][key] == wanted[key], (*where, key)
            assert ours["envs"]["AWS_ENDPOINT_URL"] == ENDPOINT, where
            assert _config(ours) == _reference_config(theirs), where
            assert ours["setup"] and ours["run"], where


@each_spec
@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_launch_values_are_those_of_the_wave(name: str, assumption: str) -> None:
    compiled = compile(spec_path(name), given(name))
    numbers = [int(task["envs"]["NPA_WORKFLOW_FENCE_SEQUENCE"]) for task in _tasks(compiled, assumption)]
    assert numbers == sorted(numbers)
    assert numbers[0] == 1
