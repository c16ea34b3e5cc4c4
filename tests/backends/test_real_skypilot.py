"""The documents, judged by SkyPilot's own code.

Set ``NPAC_SKY_PYTHON`` to a Python that can import ``sky``; nothing of it is needed otherwise.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from npac.backends.skypilot.documents import LaunchValues, link_documents, unlinked
from npac.backends.skypilot.emit import to_yaml
from npac.backends.skypilot.raw import program_from_yaml
from npac.ir.linking import LinkRecord
from npac.ir.program import Program
from tests.ir.programs import everything, single

LINK = LinkRecord("run-1", source_uri="s3://bucket/src", endpoint_url="https://storage.example")
JUDGE = """
import json, sys
import sky
from sky.utils import dag_utils, schemas
schemas._allow_additional_properties = lambda: False
result = []
for text in json.load(sys.stdin):
    from sky.utils import common_utils
    try:
        import yaml
        documents = list(yaml.safe_load_all(text))
        if len(documents) > 1:
            dag = dag_utils.load_job_group_from_yaml_str(text)
            assert dag.is_job_group(), "not a job group"
        else:
            sky.Task.from_yaml_config(dict(documents[0]))
            dag = dag_utils.load_chain_dag_from_yaml_str(text)
        result.append([[t.name, t.num_nodes, t.envs.get("NPA_WORKFLOW_FENCE_SEQUENCE")] for t in dag.tasks])
    except Exception as error:
        result.append(f"{type(error).__name__}: {error}")
print("RESULT" + json.dumps(result))
"""


def _texts(program: Program) -> list[str]:
    return [
        to_yaml(
            link_documents(
                unlinked(program, wave, batch), LINK, LaunchValues(1, 1, "npa-launch-0", wave.number)
            )
        )
        for wave in program.waves()
        for batch in range(len(wave.batches))
    ]


def test_skypilot_accepts_every_document(tmp_path: Path) -> None:
    python = os.environ.get("NPAC_SKY_PYTHON", "")
    if not python:
        pytest.skip("set NPAC_SKY_PYTHON to a Python that has skypilot to run this test")
    raw = "name: old\nresources: {infra: k8s, cpus: 4+}\nenvs: {A: '1'}\nrun: echo $A\n"
    texts = [
        *_texts(everything()),
        *_texts(single()),
        *_texts(single(profile={"cloud": "kubernetes", "accelerators": {"H100": 8}, "memory": 1.5})),
        *_texts(program_from_yaml(raw, "old")),
    ]
    done = subprocess.run(
        [python, "-c", JUDGE],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "HOME": str(tmp_path), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.rpartition("RESULT")[2])
    assert [entry for entry in result if isinstance(entry, str)] == []
    assert result[0] == [["prepare", 1, "1"]]
    assert result[1] == [["shard-0", 1, "2"], ["shard-1", 1, "2"]]
    assert result[4] == [["train", 4, "3"]]
    assert len(result) == len(texts)
