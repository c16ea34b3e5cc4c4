"""Resources, node counts and variables, compared with the reference tasks of the corpus."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from npac.backends.skypilot.documents import LaunchValues, link_documents, unlinked
from npac.ir.linking import LinkRecord
from npac.ir.program import Baked
from tests.ir.programs import SOURCE_SHA, single

CORPUS = Path(
    os.environ.get("NPAC_CORPUS") or Path(__file__).resolve().parents[2] / ".." / "shared" / "corpus"
)
# What a catalog entry or a vendor's own switch adds; nothing of a profile.
FROM_ELSEWHERE = {"ACCEPT_EULA", "NPA_COSMOS_NODE_COUNT"}


def _specs() -> list[str]:
    return sorted(path.stem for path in CORPUS.glob("tasks/*.json"))


def _tasks(name: str) -> dict[str, dict[str, Any]]:
    data = json.loads((CORPUS / "tasks" / f"{name}.json").read_text(encoding="utf-8"))
    walks = [walk for key, walk in data.items() if key != "given" and isinstance(walk, dict)]
    return {task["name"]: task for walk in walks for task in walk["tasks"]}


def test_the_corpus_is_there() -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no corpus at {CORPUS}; set NPAC_CORPUS to run this test")
    assert len(_specs()) >= 38


@pytest.mark.parametrize("name", _specs())
def test_profiles_become_the_reference_resources(name: str) -> None:
    spec = yaml.safe_load((CORPUS / "specs" / f"{name}.yaml").read_text(encoding="utf-8"))
    compared = 0
    for state, task in _tasks(name).items():
        profile = (spec.get("resources") or {}).get(spec["states"][state].get("resources", "default"), {})
        plain = {
            key: value
            for key, value in profile.items()
            if key not in ("image", "kubernetes", "num_nodes") and "{{" not in str(value)
        }
        image = task["resources"].get("image_id", "").removeprefix("docker:")
        baked = "NPA_SIM2REAL_SOURCE_SHA" in task["envs"]
        program = single(
            state=state,
            profile=plain,
            image=image,
            num_nodes=task.get("num_nodes", 1),
            baked=Baked(SOURCE_SHA, "npa.cli.main") if baked else None,
        )
        link = LinkRecord(
            "demo",
            source_uri="s3://example-bucket/npa-src/npa",
            endpoint_url="https://storage.eu-north1.nebius.cloud",
        )
        (document,) = link_documents(
            unlinked(program, program.waves()[0], 0), link, LaunchValues(1, 1, "npa-launch-0", 1)
        )
        open_keys = {key for key, value in profile.items() if "{{" in str(value)}
        expected = {key: value for key, value in task["resources"].items() if key not in open_keys}
        assert document["resources"] == expected, state
        assert document.get("num_nodes") == task.get("num_nodes"), state
        assert set(document["envs"]) == set(task["envs"]) - FROM_ELSEWHERE, state
        own = {"NPA_WORKFLOW_NAME", "NPA_WORKFLOW_ATTEMPT_ID"}
        for key in set(document["envs"]) - own:
            assert document["envs"][key] == task["envs"][key], (state, key)
        compared += 1
    assert compared
