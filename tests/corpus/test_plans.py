"""The plan of every corpus spec under every assumption equals the reference plan, key by key."""

from __future__ import annotations

import pytest

from npac.api import plan
from tests.corpus.place import ASSUMPTIONS, RUN_ID, each_spec, expected, names, needs_corpus, spec_path, under

OUR_OWN = {"loops", "node"}
"""Keys of a step that npac adds."""


@needs_corpus
def test_the_corpus_is_whole() -> None:
    assert len(names()) == 38


@each_spec
@pytest.mark.parametrize("assumption", ASSUMPTIONS)
def test_plan_equals_the_reference(name: str, assumption: str) -> None:
    wanted = under(expected("plans", name), assumption)
    got = plan(spec_path(name), run_id=RUN_ID, assume=assumption)

    assert set(got) == {"workflow", "run_id", "assume", "digest", "steps", "waves"}
    assert got["run_id"] == RUN_ID
    assert len(got["steps"]) == len(wanted["steps"])
    for number, (step, reference) in enumerate(zip(got["steps"], wanted["steps"], strict=True), 1):
        assert set(step) == set(reference) | OUR_OWN, number
        for key, value in reference.items():
            assert step[key] == value, (number, step["state"], key)
    assert got["waves"] == wanted["waves"]


@each_spec
def test_whole_program_has_what_the_walks_have(name: str) -> None:
    whole = plan(spec_path(name), run_id=RUN_ID)
    ids = [node["id"] for node in whole["nodes"]]
    assert len(ids) == len(set(ids))
    place = {node: at for at, node in enumerate(ids)}
    assert all(place[edge["from"]] < place[edge["to"]] for edge in whole["edges"])
    for assumption in ASSUMPTIONS:
        walked = plan(spec_path(name), run_id=RUN_ID, assume=assumption)
        nodes = list(dict.fromkeys(step["node"] for step in walked["steps"]))
        assert set(nodes) <= set(ids)
        assert sorted(nodes, key=place.__getitem__) == nodes
        assert walked["digest"] == whole["digest"]
