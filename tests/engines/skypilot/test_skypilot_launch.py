"""One POST, whatever the server does with it, and what its failure says."""

from __future__ import annotations

import json
import subprocess
import threading
from typing import Any

import pytest

from npac.engines.skypilot import engine as engine_module
from npac.engines.skypilot.engine import SkyPilotEngine
from npac.launch.ports import EngineError
from tests.engines.skypilot.conftest import USER, Bench
from tests.engines.skypilot.fake_api import Behaviour, FakeApi, Reply, Request

LAUNCH = "npa-launch-" + "0" * 32
SECRET = "sk-very-secret-0123"
TASK: dict[str, Any] = {
    "name": "work",
    "run": "echo hi\n",
    "envs": {"NPA_WORKFLOW_ATTEMPT_ID": LAUNCH, "NPA_LAUNCH_POST": "1"},
    "resources": {"infra": "slurm", "cpus": "1"},
}


def launch(engine: SkyPilotEngine, *documents: dict[str, Any]) -> str:
    return engine.launch(documents or (TASK,), "run-001-work", LAUNCH, {"TOKEN": SECRET}).request_id


def refused_launch(engine: SkyPilotEngine, *documents: dict[str, Any]) -> EngineError:
    with pytest.raises(EngineError) as caught:
        launch(engine, *documents)
    assert SECRET not in f"{caught.value!r} {caught.value} {caught.value.remedy}"
    return caught.value


def test_a_launch_is_one_post_with_the_secret_in_its_channel(engine: SkyPilotEngine, api: FakeApi) -> None:
    request_id = launch(engine)
    assert request_id in api.results
    assert api.count("/jobs/launch") == 1
    body = api.last("/jobs/launch").body
    assert body["name"] == "run-001-work"
    assert f"secrets:\n  TOKEN: {SECRET}" in body["task"]
    assert json.dumps(body).count(SECRET) == 1
    assert body["env_vars"]["SKYPILOT_USER_ID"] == USER
    assert body["entrypoint_command"] == f"npac launch {LAUNCH} post 1"
    assert api.last("/jobs/launch").headers["x-skypilot-api-version"].isdigit()


def test_the_body_is_what_the_client_library_sends(
    shared: Bench, engine: SkyPilotEngine, api: FakeApi
) -> None:
    launch(engine)
    ours = api.last("/jobs/launch").body
    script = (
        "import sky, json, sys; from sky.utils import dag_utils; given = json.load(sys.stdin); "
        "dag = dag_utils.load_dag_from_yaml_str(json.dumps(given['task']), "
        "secrets_overrides=list(given['secrets'].items())); "
        "print(sky.jobs.launch(dag, name=given['name']))"
    )
    given = {"task": TASK, "secrets": {"TOKEN": SECRET}, "name": "run-001-work"}
    subprocess.run(
        [shared.python, "-I", "-c", script],
        input=json.dumps(given),
        env=shared.environ,
        text=True,
        check=True,
        capture_output=True,
        timeout=120,
    )
    theirs = api.last("/jobs/launch").body
    assert theirs is not ours
    for body in (ours, theirs):
        body["env_vars"].pop("SKYPILOT_USAGE_RUN_ID")
        body.pop("entrypoint_command")
        # The client library has made it from JSON, and keeps that text beside what it means.
        body["task"] = body["task"].partition("_user_specified_yaml")[0]
    assert ours == theirs


def answers(reply: Reply | bytes | None) -> Behaviour:
    return lambda request: reply


def posted(status: int, data: Any = None, text: str | None = None, **headers: str) -> Behaviour:
    return answers(
        Reply(status, data, headers={k.replace("_", "-"): v for k, v in headers.items()}, text=text)
    )


MAYBE = {
    "503": posted(503, {"detail": "shutting down"}),
    "503 that names a request": posted(503, {"detail": "busy"}, X_Skypilot_Request_ID="0000-9"),
    "500": posted(500, {"detail": "Internal Server Error"}),
    "a proxy's 502": posted(502, text="<html><title>Bad Gateway</title></html>"),
    "a proxy's 404": posted(404, text="<html><title>Not Found</title></html>"),
    "a limit on the rate": posted(429, {"detail": "Too many requests"}),
    "a redirect": posted(307, {"detail": "elsewhere"}, Location="/jobs/launch"),
    "a redirect to a page": posted(302, text="", Location="/login"),
    "no request id": posted(200),
    "a closed connection": answers(None),
    "half a head": answers(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "no HTTP": answers(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "an empty 400": posted(400, {}),
}


@pytest.mark.parametrize("what", MAYBE)
def test_what_may_have_been_taken_is_never_sent_again(
    engine: SkyPilotEngine, api: FakeApi, what: str
) -> None:
    api.behaviours["/jobs/launch"] = MAYBE[what]
    assert refused_launch(engine).phase == "maybe-sent"
    assert api.count("/jobs/launch") == 1


def test_a_connection_that_ends_before_the_body_is_read(engine: SkyPilotEngine, api: FakeApi) -> None:
    api.unread.add("/jobs/launch")
    api.behaviours["/jobs/launch"] = answers(None)
    assert refused_launch(engine).phase == "maybe-sent"
    assert api.count("/jobs/launch") == 1


REJECTED = {
    "a reason": (posted(400, {"detail": "no such workspace"}), "no such workspace"),
    "a body of another form": (
        posted(422, {"detail": [{"loc": ["body", "task"], "msg": "Field required", "input": {"t": SECRET}}]}),
        "body.task: Field required",
    ),
    "an exception": (
        posted(400, {"detail": {"type": "ValueError", "message": f"cannot take {SECRET}"}}),
        "cannot take ***",
    ),
    "no right": (posted(403, {"detail": "no right to launch"}), "no right to launch"),
    "another version": (posted(400, {"error": "version_mismatch", "message": "too old"}), "too old"),
}


@pytest.mark.parametrize("what", REJECTED)
def test_a_well_formed_refusal_is_one(engine: SkyPilotEngine, api: FakeApi, what: str) -> None:
    api.behaviours["/jobs/launch"], words = REJECTED[what]
    error = refused_launch(engine)
    assert error.phase == "rejected"
    assert words in str(error)
    assert api.count("/jobs/launch") == 1


def test_an_answer_that_breaks_off_after_its_head_has_named_the_request(
    engine: SkyPilotEngine, api: FakeApi
) -> None:
    def broken(request: Request) -> Reply:
        reply = api.accept(request)
        reply.claim = 100
        return reply

    api.behaviours["/jobs/launch"] = broken
    assert launch(engine) in api.results
    assert api.count("/jobs/launch") == 1


def test_a_server_that_does_not_answer_in_time(
    engine: SkyPilotEngine, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def slow(request: Request) -> None:
        over.wait(60)

    api.behaviours["/jobs/launch"] = slow
    monkeypatch.setattr(engine_module, "_LAUNCH", 4.0)
    try:
        error = refused_launch(engine)
    finally:
        over.set()
    assert error.phase == "maybe-sent"
    assert "in time" in str(error)
    # The next call finds a bridge.
    assert engine.about()["problem"] == ""
    assert api.count("/jobs/launch") == 1


# --- never sent ----------------------------------------------------------------------------------


def test_a_server_that_is_gone_gets_nothing(bench: Bench) -> None:
    engine = bench.engine()
    engine.about()
    bench.api.close()
    assert refused_launch(engine).phase == "never-sent"
    assert bench.api.count("/jobs/launch") == 0


def test_a_server_that_goes_right_before_the_post_gets_nothing(bench: Bench) -> None:
    engine = bench.engine()
    engine.about()
    bench.api.stop_after["/api/status"] = 1  # the last question before the POST
    error = refused_launch(engine)
    assert error.phase == "never-sent"
    assert "ConnectionRefusedError" in str(error)
    assert bench.api.count("/validate") == 1
    assert bench.api.count("/jobs/launch") == 0


def test_a_server_that_was_started_anew_gets_nothing(engine: SkyPilotEngine, api: FakeApi) -> None:
    api.created_at += 1
    error = refused_launch(engine)
    assert error.phase == "never-sent"
    assert "started anew" in str(error)
    assert api.count("/jobs/launch") == 0
    engine.survey()  # it is known now
    assert launch(engine) in api.results


def test_a_server_that_takes_us_for_another_user_gets_nothing(engine: SkyPilotEngine, api: FakeApi) -> None:
    api.user = {"id": "somebody", "name": "else"}
    error = refused_launch(engine)
    assert error.phase == "never-sent"
    assert "somebody" in str(error)
    assert api.count("/jobs/launch") == 0


def test_a_launch_that_was_held_up_is_not_sent(
    engine: SkyPilotEngine, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "BEFORE_POST", -1.0)
    error = refused_launch(engine)
    assert error.phase == "never-sent"
    assert "held up" in str(error)
    assert api.count("/jobs/launch") == 0


HEALTH = {
    "another program": ({"status": "healthy"}, "no SkyPilot API server", "rejected"),
    "no login": (
        {"status": "needs_auth", "version": "1", "commit": "2", "api_version": "3"},
        "does not know you",
        "rejected",
    ),
    "illness": (
        {"status": "unhealthy", "version": "1", "commit": "2", "api_version": "3"},
        "says that it is unhealthy",
        "never-sent",
    ),
}


@pytest.mark.parametrize("what", HEALTH)
def test_a_server_is_looked_at_before_the_post(engine: SkyPilotEngine, api: FakeApi, what: str) -> None:
    data, words, phase = HEALTH[what]
    api.behaviours["/api/health"] = posted(200, data)
    error = refused_launch(engine)
    assert (error.phase, words in str(error)) == (phase, True)
    assert api.count("/jobs/launch") == 0


def test_a_server_of_another_age_is_refused(engine: SkyPilotEngine, api: FakeApi) -> None:
    good = {"status": "healthy", "version": "0.3.0", "commit": "c", "api_version": "1"}
    api.behaviours["/api/health"] = answers(
        Reply(data=good, headers={"X-SkyPilot-API-Version": "1", "X-SkyPilot-Version": "0.3.0"})
    )
    error = refused_launch(engine)
    assert error.phase == "rejected"
    assert "0.3.0" in str(error)
    assert api.count("/jobs/launch") == 0


DOCUMENTS = {
    "an unknown key": ({**TASK, "resourcez": {}}, "resourcez"),
    "a foreign launch id": ({**TASK, "envs": {"NPA_WORKFLOW_ATTEMPT_ID": "other"}}, "not that of its launch"),
    "a secret among the variables": (
        {**TASK, "envs": {"TOKEN": "x"}},
        "TOKEN of work is a secret",
    ),
    "a relative workdir": ({**TASK, "workdir": "src"}, "the relative path src"),
    "a relative mount": ({**TASK, "file_mounts": {"/data": "./data"}}, "the relative path ./data"),
}


@pytest.mark.parametrize("what", DOCUMENTS)
def test_documents_that_skypilot_does_not_take_are_refused_beforehand(
    engine: SkyPilotEngine, api: FakeApi, what: str
) -> None:
    document, words = DOCUMENTS[what]
    error = refused_launch(engine, document)
    assert (error.phase, words in str(error)) == ("rejected", True)
    assert api.count("/jobs/launch") == 0


def test_precheck_asks_the_server_and_launches_nothing(engine: SkyPilotEngine, api: FakeApi) -> None:
    plain = {**TASK, "envs": {}}
    engine.precheck([plain], "work", {"TOKEN": SECRET})
    assert api.count("/validate") == 1
    with pytest.raises(EngineError, match="resourcez") as caught:
        engine.precheck([{**plain, "resourcez": {}}], "work", {"TOKEN": SECRET})
    assert caught.value.phase == "rejected"
    assert api.count("/jobs/launch") == 0


def test_a_group_is_sent_as_one_job(engine: SkyPilotEngine, api: FakeApi) -> None:
    second = {**TASK, "name": "other"}
    launch(engine, {"name": "both", "execution": "parallel"}, TASK, second)
    body = api.last("/jobs/launch").body
    assert api.count("/jobs/launch") == 1
    assert body["name"] == "run-001-work"
    assert body["task"].split()[:4] == ["name:", "run-001-work", "execution:", "parallel"]
    assert body["task"].count(f"TOKEN: {SECRET}") == 2
