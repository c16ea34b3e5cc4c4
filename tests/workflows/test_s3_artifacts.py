"""Artifacts in an object store, on a real S3 endpoint of this machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from npac import api
from npac.runtime.options import RunOptions
from tests.workflows.conftest import WORKFLOWS

SPEC = WORKFLOWS / "testing/s3-artifacts.yaml"
KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "only-for-this-test"}


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    pytest.importorskip("moto.server", reason="moto[server] is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 60
        while not _answers(f"http://127.0.0.1:{port}"):
            assert server.poll() is None, "the S3 server ended before it answered"
            assert time.monotonic() < end, "the S3 server did not answer in a minute"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def bucket(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    import boto3

    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": endpoint, "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    # The steps' python3 must have boto3.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    made = boto3.resource("s3").Bucket(f"bucket-{time.monotonic_ns()}")
    made.create()
    return made


def test_artifacts_go_to_the_store_and_the_decision_is_read_from_it(bucket: Any) -> None:
    options = api.Options(vars={"bucket": bucket.name})
    result = api.run(
        SPEC, options, run_id="run-1", run_options=RunOptions(poll_seconds=0.1), secrets=sorted(KEYS)
    )
    assert result.state == "succeeded", result
    objects = {
        each.key: json.loads(each.get()["Body"].read())
        for each in bucket.objects.all()
        if each.key.endswith(".json")
    }
    names = ("curve", "decision", "measurements", "released-curve")
    assert sorted(objects) == [f"s3-artifacts/run-1/{name}.json" for name in names]
    assert objects["s3-artifacts/run-1/released-curve.json"] == objects["s3-artifacts/run-1/curve.json"]
    assert objects["s3-artifacts/run-1/decision.json"]["decision"] == "promote_checkpoint"
    assert objects["s3-artifacts/run-1/decision.json"]["rmse_volt"] < 0.02
    constant, charge, log = objects["s3-artifacts/run-1/curve.json"]["weights"]
    assert (round(constant, 1), round(charge, 1), round(log, 1)) == (3.0, 0.8, 0.1)


def test_nothing_of_the_run_holds_the_secret(bucket: Any, tmp_path: Path) -> None:
    options = api.Options(vars={"bucket": bucket.name, "max_error_volt": "0.0001"})
    result = api.run(
        SPEC, options, run_id="run-2", run_options=RunOptions(poll_seconds=0.1), secrets=sorted(KEYS)
    )
    assert result.state == "succeeded", result
    written = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert written
    secret = KEYS["AWS_SECRET_ACCESS_KEY"].encode()
    assert [path.name for path in written if secret in path.read_bytes()] == []


def test_a_run_without_its_secrets_is_refused_before_anything_is_launched(bucket: Any) -> None:
    with pytest.raises(api.NpacError) as refusal:
        api.run(SPEC, api.Options(vars={"bucket": bucket.name}), run_id="run-3")
    assert "AWS_SECRET_ACCESS_KEY" in f"{refusal.value} {refusal.value.remedy}"
    assert list(bucket.objects.all()) == []
