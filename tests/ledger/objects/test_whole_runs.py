"""Whole runs with their ledger on s3://: killed, gone on with from elsewhere, asked, shown and verified."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from npac.ledger.objects.root import ObjectRoot
from tests.ledger.objects.proxy import Proxy

REPOSITORY = Path(__file__).resolve().parents[3]
WORKFLOWS = REPOSITORY / "workflows" / "testing"
SECRET = "only-for-this-test-7f3a"
FAST = ("--poll-seconds", "0.1")


class Machine:
    """A machine of its own state folder, whose npac commands are processes."""

    def __init__(self, folder: Path, endpoint: str, root: str) -> None:
        self.folder = folder
        self.root = root
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "NPA"))}
        self.environment = {
            **kept,
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "NPAC_HOME": str(folder),
            "PYTHONPATH": str(REPOSITORY),
            # The steps' python3 must have boto3.
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Begin a command that works with the ledger root."""
        process = subprocess.Popen(
            [sys.executable, "-c", "from npac.cli.main import entry; entry()", *words, "--ledger", self.root],
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def npac(self, *words: str, code: int = 0) -> str:
        """Run a command to its end; gives what it printed."""
        process = self.start(*words)
        out, err = process.communicate(timeout=180)
        assert process.returncode == code, (words, process.returncode, out, err)
        return out + err


@pytest.fixture
def machines(tmp_path: Path, bucket: Any, proxy: Proxy) -> Any:
    made = []
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        made.append(Machine(folder, proxy.url, f"s3://{bucket.name}/ledgers"))
    yield made
    for machine in made:
        for process in machine.started:
            process.kill()
            process.communicate()


def until(what: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while not what():
        assert time.monotonic() < end, "it did not come to that"
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def types(root: ObjectRoot, run_id: str) -> list[str]:
    return [event.type for event in root.open(run_id).events()] if root.holds(run_id) else []


def kill(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def artifacts(bucket: Any) -> list[str]:
    keys = ("--var", f"bucket={bucket.name}", "--secret-env", "AWS_ACCESS_KEY_ID")
    return [str(WORKFLOWS / "s3-artifacts.yaml"), *keys, "--secret-env", "AWS_SECRET_ACCESS_KEY"]


def test_a_run_that_was_killed_while_it_waited_goes_on_from_another_machine(
    machines: list[Machine], clients: Any, tmp_path: Path
) -> None:
    here, there = machines
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    root = ObjectRoot(here.root, clients=clients)
    variables = ("--var", f"inbox={inbox}", "--var", f"artifacts={tmp_path}/made")
    spec = str(WORKFLOWS / "inbox-trigger.yaml")
    driver = here.start("run", spec, *variables, "--run-id", "r", *FAST)
    until(lambda: "trigger-waiting" in types(root, "r"), driver)
    assert "r: waiting" in there.npac("status", "r")
    busy = there.npac("resume", "r", *FAST, code=2)
    assert "which is alive" in busy and "help:" in busy
    kill(driver)
    text = "raw,newton\n" + "".join(f"{raw},{0.5 + 0.1 * raw}\n" for raw in range(0, 80, 10))
    (tmp_path / "bench.csv").write_text(text, encoding="utf-8")
    (tmp_path / "bench.csv").rename(inbox / "bench.csv")
    shown = there.npac("status", "r")
    assert "driver: dead" in shown and f"npac resume r --ledger {here.root}" in shown
    assert f"npac resume r --ledger {here.root}" in there.npac("why", "r")
    assert "r: succeeded" in there.npac("resume", "r", *FAST)
    assert (tmp_path / "made" / "r" / "installed.json").exists()
    # The first machine sees what happened, with nothing of it on its own disk.
    assert "r: succeeded" in here.npac("status", "r")
    log = here.npac("events", "r")
    assert [line.split()[2] for line in log.splitlines()].count("driver-started") == 2
    assert log.splitlines()[-1].split()[2] == "run-ended"
    assert "succeeded" in here.npac("runs") and "the log is whole" in here.npac("runs", "fsck")
    assert not list(here.folder.rglob("ledger.sqlite")) and not list(there.folder.rglob("ledger.sqlite"))
    assert "there is nothing to cancel" in there.npac("cancel", "r")


def test_a_run_killed_with_a_job_under_way_goes_on_where_its_engine_is(
    machines: list[Machine], clients: Any, bucket: Any
) -> None:
    here, there = machines
    root = ObjectRoot(here.root, clients=clients)
    driver = here.start("run", *artifacts(bucket), "--run-id", "r", *FAST)
    until(lambda: types(root, "r").count("job-attached") == 2, driver)
    kill(driver)
    ended = types(root, "r")
    # Another machine cannot see the job: it is neither lost nor run again.
    blocked = there.npac("resume", "r", *FAST, code=3)
    assert "r: blocked" in blocked, blocked
    assert types(root, "r")[: len(ended)] == ended and types(root, "r").count("launch-intent") == 2
    shown = json.loads(there.npac("status", "r", "--json"))
    assert shown["state"] == "blocked" and shown["next"]
    assert "r: succeeded" in here.npac("resume", "r", *FAST)
    assert types(root, "r").count("launch-intent") == 3, "each wave was launched once"
    assert "the log is whole" in there.npac("runs", "fsck", "r")
    report = json.loads(there.npac("runs", "fsck", "r", "--format", "json"))
    assert report["runs"][0]["whole"] is True and report["runs"][0]["events"] == len(types(root, "r"))
    for each in bucket.objects.all():
        assert SECRET.encode() not in each.get()["Body"].read(), each.key


def test_a_run_is_cancelled_from_another_machine(
    machines: list[Machine], clients: Any, tmp_path: Path
) -> None:
    here, there = machines
    root = ObjectRoot(here.root, clients=clients)
    variables = ("--var", f"inbox={tmp_path}/inbox", "--var", f"artifacts={tmp_path}/made")
    driver = here.start("run", str(WORKFLOWS / "inbox-trigger.yaml"), *variables, "--run-id", "r", *FAST)
    until(lambda: "trigger-waiting" in types(root, "r"), driver)
    assert "r: cancelled" in there.npac("cancel", "r", "--reason", "enough", code=4)
    driver.communicate(timeout=60)
    assert driver.returncode == 4
    assert "enough" in here.npac("why", "r")


def test_what_is_damaged_is_named_with_what_to_do(
    machines: list[Machine], clients: Any, bucket: Any, tmp_path: Path
) -> None:
    here, _ = machines
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: sample}\n"
        "states:\n  first: {run: {argv: ['true']}, terminal: true}\n",
        encoding="utf-8",
    )
    for run_id in ("good", "bad", "lost"):
        here.npac("run", str(spec), "--run-id", run_id, *FAST)
    bucket.Object("ledgers/bad/log/000000000003.json").delete()
    bucket.Object("ledgers/lost/run.json").delete()
    said = here.npac("runs", "fsck", code=1)
    assert "good: the log is whole" in said and "bad: damaged from event 3 on" in said
    assert "event 3 of the log is damaged: it is missing" in said and "help: Restore" in said
    assert "lost cannot be opened: it has lost its run.json" in said
    report = json.loads(here.npac("runs", "fsck", "--format", "json", code=1))
    assert {run["run_id"]: run["first_bad_event"] for run in report["runs"]} == {
        "bad": 3,
        "good": None,
        "lost": None,
    }
    assert "event 3 of the log is damaged" in here.npac("status", "bad", code=2)
    assert "unreadable: it has lost its run.json" in here.npac("runs")
    again = here.npac("run", str(spec), "--run-id", "lost", code=2)
    assert "has lost" in again and "Restore" in again


def test_a_store_without_conditional_writes_needs_a_promise(
    machines: list[Machine], proxy: Proxy, tmp_path: Path
) -> None:
    here, there = machines
    proxy.fail("PUT", "", condition=False, times=1_000_000)
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: sample}\n"
        "states:\n  first: {run: {argv: ['false']}, terminal: true}\n",
        encoding="utf-8",
    )
    refused = here.npac("run", str(spec), "--run-id", "r", *FAST, code=2)
    assert "does not do conditional writes" in refused and "--single-writer" in refused
    assert "no runs" in here.npac("runs")
    told = here.npac("run", str(spec), "--run-id", "r", *FAST, "--single-writer", code=1)
    assert "warning: the ledger's store does not do conditional writes" in told
    assert "warning: the ledger's store" in there.npac("retry", "r", *FAST, code=1)
    assert "the log is whole" in there.npac("runs", "fsck", "r")


def test_the_promise_is_for_stores_alone(machines: list[Machine], tmp_path: Path) -> None:
    here = machines[0]
    here.root = str(tmp_path / "folder")
    spec = REPOSITORY / "workflows" / "quickstart.yaml"
    refused = here.npac("run", str(spec), "--single-writer", code=2)
    assert "keeps two drivers apart by itself" in refused and not (tmp_path / "folder").exists()
