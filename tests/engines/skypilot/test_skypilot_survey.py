"""Looking at SkyPilot: the whole list from one start of one server, or an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npac.engines.skypilot.engine import SkyPilotEngine
from npac.launch.ports import EngineError, Prechecking, Surveying
from tests.engines.skypilot.conftest import USER, Bench, interpreter
from tests.engines.skypilot.fake_api import FakeApi, Reply, Request

LAUNCH = "npa-launch-" + "a" * 32
OTHER = "npa-launch-" + "b" * 32


def yaml_of(launch_id: str, post: int = 1, *names: str) -> str:
    envs = f"envs:\n  NPA_WORKFLOW_ATTEMPT_ID: {launch_id}\n  NPA_LAUNCH_POST: '{post}'\n"
    return "name: job\n" + "".join(
        f"---\n\nname: {each}\n\nrun: echo\n\n{envs}" for each in names or ("work",)
    )


def row(job_id: int, status: str = "RUNNING", **more: Any) -> dict[str, Any]:
    """Give a row as the queue has it, with every field that is read and some that are not."""
    return {
        "_job_id": job_id,
        "job_id": job_id,
        "task_id": 0,
        "job_name": "job",
        "task_name": "job",
        "status": status,
        "schedule_state": "ALIVE",
        "resources": "1x[CPU:1]",
        "details": None,
        "failure_reason": None,
        "user_hash": USER,
        "submitted_at": 1795990735.5,
        "start_at": 1795990784.4,
        "end_at": None,
        "user_yaml": yaml_of(LAUNCH),
        "controller_pid": 10772,
        "last_recovered_at": -1.0,
        "execution": "serial",
        **more,
    }


def request(request_id: str, status: str = "RUNNING", **more: Any) -> dict[str, Any]:
    """Give a launch as the list of requests has it."""
    body = {"task": yaml_of(OTHER, 2), "name": "coming", "env_vars": {"SKYPILOT_USER_ID": USER}}
    return {
        "request_id": request_id,
        "name": "sky.jobs.launch",
        "status": status,
        "user_id": USER,
        "created_at": 1.0,
        "request_body": json.dumps(body),
        **more,
    }


def test_the_engine_is_what_the_launch_layer_asks_for(engine: SkyPilotEngine) -> None:
    assert isinstance(engine, Surveying)
    assert isinstance(engine, Prechecking)
    capabilities = engine.capabilities()
    assert (capabilities.name, capabilities.unique_launch_key) == ("skypilot", False)
    assert capabilities.images and capabilities.accelerators


def test_a_survey_is_all_of_this_user_and_nothing_of_others(engine: SkyPilotEngine, api: FakeApi) -> None:
    api.rows = [row(n, job_name=f"job-{n}") for n in range(120, 0, -1)]
    api.rows += [row(900, user_hash="other"), row(901, user_hash=None)]
    api.requests = [
        request("r-1"),
        request("r-2", user_id="other"),
        request("r-3", name="sky.launch"),
        request("r-4", request_body="null"),
    ]
    survey = engine.survey()
    asked = [each.path for each in api.seen if each.path in ("/api/status", "/jobs/queue/v2")]
    assert [each.id for each in survey.rows] == [str(n) for n in range(1, 121)]
    assert {(each.launch_id, each.post) for each in survey.rows} == {(LAUNCH, 1)}
    assert [(each.id, each.name, each.launch_id) for each in survey.requests] == [
        ("r-1", "coming", OTHER),
        ("r-4", "", ""),
    ]
    assert survey.incarnation == "1000.5"
    assert survey.instance == engine.capabilities().instance
    body = api.last("/jobs/queue/v2").body
    assert (body["limit"], body.get("fields"), body["all_users"], body["refresh"]) == (
        None,
        None,
        False,
        False,
    )
    assert asked == [
        "/api/status",  # which start of the server
        "/api/status",  # requests, before the rows that come of them
        "/jobs/queue/v2",
        "/api/status",
    ]


def test_the_instance_tells_users_servers_and_states_apart(bench: Bench, tmp_path: Path) -> None:
    first = bench.engine().capabilities().instance
    assert bench.engine().capabilities().instance == first
    assert bench.engine(SKYPILOT_USER_ID="npa-ffffffffffff").capabilities().instance != first
    home = tmp_path / "another"
    home.mkdir()
    assert bench.engine(HOME=str(home)).capabilities().instance != first
    bench.api.user = {"id": "known-by-login", "name": "somebody"}
    assert "known-by-login" in bench.engine().capabilities().instance


def test_a_restart_in_the_middle_is_no_answer(engine: SkyPilotEngine, api: FakeApi) -> None:
    def restarting(request: Request) -> Reply:
        api.created_at += 1
        return api.accept(request, {"jobs": [], "total": 0})

    api.behaviours["/jobs/queue/v2"] = restarting
    with pytest.raises(EngineError, match="started anew"):
        engine.survey()
    del api.behaviours["/jobs/queue/v2"]
    assert engine.survey().incarnation == "1001.5"


def test_a_server_that_hides_its_start_has_no_incarnation(engine: SkyPilotEngine, api: FakeApi) -> None:
    api.behaviours["/api/status"] = lambda request: Reply(data=[])
    assert engine.survey().incarnation == ""


WRONG: dict[str, tuple[Any, str]] = {
    "no list": ({"jobs": None, "total": 0}, "no list"),
    "null": (None, "no list"),
    "a part": ({"jobs": [row(1)], "total": 51}, "a part of its list of jobs: 1 rows of 51"),
    "no length": ({"jobs": [], "total": "many"}, "its length"),
    "something else": ({"jobs": ["job 1"], "total": 1}, "no job"),
    "no status": ({"jobs": [row(1) | {"status": None}], "total": 1}, "gives job 1 no status"),
    "text as an id": ({"jobs": [row(1) | {"job_id": "1"}], "total": 1}, "no job"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_list_of_a_wrong_shape_is_no_list(engine: SkyPilotEngine, api: FakeApi, what: str) -> None:
    answer, words = WRONG[what]
    api.behaviours["/jobs/queue/v2"] = lambda request: api.accept(request, answer)
    with pytest.raises(EngineError, match=words):
        engine.survey()


@pytest.mark.parametrize("path", ["/api/status", "/jobs/queue/v2", "/api/get", "/api/health"])
@pytest.mark.parametrize(
    "reply",
    [
        None,
        Reply(503, {"detail": "busy"}),
        Reply(500, text="<html>"),
        Reply(200, {"jobs": []}, claim=40),
        Reply(200, text="[{"),
        Reply(302, text="", headers={"Location": "/"}),
    ],
    ids=["closed", "503", "500", "truncated", "half", "redirect"],
)
def test_a_bad_answer_is_an_error(
    engine: SkyPilotEngine, api: FakeApi, path: str, reply: Reply | None
) -> None:
    api.behaviours[path] = lambda request: reply
    with pytest.raises(EngineError):
        engine.survey()
    assert api.count("/jobs/launch") == 0


def test_no_controller_is_no_jobs_and_a_stopped_one_is_woken(engine: SkyPilotEngine, api: FakeApi) -> None:
    woken: list[bool] = []

    def stopped(request: Request) -> Reply:
        woken.append(request.body["refresh"])
        if not request.body["refresh"]:
            return api.fail(request, "ClusterNotUpError", "No in-progress managed jobs.")
        return api.accept(request, {"jobs": [row(1)], "total": 1})

    api.behaviours["/jobs/queue/v2"] = stopped
    assert [each.id for each in engine.survey().rows] == ["1"]
    assert woken == [False, True]

    def never(request: Request) -> Reply:
        kind = "ClusterDoesNotExist" if request.body["refresh"] else "ClusterNotUpError"
        return api.fail(request, kind, "No in-progress managed jobs.")

    api.behaviours["/jobs/queue/v2"] = never
    assert list(engine.survey().rows) == []
    api.behaviours["/jobs/queue/v2"] = lambda request: api.fail(request, "RuntimeError", "ssh failed")
    with pytest.raises(EngineError, match="ssh failed"):
        engine.survey()


def test_one_job(engine: SkyPilotEngine, api: FakeApi) -> None:
    api.rows = [row(1), row(2, user_hash="other")]
    found = engine.job("1")
    assert found is not None and found.status == "RUNNING"
    assert api.last("/jobs/queue/v2").body["job_ids"] == [1]
    assert engine.job("2") is None
    assert engine.job("3") is None
    asked = len(api.seen)
    assert engine.job("../1") is None
    assert len(api.seen) == asked


def test_what_became_of_a_request(engine: SkyPilotEngine, api: FakeApi) -> None:
    api.requests = [request("a-1"), request("a-2", "WAITING"), request("b", "CANCELLED")]
    assert engine.request("a-1").state == engine.request("a-2").state == "active"
    assert engine.request("b").state == "unknown"
    assert engine.request("a").state == "unknown"  # the beginning of an id is no id
    assert engine.request("zzz").state == "unknown"
    for n, value in enumerate(({"job_id": [7], "handle": None}, {"job_id": 7}, {"job_id": [7, 8]}, None)):
        request_id = api.accept(Request("POST", "", {}, {}), value).headers["X-Skypilot-Request-ID"]
        api.requests.append(request(request_id, "SUCCEEDED"))
        found = engine.request(request_id)
        assert (found.state, found.job_id) == ("succeeded", "7" if n < 2 else "")


@pytest.mark.parametrize(
    ("kind", "state"), [("ValueError", "failed"), ("RequestInterruptedError", "unknown")]
)
def test_a_request_that_failed(engine: SkyPilotEngine, api: FakeApi, kind: str, state: str) -> None:
    request_id = api.fail(Request("POST", "", {}, {}), kind, "it is so").headers["X-Skypilot-Request-ID"]
    api.requests.append(request(request_id, "FAILED"))
    found = engine.request(request_id)
    assert (found.state, found.job_id, found.message) == (state, "", f"{kind}: it is so")


def test_a_request_that_nobody_tells_of_is_an_error(engine: SkyPilotEngine, api: FakeApi) -> None:
    api.behaviours["/api/status"] = lambda request: Reply(503, {"detail": "busy"})
    with pytest.raises(EngineError, match="503"):
        engine.request("r-1")
    api.behaviours["/api/status"] = lambda request: Reply(data=[globals()["request"]("r-1", "SUCCEEDED")])
    with pytest.raises(EngineError, match="404"):
        engine.request("r-1")


def test_cancel_goes_by_the_id_of_an_own_job(engine: SkyPilotEngine, api: FakeApi) -> None:
    api.rows = [row(5), row(6, user_hash="other")]
    engine.cancel("5")
    body = api.last("/jobs/cancel").body
    assert (body["job_ids"], body["name"], body["all"], body["all_users"]) == ([5], None, False, False)
    for job in ("6", "7", "-5", "all"):
        with pytest.raises(EngineError, match="no job") as caught:
            engine.cancel(job)
        assert caught.value.phase == "rejected"
    assert api.count("/jobs/cancel") == 1
    api.behaviours["/jobs/cancel"] = lambda request: api.fail(request, "RuntimeError", "no ssh")
    with pytest.raises(EngineError, match="no ssh"):
        engine.cancel("5")


def test_logs_come_from_a_bridge_of_their_own(engine: SkyPilotEngine, api: FakeApi) -> None:
    names = ("first", "second")
    api.rows = [row(1, task_id=n, task_name=names[n], user_yaml=yaml_of(LAUNCH, 1, *names)) for n in range(2)]
    assert "".join(engine.logs("1", task="second")) == "first line\nsecond line\n"
    body = api.last("/jobs/logs").body
    assert (body["job_id"], body["task"], body["follow"]) == (1, 1, False)
    with pytest.raises(EngineError, match="no task 'third'") as caught:
        engine.logs("1", task="third")
    assert "first, second" in caught.value.remedy
    with pytest.raises(EngineError, match="has no log"):
        engine.logs("2")


def test_a_secret_does_not_come_back(engine: SkyPilotEngine, api: FakeApi) -> None:
    secret = "sk-very-secret-0123"
    engine.precheck([{"name": "work", "run": "true"}], "work", {"TOKEN": secret})
    api.rows = [row(1, "FAILED", failure_reason=f"said {secret}")]
    assert engine.survey().rows[0].reason == "said ***"
    api.behaviours["/jobs/queue/v2"] = lambda request: Reply(500, {"detail": f"bad {secret}"})
    with pytest.raises(EngineError) as caught:
        engine.survey()
    assert secret not in repr(caught.value)


def test_a_server_of_this_host_with_another_home_is_not_ours(tmp_path: Path) -> None:
    bench = Bench(interpreter("NPAC_SKY_PYTHON"), tmp_path)
    try:
        # The tests' server runs in this process, whose home is not the bench's.
        local = {"SKYPILOT_API_SERVER_ENDPOINT": f"http://127.0.0.1:{bench.api.port}"}
        local["SKYPILOT_API_SERVER_LOCAL_PORT"] = str(bench.api.port)
        with pytest.raises(EngineError, match="as its HOME"):
            bench.engine(**local).survey()
        assert "as its HOME" in bench.engine(**local).about()["problem"]
        assert bench.api.count("/jobs/queue/v2") == 1
    finally:
        bench.close()
