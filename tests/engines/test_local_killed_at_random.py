"""``kill -9`` of driver, supervisor and job at random moments: a few rounds, hundreds where NPAC_SOAK is set.

After each: no process is left, every line that a job had written is in its log, and the status is one
that says what happened.  The moments come from a seed that a failure prints.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from npac import api
from npac.engines.local import processes
from npac.engines.local.engine import LocalEngine
from tests.api.command import ROOT
from tests.cli.runs_of import sh, write

SOAK = bool(os.environ.get("NPAC_SOAK"))
ROUNDS = 60 if SOAK else 4
RUNS = 10 if SOAK else 1
"""Rounds in one test, and how often each test is done."""

LINES = 6
"""What a job writes: each line to its log first, and then to a file that tells that it was written."""

NPAC = "from npac.cli.main import entry; entry()"


def _script(told: Path) -> str:
    return (
        f"( sleep 600 & sleep 600 ) & for i in {' '.join(map(str, range(LINES)))}; do "
        f'echo "line $i"; echo "line $i" >> {told}; sleep 0.02; done; exit 3'
    )


def _moment(chance: random.Random) -> float:
    """Give a pause in seconds: often short, since that is where most happens."""
    return chance.random() ** 2 * 0.6


def _demand_whole_log(bench: Any, engine: LocalEngine, job: str, told: Path) -> None:
    written = told.read_text().splitlines() if told.exists() else []
    logged = [line for line in bench.log(engine, job).splitlines() if line.startswith("line ")]
    assert logged[: len(written)] == written
    assert logged == [f"line {number}" for number in range(len(logged))]


@pytest.mark.parametrize("run", range(RUNS))
def test_a_supervisor(bench: Any, tmp_path: Path, run: int) -> None:
    chance, engine = random.Random(f"supervisor {run}"), bench.engine()
    for number in range(ROUNDS):
        told = tmp_path / f"told{number}"
        job = bench.launch(engine, bench.task(_script(told)))
        supervisor, pause = bench.supervisor(engine, job), _moment(chance)
        time.sleep(pause)
        with contextlib.suppress(ProcessLookupError):
            os.kill(supervisor, signal.SIGKILL)
        row = bench.finish(engine, job)
        assert bench.living(engine, job) == [], pause
        _demand_whole_log(bench, engine, job, told)
        if row.status == "FAILED":
            assert (row.reason, row.tasks[0].exit_code) == ("run exited with code 3", 3)
            assert len(told.read_text().splitlines()) == LINES
        else:
            assert row.status == "FAILED_CONTROLLER", (pause, row)
            assert f"supervisor (pid {supervisor}) ended before" in row.reason
            assert told.exists() is False or "nothing of it has run" not in row.reason


@pytest.mark.parametrize("run", range(RUNS))
def test_a_job(bench: Any, tmp_path: Path, run: int) -> None:
    chance, engine = random.Random(f"job {run}"), bench.engine()
    for number in range(ROUNDS):
        told = tmp_path / f"told{number}"
        job = bench.launch(engine, bench.task(_script(told)))
        time.sleep(_moment(chance))
        victims = bench.living(engine, job)
        killed = chance.choice(victims) if victims else None
        if killed is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(killed, signal.SIGKILL)
        row = bench.finish(engine, job)
        assert bench.living(engine, job) == []
        _demand_whole_log(bench, engine, job, told)
        # A child that is killed fails nothing by itself; the script that is killed is said to have been.
        assert row.status == "FAILED", row
        assert row.reason in ("run exited with code 3", "run was ended by signal 9 (SIGKILL)"), row
        assert row.tasks[0].exit_code in (3, 128 + signal.SIGKILL)


@pytest.mark.parametrize("run", range(RUNS))
def test_a_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: int) -> None:
    chance = random.Random(f"driver {run}")
    monkeypatch.setenv("NPAC_HOME", str(tmp_path / "home"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    spec = write(
        tmp_path,
        f"  one: {sh(f'echo one >> {tmp_path}/$NPA_WORKFLOW_RUN; echo seen', 'next: two')}\n"
        f"  two: {sh(f'sleep 0.1; echo two >> {tmp_path}/$NPA_WORKFLOW_RUN', 'terminal: true')}\n",
    )
    text = spec.read_text()
    for number in range(max(3, ROUNDS // 4)):
        name = f"r{number}"
        spec.write_text(text.replace("$NPA_WORKFLOW_RUN", name))
        command = [sys.executable, "-c", NPAC, "run", str(spec), "--run-id", name, "--poll-seconds", "0.05"]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as driver:
            # From its first event on, where there is something to lose.
            deadline = time.monotonic() + 60
            while not _begun(name) and driver.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            time.sleep(_moment(chance) * 3)
            driver.kill()
            driver.communicate()
        result = api.resume(name)
        assert (result.state, result.exit_code) == ("succeeded", 0), result
        assert (tmp_path / name).read_text() == "one\ntwo\n", "each ran once"
        job = api.status(name).waves["one"].last.launches[1].job
        assert job is not None
        assert "".join(api.logs(name, job.id)).splitlines() == ["seen"]
    engine = LocalEngine(Path(tmp_path, "home", "engines", "local"))
    assert len(engine.jobs()) == 2 * max(3, ROUNDS // 4)
    assert processes.find(f"{engine.capabilities().instance}.", ()) == []


def _begun(name: str) -> bool:
    try:
        return bool(api.status(name).run_uid)
    except api.NpacError:
        return False
