from __future__ import annotations

from typing import Any

from tests.workflows.conftest import Runner

SPEC = "main/gridworld-policy.yaml"


def test_it_trains_until_the_policy_is_good_in_both_worlds_and_publishes_it(runner: Runner) -> None:
    done = runner.run(SPEC)
    assert done.result.state == "succeeded", done.result
    decisions = done.decisions("improve")
    rounds = len(decisions)
    assert rounds > 1, "the first round was good enough already, so the loop shows nothing"
    assert decisions == ["loop_back"] * (rounds - 1) + ["promote_checkpoint"]
    worse = [
        min(done.read(f"{n}/calm.json")["success"], done.read(f"{n}/slippery.json")["success"])
        for n in range(1, rounds + 1)
    ]
    assert [rate >= 0.9 for rate in worse] == [word == "promote_checkpoint" for word in decisions]
    assert done.states()[-1] == "publish-policy"
    assert done.read("published-policy.json") == done.read(f"{rounds}/policy.json")
    assert reaches_the_goal(done.read("world.json"), done.read("published-policy.json"))


def reaches_the_goal(world: dict[str, Any], table: dict[str, list[float]]) -> bool:
    """Follow a policy in a world without slipping."""
    closed = {tuple(cell) for cell in world["walls"]}
    holes = {tuple(cell) for cell in world["holes"]}
    goal = (world["size"] - 1, world["size"] - 1)
    cell, steps = (0, 0), 0
    while cell != goal and steps < 60:
        values = table[f"{cell[0]},{cell[1]}"]
        dx, dy = ((1, 0), (-1, 0), (0, 1), (0, -1))[values.index(max(values))]
        to = (cell[0] + dx, cell[1] + dy)
        if to not in closed and min(to) >= 0 and max(to) <= goal[0]:
            cell = to
        if cell in holes:
            return False
        steps += 1
    return cell == goal


def test_rounds_that_do_not_suffice_end_with_a_candidate(runner: Runner) -> None:
    done = runner.run(SPEC, {"max_rounds": "1"})
    assert done.result.state == "succeeded", done.result
    assert done.decisions("improve") == ["loop_back"]
    assert done.states()[-1] == "keep-candidate"
    assert not (done.folder / "published-policy.json").exists()


def test_publishing_can_be_switched_off(runner: Runner) -> None:
    done = runner.run(SPEC, {"publish": "false"})
    assert done.result.state == "succeeded", done.result
    assert done.decisions("improve")[-1] == "promote_checkpoint"
    assert done.states()[-1] == "keep-candidate"
