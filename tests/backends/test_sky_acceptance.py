"""Every document of the corpus and of ``workflows/``, judged by SkyPilot's own loaders and schema.

Set ``NPAC_SKY_PYTHON`` to a Python that has the newest skypilot, and ``NPAC_SKY012_PYTHON`` to one
that has skypilot 0.12.2.post1; ``make sky-accept`` makes both and runs this.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.backends.compiled import Compiled, odd_names, of_corpus, of_workflows
from tests.corpus.place import needs_corpus

VERSIONS = {"newest": ("NPAC_SKY_PYTHON", ""), "0.12": ("NPAC_SKY012_PYTHON", "0.12.2")}
JUDGE = """
import json, sys
import sky
import yaml
from sky.utils import dag_utils, schemas
schemas._allow_additional_properties = lambda: False
result = []
for text in json.load(sys.stdin):
    try:
        documents = list(yaml.safe_load_all(text))
        if documents[0].get("execution") == "parallel":
            dag = dag_utils.load_job_group_from_yaml_str(text)
            assert dag.is_job_group(), "not a job group"
        else:
            for document in documents:
                if set(document) != {"name"}:
                    sky.Task.from_yaml_config(dict(document))
            dag = dag_utils.load_chain_dag_from_yaml_str(text)
        for task in dag.tasks:
            # Task.validate without what asks clouds and catalogs for their answer.
            task.validate_name()
            task.validate_run()
        envs = [task.envs for task in dag.tasks]
        result.append([[task.name, task.num_nodes, env.get("NPA_WORKFLOW_STATE")]
                       for task, env in zip(dag.tasks, envs)])
    except BaseException as error:
        result.append(f"{type(error).__name__}: {error}")
print("RESULT" + json.dumps(result))
"""


def _judge(python: str, texts: list[str], home: Path) -> list[Any]:
    """Give what SkyPilot finds in each text: its tasks, or what it says against it."""
    done = subprocess.run(
        [python, "-c", JUDGE],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=1200,
        env={**os.environ, "HOME": str(home), "SKYPILOT_DISABLE_USAGE_COLLECTION": "1"},
        cwd=home,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    result: list[Any] = json.loads(done.stdout.rpartition("RESULT")[2])
    return result


@pytest.fixture(params=VERSIONS)
def python(request: pytest.FixtureRequest) -> str:
    """A Python that has one of the versions, which is seen to be that one."""
    variable, wanted = VERSIONS[request.param]
    found = os.environ.get(variable, "")
    if not found:
        pytest.skip(f"set {variable} to a Python that has skypilot, or run make sky-accept")
    said = subprocess.run(
        [found, "-c", "from importlib.metadata import version; print(version('skypilot'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.startswith(wanted)
    return found


def _accepted(python: str, compiled: Sequence[Compiled], home: Path) -> None:
    result = _judge(python, [item.text for item in compiled], home)
    refused = [
        f"{item.title}: {said}" for item, said in zip(compiled, result, strict=True) if isinstance(said, str)
    ]
    assert refused == []
    for item, tasks in zip(compiled, result, strict=True):
        assert [(state, nodes) for _, nodes, state in tasks] == item.tasks, item.title


@needs_corpus
def test_every_document_of_the_corpus_is_accepted(python: str, tmp_path: Path) -> None:
    _accepted(python, of_corpus(), tmp_path)


def test_every_document_of_the_workflows_is_accepted(python: str, tmp_path: Path) -> None:
    compiled = of_workflows()
    assert compiled
    _accepted(python, compiled, tmp_path)


def test_every_name_of_the_language_is_accepted(python: str, tmp_path: Path) -> None:
    _accepted(python, odd_names(), tmp_path)


def test_the_judge_refuses_what_is_wrong(python: str, tmp_path: Path) -> None:
    wrong = [
        "name: a---b\nrun: 'true'\n",
        "name: a\nrun: 'true'\nnum_node: 2\n",
        "name: a\nrun: 'true'\nresources: {memory: 64Gi of it}\n",
        "name: g.h\nexecution: parallel\n---\nname: a\nrun: 'true'\n---\nname: b\nrun: 'true'\n",
        "name: g\nexecution: parallel\n---\nname: a.b\nrun: 'true'\n---\nname: b\nrun: 'true'\n",
    ]
    result = _judge(python, wrong, tmp_path)
    assert [isinstance(said, str) for said in result] == [True] * len(wrong), result
