from __future__ import annotations

import json

import pytest

from tests.workflows.conftest import Runner


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_every_rank_writes_its_share_and_the_result_is_the_same(runner: Runner, nodes: int) -> None:
    done = runner.run("testing/two-node-shards.yaml", {"nodes": str(nodes), "episodes": "101"})
    assert done.result.state == "succeeded", done.result

    shards = sorted((done.folder / "shards").iterdir())
    assert [path.name for path in shards] == [f"rank-{rank}.json" for rank in range(nodes)]
    outcomes: dict[int, bool] = {}
    for rank, path in enumerate(shards):
        shard = json.loads(path.read_text())
        assert (shard["rank"], shard["nodes"]) == (rank, nodes)
        assert sorted(map(int, shard["outcomes"])) == list(range(rank, 101, nodes))
        outcomes |= {int(episode): arrived for episode, arrived in shard["outcomes"].items()}

    arrival = done.read("arrival.json")
    assert arrival["ranks"] == list(range(nodes))
    assert arrival["rate"] == sum(outcomes.values()) / 101 == 78 / 101
    assert arrival["low"] < arrival["rate"] < arrival["high"]
