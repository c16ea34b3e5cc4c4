"""Drivers that die, leave, meet, and go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import replace

import pytest

from npac.ir.linking import LinkRecord
from npac.ir.program import Artifact
from npac.runtime import api
from npac.runtime.api import RunOptions
from npac.runtime.signals import caught
from tests.runtime.faults import DeadlyLedger
from tests.runtime.programs import Bench, Watcher, chain, gate_loop, step

ONCE = ["train1", "judge1", "train2", "judge2", "publish"]


def deadly_driver(bench: Bench, program, kill_at: int, kill_after: bool, first: bool) -> int:
    """Run one driver in a process of its own that kills itself; gives the process's wait status."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    try:
        folder = bench.ledgers().path / "run"
        ledger = DeadlyLedger(folder, "run")
        ledger.kill_at, ledger.kill_after = kill_at, kill_after
        if first:
            link = LinkRecord("run", run_uid="5" * 32)
            result = api.start_run(ledger, bench.world(program, link), program, link)
        else:
            stored = api.load(ledger)
            result = api.resume_run(ledger, bench.world(stored.program, stored.link))
        os._exit(result.exit_code)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(99)


@pytest.mark.parametrize("kill_after", [False, True])
@pytest.mark.parametrize("stride", [4, 5])
def test_killed_again_and_again_every_command_runs_once(bench, stride, kill_after):
    program = gate_loop(bench, 3, 2)
    bench.ledgers().create("run").close()
    # The first driver must live long enough to say what the run is.
    status = deadly_driver(bench, program, stride, kill_after, first=True)
    drivers = 1
    while os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        drivers += 1
        assert drivers < 60
        status = deadly_driver(bench, program, stride, kill_after, first=False)
    assert os.WEXITSTATUS(status) == 0
    assert drivers > 5
    assert bench.trace() == ONCE
    view = bench.view()
    assert view.state == "succeeded"
    assert len(bench.engine().jobs()) == len(ONCE)
    assert all(len(wave.attempts) == 1 for wave in view.waves.values())


def test_killed_while_a_job_runs_the_job_goes_on_and_is_taken_up(bench):
    go = bench.work / "go"
    program = chain(
        step("first", bench.count("first")),
        step(
            "slow",
            f"{bench.count('slow')}; while ! test -e {go}; do sleep 0.05; done; echo x > {bench.work}/x",
            [bench.uri("x")],
        ),
        step("last", bench.count("last")),
    )
    child = os.fork()
    if not child:
        try:
            bench.start(program)
        finally:
            os._exit(99)
    wait_for(lambda: bench.trace() == ["first", "slow"])
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    go.touch()
    assert bench.resume().state == "succeeded"
    assert bench.trace() == ["first", "slow", "last"]
    assert len(bench.events("driver-started")) == 2


def wait_for(condition, seconds: float = 30.0) -> None:
    """Wait until something is so."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.02)


def test_a_finished_run_is_left_alone(bench):
    program = chain(step("only", bench.count("only")))
    assert bench.start(program).state == "succeeded"
    before = bench.view().head
    assert bench.resume().exit_code == 0
    assert (bench.view().head, bench.trace()) == (before, ["only"])


def test_two_drivers_on_one_run_and_one_refuses(bench):
    go = f"while ! test -e {bench.work}/go; do sleep 0.05; done"
    program = chain(step("slow", f"{bench.count('slow')}; {go}"))
    runner = threading.Thread(target=bench.start, args=(program,))
    runner.start()
    try:
        wait_for(lambda: bench.trace() == ["slow"])
        with pytest.raises(api.Refused, match="alive"):
            bench.resume()
        with pytest.raises(Exception, match="exists"):
            bench.start(program)
    finally:
        (bench.work / "go").touch()
        runner.join(30)
    assert bench.view().state == "succeeded"
    assert bench.trace() == ["slow"]


CANCEL = """
import sys
from npac.ledger.root import LedgerRoot
from npac.runtime import api
api.request_cancel(LedgerRoot(sys.argv[1]).open("run"), "not needed any more")
"""


def test_cancelled_from_another_process(bench):
    program = chain(step("slow", f"{bench.count('slow')}; exec sleep 600"), step("next", bench.count("next")))
    results = []
    runner = threading.Thread(target=lambda: results.append(bench.start(program)))
    runner.start()
    wait_for(lambda: bench.trace() == ["slow"])
    subprocess.run([sys.executable, "-c", CANCEL, str(bench.ledgers().path)], check=True, timeout=30)
    runner.join(30)
    assert [(r.state, r.exit_code, r.reason) for r in results] == [("cancelled", 4, "not needed any more")]
    assert [row.status for row in bench.engine().jobs()] == ["CANCELLED"]
    assert bench.trace() == ["slow"]
    assert bench.ledgers().open("run").requests() == []
    assert [e["why"] for e in bench.events("cancel-intent")] == ["cancelled"]
    # An end is an end, until a person asks for more.
    assert bench.resume().exit_code == 4
    assert bench.trace() == ["slow"]


def test_cancelled_with_no_driver_there(bench):
    program = chain(step("slow", f"{bench.count('slow')}; exec sleep 600"))
    assert bench.start(program, RunOptions(max_wait=0.3, on_timeout="detach")).state == "blocked"
    api.request_cancel(bench.ledgers().open("run"))
    assert bench.resume().exit_code == 4
    assert [row.status for row in bench.engine().jobs()] == ["CANCELLED"]


def test_a_job_that_somebody_else_cancels_ends_the_run_as_cancelled(bench):
    class Rival(Watcher):
        def job_changed(self, wave, launch):
            if launch.status == "RUNNING":
                bench.engine().cancel(launch.job.id)

    program = chain(step("slow", "exec sleep 600"))
    result = bench.start(program, RunOptions(retries=3), progress=Rival())
    assert (result.state, result.exit_code) == ("cancelled", 4)
    assert "by someone else" in result.reason
    assert len(bench.engine().jobs()) == 1


def test_a_job_that_wins_the_race_against_its_cancellation_counts(bench):
    class Late(Watcher):
        def job_changed(self, wave, launch):
            if launch.status == "RUNNING":
                wait_for(lambda: bench.engine().job(launch.job.id).terminal)
                api.request_cancel(bench.ledgers().open("run"))

    shell = f"sleep 0.3; echo x > {bench.work}/x"
    program = chain(step("quick", shell, [bench.uri("x")]), step("next", bench.count("next")))
    watcher = Late()
    result = bench.start(program, progress=watcher)
    assert (result.state, bench.trace()) == ("cancelled", [])
    assert bench.view().waves["quick"].state == "succeeded"
    assert any("had succeeded before it could be cancelled" in line for line in watcher.lines)


SIGNALS = [
    (signal.SIGTERM, "ask", "running", 130),
    (signal.SIGINT, "detach", "running", 130),
    (signal.SIGINT, "cancel", "cancelled", 4),
    (signal.SIGINT, "ask", "running", 130),
]


@pytest.mark.parametrize(("number", "choice", "state", "code"), SIGNALS)
def test_signals(bench, number, choice, state, code):
    go = bench.work / "go"
    program = chain(step("slow", f"{bench.count('slow')}; while ! test -e {go}; do sleep 0.05; done"))

    def send() -> None:
        wait_for(lambda: bench.trace() == ["slow"])
        os.kill(os.getpid(), number)

    sender = threading.Thread(target=send)
    with caught() as interrupts:
        sender.start()
        result = bench.start(program, RunOptions(on_interrupt=choice, poll_seconds=30), interrupts=interrupts)
    sender.join(10)
    assert (result.state, result.exit_code) == (state, code)
    go.touch()
    if state == "running":
        assert bench.view().detached
        assert result.remedy == "npac resume run (or, to end its jobs: npac cancel run)"
        assert bench.resume(RunOptions()).state == "succeeded"
        assert bench.view().detached == ""
    assert bench.trace() == ["slow"]


def test_an_interrupt_that_is_waved_off_changes_nothing(bench):
    class Calm(Watcher):
        def ask_interrupt(self) -> str:
            self.lines.append("asked")
            (bench.work / "go").touch()
            return "continue"

    go = f"while ! test -e {bench.work}/go; do sleep 0.05; done"
    program = chain(step("slow", f"{bench.count('slow')}; {go}"))

    def send() -> None:
        wait_for(lambda: bench.trace() == ["slow"])
        os.kill(os.getpid(), signal.SIGINT)

    watcher = Calm()
    sender = threading.Thread(target=send)
    with caught() as interrupts:
        sender.start()
        result = bench.start(program, interrupts=interrupts, progress=watcher)
    sender.join(10)
    assert result.state == "succeeded"
    assert watcher.lines.count("asked") == 1


def failed_run(bench):
    program = chain(
        step("first", f"{bench.count('first')}; echo 1 > {bench.work}/1", [bench.uri("1")]),
        step(
            "second",
            f"{bench.count('second')}; test -e {bench.work}/mended",
            inputs=(Artifact(bench.uri("1")),),
        ),
    )
    assert bench.start(program).state == "failed"
    return program


def test_another_program_is_refused_and_what_changed_is_named(bench):
    program = failed_run(bench)
    steps = (program.steps[0], replace(program.steps[1], shell="true"))
    with pytest.raises(api.Refused, match="changed: state second"):
        bench.resume(RunOptions(retries=1), program=replace(program, steps=steps))
    (bench.work / "mended").touch()
    assert bench.resume(RunOptions(retries=1), program=program).state == "succeeded"
    assert bench.trace() == ["first", "second", "second"]


def test_another_link_record_is_refused_and_what_changed_is_named(bench):
    failed_run(bench)
    link = replace(api.load(bench.ledgers().open("run")).link, endpoint_url="https://elsewhere")
    with pytest.raises(api.Refused, match="changed: endpoint_url"):
        bench.resume(RunOptions(retries=1), link=link)
    assert bench.trace() == ["first", "second"]


def test_a_failed_run_goes_on_when_a_person_asks(bench):
    failed_run(bench)
    assert bench.resume().state == "failed"
    (bench.work / "mended").touch()
    api.request_retry(bench.ledgers().open("run"))
    assert bench.resume().state == "succeeded"
    assert bench.trace() == ["first", "second", "second"]


def test_a_needed_output_that_is_gone_is_made_again(bench):
    failed_run(bench)
    (bench.work / "1").unlink()
    (bench.work / "mended").touch()
    assert bench.resume(RunOptions(retries=1)).state == "succeeded"
    # The last finished wave runs again, since the one that failed still reads what it wrote.
    assert bench.trace() == ["first", "second", "first", "second"]
    assert [a.budget for a in bench.view().waves["first"].attempts] == ["first", "lost-output"]


def test_a_needed_output_from_further_back_blocks(bench):
    program = chain(
        step("first", f"{bench.count('first')}; echo 1 > {bench.work}/1", [bench.uri("1")]),
        step("second", bench.count("second")),
        step("third", "exit 1", inputs=(Artifact(bench.uri("1")),)),
    )
    bench.start(program)
    (bench.work / "1").unlink()
    result = bench.resume(RunOptions(retries=1))
    assert (result.state, bench.view().code) == ("blocked", "OUTPUT_LOST")
    assert bench.trace() == ["first", "second"]


def test_an_output_that_nobody_reads_any_more_may_go(bench):
    program = chain(
        step("first", f"{bench.count('first')}; echo 1 > {bench.work}/1", [bench.uri("1")]),
        step("second", f"test -e {bench.work}/mended"),
    )
    bench.start(program)
    (bench.work / "1").unlink()
    (bench.work / "mended").touch()
    assert bench.resume(RunOptions(retries=1)).state == "succeeded"
    assert bench.trace() == ["first"]


def test_a_run_that_never_was_is_refused(bench):
    ledger = bench.ledgers().create("run")
    ledger.release(ledger.take({}))
    with pytest.raises(api.Refused, match="given up before"):
        api.load(ledger)


def test_jobs_of_an_unknown_run_with_this_id_refuse_a_new_one(bench):
    program = chain(step("slow", f"{bench.count('slow')}; exec sleep 600"))
    bench.start(program, RunOptions(max_wait=0.3, on_timeout="detach"))
    elsewhere = Bench(bench.root / "elsewhere")
    elsewhere.root.mkdir()
    with pytest.raises(api.Refused, match="another run called run"):
        elsewhere.start(program, engine=bench.engine())
    api.request_cancel(bench.ledgers().open("run"))
    assert bench.resume().exit_code == 4


def events_before(bench: Bench, kind: str) -> int:
    """Give the place of the first event of a type among those that a first driver appends."""
    probe = Bench(bench.root / "probe")
    probe.root.mkdir()
    assert probe.start(chain(step("train", "true"))).state == "succeeded"
    kinds = [event.type for event in probe.ledgers().open("run").events()]
    return kinds.index(kind)


@pytest.mark.parametrize(
    ("kind", "after", "jobs"),
    [
        ("launch-intent", True, []),
        ("launch-result", False, ["CANCELLED"]),
        ("job-attached", False, ["CANCELLED"]),
    ],
)
def test_cancelled_after_a_driver_died_around_its_post(bench, kind, after, jobs):
    program = chain(step("train", f"{bench.count('train')}; exec sleep 600"))
    place = events_before(bench, kind)
    bench.ledgers().create("run").close()
    status = deadly_driver(bench, program, place, after, first=True)
    assert os.WIFSIGNALED(status)
    api.request_cancel(bench.ledgers().open("run"), "enough")
    result = bench.resume()
    assert (result.state, result.exit_code, result.reason) == ("cancelled", 4, "enough")
    assert [row.status for row in bench.engine().jobs()] == jobs
    assert len(bench.events("launch-absent")) == (0 if jobs else 1)
    assert bench.view().waves["train"].state == "failed"
    api.request_retry(bench.ledgers().open("run"))
    api.request_cancel(bench.ledgers().open("run"), "again")
    assert bench.resume().state == "cancelled"
