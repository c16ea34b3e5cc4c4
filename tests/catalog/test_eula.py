"""Licence terms reach exactly the steps that run under them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from npac.catalog import load_catalog, pod_env_names, repository_name, terms_env

CORPUS = Path(os.environ.get("NPAC_CORPUS", Path(__file__).resolve().parents[2].parent / "shared" / "corpus"))
ACCEPTED = {"ACCEPT_EULA": "Y"}


def _tasks(node: Any) -> Iterator[dict[str, Any]]:
    """Every rendered task in a corpus file, wherever it is nested."""
    if isinstance(node, dict) and isinstance(node.get("envs"), dict):
        yield node
    elif isinstance(node, dict):
        for value in node.values():
            yield from _tasks(value)
    elif isinstance(node, list):
        for value in node:
            yield from _tasks(value)


def test_the_corpus_tasks_get_the_terms_that_their_reference_has() -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"the corpus is not at {CORPUS}; set NPAC_CORPUS to its folder")
    catalog = load_catalog()
    seen: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
    for path in sorted((CORPUS / "tasks").glob("*.json")):
        states = yaml.safe_load((CORPUS / "specs" / f"{path.stem}.yaml").read_text())["states"]
        for task in _tasks(json.loads(path.read_text())):
            state = task["envs"]["NPA_WORKFLOW_STATE"]
            tool_ref = states[state].get("toolRef")
            tool = catalog.get(tool_ref) if tool_ref else None
            assert tool is not None or not tool_ref
            kubernetes = task.get("config", {}).get("kubernetes", {})
            env = terms_env(
                catalog,
                tool,
                task["envs"].get("NPA_TASK_IMAGE", ""),
                pod_env_names(kubernetes.get("pod_config")),
            )
            accepted = "ACCEPT_EULA" in task["envs"]
            seen[accepted].add((path.stem, state))
            assert env == (ACCEPTED if accepted else {}), (path.stem, state)
    assert len(seen[True]) == 19
    assert {state for spec, state in seen[True] if spec == "sim2real"} == {
        "stage-07-rollouts",
        "stage-09-ppo",
        "stage-10-gold",
    }
    assert len(seen[False]) > 100


def test_a_tool_keeps_its_terms_in_another_image() -> None:
    catalog = load_catalog()
    assert terms_env(catalog, catalog.get("workbench.rl.publish_policy"), "python:3.11-slim") == ACCEPTED
    assert terms_env(catalog, catalog.get("workbench.scenario_gen.rank"), "python:3.11-slim") == {}


@pytest.mark.parametrize(
    ("image", "accepted"),
    [
        ("ghcr.io/nebius/nebius-physical-ai/npa-isaac-lab:2.3.2.post1", True),
        ("docker:localhost:5000/mirror/npa-sonic@sha256:" + "0" * 64, True),
        ("nvcr.io/nvidia/isaac-sim:5.0.0", True),
        ("isaac-lab", True),
        ("example.com/isaac-lab/viewer:1", False),
        ("example.com/not-isaac-lab:1", False),
        ("", False),
    ],
)
def test_a_raw_step_gets_the_terms_of_its_image(image: str, accepted: bool) -> None:
    assert terms_env(load_catalog(), None, image) == (ACCEPTED if accepted else {})


def test_the_pod_says_what_an_image_of_any_name_holds() -> None:
    catalog = load_catalog()
    assert terms_env(catalog, None, "example.com/a:1", ["PATH", "NPA_ISAAC_CACHE_DIR"]) == ACCEPTED
    assert terms_env(catalog, None, "example.com/a:1", ["NPA_SIM2REAL_ISAAC_CACHE_PVC"]) == {}


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("npa", "npa"),
        ("npa:1", "npa"),
        ("docker:npa:1", "npa"),
        ("host:5000/team/npa", "npa"),
        ("docker:host:5000/team/npa:1@sha256:ab", "npa"),
        ("", ""),
    ],
)
def test_repository_name(image: str, name: str) -> None:
    assert repository_name(image) == name


def test_pod_env_names_reads_containers_and_passes_over_what_is_no_pod() -> None:
    pod = {
        "spec": {
            "containers": [
                {"env": [{"name": "A", "value": "1"}, {"value": "2"}, "x"]},
                {},
                {"env": [{"name": "B"}]},
            ]
        }
    }
    assert pod_env_names(pod) == ["A", "B"]
    wrong: list[Any] = [
        None,
        {},
        {"spec": []},
        {"spec": {"containers": {"env": 1}}},
        {"spec": {"containers": [3, {"env": 4}]}},
    ]
    assert [pod_env_names(pod) for pod in wrong] == [[]] * 5
