from __future__ import annotations

from tests.workflows.conftest import Runner


def test_a_good_model_is_published(runner: Runner) -> None:
    done = runner.run("quickstart.yaml")
    assert done.result.state == "succeeded", done.result
    assert done.states() == ["simulate-throws", "fit-range-model", "evaluate-model", "publish-model"]
    assert done.decisions("evaluate-model") == ["promote_checkpoint"]
    metrics = done.read("metrics.json")
    assert metrics["held_out"] == 100
    assert 0 < metrics["rmse_m"] <= metrics["limit_m"] == 0.1
    assert done.read("published-model.json") == done.read("model.json")
    assert not (done.folder / "shortfall.json").exists()


def test_the_error_is_really_that_of_the_model_on_unseen_throws(runner: Runner) -> None:
    done = runner.run("quickstart.yaml", {"throws": "80"})
    model, rows = done.read("model.json"), done.read("throws.json")
    assert (len(rows), model["trained_on"]) == (80, 60)
    squares = []
    for row in rows[60:]:
        terms = zip(model["weights"], model["powers"], strict=True)
        guess = sum(w * row["speed"] ** i * row["angle"] ** j for w, (i, j) in terms)
        squares.append((guess - row["range"]) ** 2)
    assert abs((sum(squares) / 20) ** 0.5 - done.read("metrics.json")["rmse_m"]) < 1e-9


def test_a_model_that_is_not_good_enough_is_not_published(runner: Runner) -> None:
    done = runner.run("quickstart.yaml", {"max_error_m": "0.001"})
    assert done.result.state == "succeeded", done.result
    assert done.states()[-1] == "report-shortfall"
    assert done.decisions("evaluate-model") == ["loop_back"]
    assert done.read("shortfall.json")["rmse_m"] > 0.001
    assert not (done.folder / "published-model.json").exists()


def test_two_runs_keep_their_artifacts_apart(runner: Runner) -> None:
    first = runner.run("quickstart.yaml", {"throws": "40"}, run_id="first")
    second = runner.run("quickstart.yaml", {"throws": "60"}, run_id="second")
    assert (len(first.read("throws.json")), len(second.read("throws.json"))) == (40, 60)
