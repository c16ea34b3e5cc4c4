"""Stores whose clocks are hours off, or run backwards: what an artifact is, is never told by its time."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from npac.ir.program import End, Gate, Program, Trigger
from npac.runtime import api
from npac.runtime.api import RunOptions
from tests.runtime.programs import Bench, Watcher, chain, serial, step

BACKWARDS = """
import datetime, sys
from moto import server
from moto.s3 import models

calls = 0

def utcnow():
    global calls
    calls += 1
    # Each look at this clock finds it an hour and a second earlier; it began nine hours ahead.
    return datetime.datetime(2024, 3, 1, 9) - calls * datetime.timedelta(seconds=3601)

models.utcnow = utcnow
server.main(["-H", "127.0.0.1", "-p", sys.argv[1]])
"""
PUT = (
    "import sys, urllib.request as r; "
    "kind = {'Content-Type': 'application/octet-stream'}; "
    "r.urlopen(r.Request(sys.argv[1], sys.argv[2].encode(), kind, method='PUT')).close()"
)


def stamped(bench: Bench, name: str, when: str) -> str:
    """Give shell that writes a new file whose time of writing is set by hand."""
    place = f"{bench.work}/{name}"
    return f"echo $$ > {place}.new && touch -d '{when}' {place}.new && mv {place}.new {place}"


@pytest.mark.parametrize("when", ["10 hours ago", "10 hours", "1970-01-02", "2199-01-01"])
def test_an_output_counts_whatever_its_time(bench: Bench, when: str) -> None:
    (bench.work / "x").write_text("old")
    program = chain(step("a", stamped(bench, "x", when), [bench.uri("x")]), step("b", "true"))
    assert bench.start(program).state == "succeeded"


@pytest.mark.parametrize("when", ["10 hours ago", "10 hours"])
def test_an_old_output_does_not_count_whatever_its_time(bench: Bench, when: str) -> None:
    (bench.work / "x").write_text("old")
    subprocess.run(["touch", "-d", when, bench.work / "x"], check=True)
    result = bench.start(chain(step("a", "true", [bench.uri("x")])))
    assert result.state == "failed" and "it is the same as before the step began" in result.reason


@pytest.mark.parametrize("when", ["3 hours ago", "3 hours"])
def test_each_iteration_decides_by_what_it_wrote_whatever_the_times(bench: Bench, when: str) -> None:
    """The second decision is older than the first by its time, or both are of one time to come."""
    uri = bench.uri("d.json")

    def judge(said: str, hours: str) -> Any:
        text = json.dumps({"decision": said})
        shell = f"echo '{text}' > {bench.work}/n && touch -d '{hours}' {bench.work}/n && mv {bench.work}/n "
        return step("judge", f"{shell} {bench.work}/d.json", [uri], decision_uri=uri, writes_decision=True)

    def gate(turn: int, back: str) -> Gate:
        return Gate(f"g{turn}", "loop", "until", uri, "end", back, ("judge",))

    program = Program(
        "loop",
        "j1",
        (judge("loop_back", when), judge("promote", f"{when} 1 hour ago")),
        (
            serial(1, "j1", 0, "g1"),
            gate(1, "j2"),
            serial(2, "j2", 1, "g2"),
            gate(2, "j3"),
            serial(3, "j3", 1, "end"),
            End("end"),
        ),
    )
    assert bench.start(program).state == "succeeded"
    assert [d.decision for d in bench.view().decisions.values()] == ["loop_back", "promote_checkpoint"]
    assert "j3" not in bench.view().waves


def test_a_decision_that_was_only_touched_is_another_one_and_is_not_read(bench: Bench) -> None:
    uri = bench.uri("d.json")
    judge = step("judge", f'echo \'{{"decision": "promote"}}\' > {bench.work}/d.json', [uri])
    spoil = step("spoil", f"touch -d '5 hours ago' {bench.work}/d.json")
    gate = Gate("g", "loop", "until", uri, "end", "end", ("judge",))
    waves = (serial(1, "judge", 0, "spoil"), serial(2, "spoil", 1, "g"), gate, End("end"))
    result = bench.start(Program("p", "judge", (judge, spoil), waves))
    assert (result.state, bench.view().code) == ("blocked", "DECISION_CHANGED")


def test_a_trigger_counts_objects_and_not_their_times(bench: Bench) -> None:
    """The same URI in two waves: of what was there for the first only what was written anew counts."""
    inbox = bench.work / "in"
    inbox.mkdir()
    for name, when in (("a", "20 hours ago"), ("b", "20 hours")):
        (inbox / name).write_text(name)
        subprocess.run(["touch", "-d", when, inbox / name], check=True)
    trigger = Trigger("t", bench.uri("in/"), 1, 2, 2)
    # The first wave writes one of them anew, with a time before both; that alone is not enough.
    first = step("t", stamped(bench, "in/a", "40 hours ago"))
    program = Program(
        "p",
        "one",
        (first, step("t", "true")),
        (
            serial(1, "one", 0, "two", triggers=(trigger,)),
            serial(2, "two", 1, "end", triggers=(trigger,)),
            End("end"),
        ),
    )
    result = bench.start(program)
    assert result.state == "failed" and "found 1 of 2 objects" in result.reason
    (inbox / "b").unlink()
    (inbox / "b").write_text("b")
    subprocess.run(["touch", "-d", "30 hours ago", inbox / "b"], check=True)
    api.request_retry(bench.ledgers().open("run"))
    assert bench.resume(RunOptions()).state == "succeeded"


@pytest.fixture(scope="module")
def backwards() -> Iterator[str]:
    """Give the URL of a real S3 server whose clock runs backwards."""
    pytest.importorskip("moto.server", reason="moto[server] is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-c", BACKWARDS, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url, until = f"http://127.0.0.1:{port}", time.monotonic() + 60
    try:
        while True:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < until
                time.sleep(0.05)
        yield url
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def bucket(backwards: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
    for name, value in {**keys, "AWS_ENDPOINT_URL": backwards, "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    made = boto3.resource("s3").Bucket(f"bucket-{time.monotonic_ns()}")
    made.create(ACL="public-read-write")
    return made


def put(uri: str, text: str) -> str:
    """Give shell that writes one object, for which anybody has the right here."""
    url = f"{os.environ['AWS_ENDPOINT_URL']}/{uri.removeprefix('s3://')}"
    return shlex.join([sys.executable, "-c", PUT, url, text])


def test_a_loop_on_a_store_whose_clock_runs_backwards(bench: Bench, bucket: Any) -> None:
    """Each iteration writes the same keys anew, one of them with the same bytes, older every time."""
    model, uri = f"s3://{bucket.name}/model", f"s3://{bucket.name}/d.json"
    inbox = f"s3://{bucket.name}/in/"
    bucket.put_object(Key="in/1", Body=b"x")
    trigger = Trigger("train", inbox, 1, 1, 1)

    def turn(said: str) -> list[Any]:
        train = f"{bench.count('train')}; {put(model, 'weights')}; {put(inbox + '1', 'x')}"
        judge = f"{bench.count('judge')}; {put(uri, json.dumps({'decision': said}))}"
        return [step("train", train, [model]), step("judge", judge, [uri], decision_uri=uri)]

    steps = (*turn("loop_back"), *turn("promote_checkpoint"))
    nodes = (
        serial(1, "t1", 0, "j1", triggers=(trigger,)),
        serial(2, "j1", 1, "g1"),
        Gate("g1", "loop", "until", uri, "end", "t2", ("judge",)),
        serial(3, "t2", 2, "j2", triggers=(trigger,)),
        serial(4, "j2", 3, "g2"),
        Gate("g2", "loop", "until", uri, "end", "j3", ("judge",)),
        serial(5, "j3", 3, "end"),
        End("end"),
    )
    program = Program("loop", "t1", steps, nodes)
    result = bench.start(program, RunOptions(max_wait=60))
    assert result.state == "succeeded", result
    view = bench.view()
    assert bench.trace() == ["train", "judge"] * 2
    assert [d.decision for d in view.decisions.values()] == ["loop_back", "promote_checkpoint"]
    first, second = (r.observation.identity for r in view.history[model])
    assert first["etag"] == second["etag"] and first["last_modified"] > second["last_modified"]


def test_an_old_object_never_passes_for_a_new_one_on_such_a_store(bench: Bench, bucket: Any) -> None:
    bucket.put_object(Key="x", Body=b"old")
    uri = f"s3://{bucket.name}/x"
    result = bench.start(chain(step("a", "true", [uri])))
    assert result.state == "failed" and "it is the same as before the step began" in result.reason
    mended = replace(chain(step("a", put(uri, "new"), [uri])), workflow="chain")
    assert bench.start(mended, run_id="again", progress=Watcher()).state == "succeeded"
