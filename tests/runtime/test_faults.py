"""What a driver does when the engine or a store does not do what it should."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from npac.ir.errors import LinkError
from npac.ir.linking import LinkRecord
from npac.ir.program import End, Program, Trigger, Wave
from npac.launch.ports import FAILED, FAILED_CONTROLLER, EngineError
from npac.ledger.ports import StoreError
from npac.ledger.stores import store_for
from npac.runtime import api
from npac.runtime.api import RunOptions
from npac.runtime.signals import NoInterrupts
from tests.runtime.faults import FaultyEngine
from tests.runtime.programs import Watcher, chain, gate_loop, parallel, renderer, step


def fails(*plan):
    """Give a hook that raises each error of a plan in turn, None standing for no fault."""
    left = list(plan)

    def hook(method: str) -> None:
        fault = left.pop(0) if method == "launch" and left else None
        if fault is not None:
            raise fault

    return hook


def infrastructure(row):
    return replace(
        row,
        status=FAILED_CONTROLLER if row.status == FAILED else row.status,
        tasks=tuple(
            replace(t, status=FAILED_CONTROLLER if t.status == FAILED else t.status) for t in row.tasks
        ),
    )


def writer(bench, name="train"):
    return step(name, f"{bench.count(name)}; echo {name} > {bench.work}/{name}", [bench.uri(name)])


def test_a_launch_that_never_left_is_tried_again(bench):
    faults = fails(EngineError("refused", phase="never-sent"), EngineError("refused", phase="never-sent"))
    engine = FaultyEngine(bench.engine(), before=faults)
    assert bench.start(chain(writer(bench)), engine=engine, interrupts=Hasty()).state == "succeeded"
    assert bench.trace() == ["train"]
    assert [r["outcome"] for r in bench.events("launch-result")] == ["never-sent", "never-sent", "accepted"]
    assert [i["n"] for i in bench.events("launch-intent")] == [1, 2, 3]


def test_a_lost_reply_is_settled_by_the_row(bench):
    engine = FaultyEngine(bench.engine(), after=fails(EngineError("reset")), unique=False)
    assert bench.start(chain(writer(bench)), engine=engine).state == "succeeded"
    assert (engine.launches, bench.trace()) == (1, ["train"])
    assert bench.events("job-attached")[0]["adopted"] is True


def test_a_lost_request_blocks_where_a_second_post_could_make_a_second_job(bench):
    engine = FaultyEngine(bench.engine(), before=fails(EngineError("reset")), unique=False)
    result = bench.start(chain(writer(bench)), RunOptions(launch_quiet=0.3), engine=engine)
    assert (result.state, result.exit_code) == ("blocked", 3)
    assert bench.view().code == "LAUNCH_UNDECIDED"
    assert "not known whether POST 1" in result.reason
    again = bench.resume(RunOptions(launch_quiet=0.3), engine=engine)
    assert (again.state, engine.launches, bench.trace()) == ("blocked", 1, [])


def test_a_lost_request_is_sent_again_where_that_is_the_same_job(bench):
    engine = FaultyEngine(bench.engine(), before=fails(EngineError("reset")))
    assert bench.start(chain(writer(bench)), engine=engine).state == "succeeded"
    intents = bench.events("launch-intent")
    assert [i["n"] for i in intents] == [1, 2]
    assert len({i["launch_id"] for i in intents}) == 1
    assert bench.trace() == ["train"]


def test_a_refused_launch_is_not_tried_again(bench):
    refusal = EngineError("no such image", phase="rejected", remedy="name another image")
    engine = FaultyEngine(bench.engine(), before=fails(refusal))
    result = bench.start(chain(writer(bench)), RunOptions(retries=5), engine=engine)
    assert result.state == "failed"
    assert result.remedy.startswith("name another image, then: npac retry run; ")
    assert (bench.view().code, engine.launches) == ("LAUNCH_REJECTED", 1)


def test_a_fault_of_the_machine_has_a_budget_of_its_own(bench):
    once = f"test -e {bench.work}/mark || {{ touch {bench.work}/mark; exit 1; }}"
    program = chain(
        step("train", f"{bench.count('train')}; {once}; echo m > {bench.work}/m", [bench.uri("m")])
    )
    engine = FaultyEngine(bench.engine(), see=infrastructure)
    result = bench.start(program, RunOptions(retries=0), engine=engine, interrupts=Hasty())
    assert result.state == "succeeded"
    assert [a.budget for a in bench.view().waves["train"].attempts] == ["first", "infrastructure"]


def test_that_budget_runs_out_and_does_not_borrow(bench):
    engine = FaultyEngine(bench.engine(), see=infrastructure)
    program = chain(step("train", f"{bench.count('train')}; exit 1"))
    options = RunOptions(retries=5, max_infrastructure_recoveries=0)
    result = bench.start(program, options, engine=engine)
    assert (result.state, bench.view().code) == ("failed", FAILED_CONTROLLER)
    assert bench.trace() == ["train"]
    assert bench.resume(options, engine=engine).state == "failed"
    assert bench.trace() == ["train"]


def test_after_a_fault_of_the_machine_written_outputs_wait_for_a_word(bench):
    shell = f"{bench.count('train')}; echo half > {bench.work}/m; test -e {bench.work}/ok"
    program = chain(step("train", shell, [bench.uri("m")]))
    engine = FaultyEngine(bench.engine(), see=infrastructure)
    result = bench.start(program, engine=engine)
    assert (result.state, bench.view().code) == ("blocked", "OUTPUT_TOUCHED")
    assert bench.uri("m") in result.reason
    assert bench.resume(engine=engine).state == "blocked"
    (bench.work / "ok").touch()
    api.request_retry(bench.ledgers().open("run"))
    assert bench.resume(engine=engine).state == "succeeded"
    assert [a.budget for a in bench.view().waves["train"].attempts] == ["first", "request"]
    assert bench.trace() == ["train", "train"]


def test_an_engine_that_goes_silent_costs_no_job(bench):
    silent = False

    def hook(method: str) -> None:
        if silent and method in ("job", "cancel"):
            raise EngineError("503")

    class Cut(Watcher):
        def job_changed(self, wave, launch):
            nonlocal silent
            silent = True

    go = f"while ! test -e {bench.work}/go; do sleep 0.1; done"
    program = chain(step("train", f"{go}; {bench.count('train')}"))
    engine = FaultyEngine(bench.engine(), before=hook)
    result = bench.start(program, RunOptions(max_status_outage=0.3), engine=engine, progress=Cut())
    assert (result.state, result.exit_code) == ("blocked", 3)
    assert (bench.view().code, bench.view().dark) == ("ENGINE_SILENT", "503")
    assert [row.terminal for row in bench.engine().jobs()] == [False]
    silent = False
    (bench.work / "go").touch()
    assert bench.resume(engine=engine).state == "succeeded"
    assert (bench.trace(), engine.launches) == (["train"], 1)
    assert bench.view().dark == ""


def test_an_outage_is_over_although_the_first_answer_is_that_the_job_has_ended(bench):
    silent = False

    def hook(method: str) -> None:
        if silent and method in ("job", "cancel"):
            raise EngineError("503")

    class Cut(Watcher):
        def job_changed(self, wave, launch):
            nonlocal silent
            silent = True

    go = f"while ! test -e {bench.work}/go; do sleep 0.1; done"
    engine = FaultyEngine(bench.engine(), before=hook)
    options = RunOptions(max_status_outage=0.3)
    assert bench.start(chain(step("train", go)), options, engine=engine, progress=Cut()).exit_code == 3
    (bench.work / "go").touch()
    (job,) = bench.engine().jobs()
    deadline = time.monotonic() + 30
    while not (row := bench.engine().job(job.id)) or not row.terminal:
        assert time.monotonic() < deadline, f"job {job.id} does not end"
        time.sleep(0.02)
    silent = False
    assert bench.resume(engine=engine).state == "succeeded"
    assert bench.view().dark == ""


def test_a_job_that_is_gone_is_neither_failed_nor_launched_again(bench):
    shown = []

    def see(row):
        shown.append(row)
        return row if len(shown) < 2 else None

    engine = FaultyEngine(bench.engine(), see=see)
    result = bench.start(chain(writer(bench)), RunOptions(retries=3), engine=engine)
    assert (result.state, bench.view().code, engine.launches) == ("blocked", "JOB_GONE", 1)


def test_another_engine_instance_blocks_what_is_in_flight(bench):
    go = f"while ! test -e {bench.work}/go; do sleep 0.1; done"
    program = chain(step("train", f"{go}; {bench.count('train')}"))
    bench.start(program, RunOptions(max_wait=0.2, on_timeout="detach"))
    other = FaultyEngine(bench.engine(), instance="another")
    result = bench.resume(RunOptions(), engine=other)
    assert (result.state, bench.view().code) == ("blocked", "ENGINE_MOVED")
    (bench.work / "go").touch()
    assert bench.resume(RunOptions()).state == "succeeded"
    assert bench.trace() == ["train"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("", "is empty"),
        ("not json", "not JSON"),
        ('["promote"]', "not a JSON object"),
        ('{"verdict": "promote"}', "none of decision"),
        ('{"decision": ""}', 'decision is ""'),
        ('{"decision": "maybe"}', 'decision is "maybe"'),
        ('{"decision": null, "action": "promote"}', "decision is null"),
        ('{"decision": "promote", "decision": "loop_back"}', "twice"),
    ],
)
def test_a_decision_that_says_nothing_fails_the_run_and_is_shown(bench, written, shown):
    program = gate_loop(bench, 2, 1)
    text = written or " "
    judge = replace(program.steps[1], shell=f"printf '%s' '{text}' > {bench.work}/decision.json")
    program = replace(program, steps=(program.steps[0], judge, *program.steps[2:]))
    result = bench.start(program)
    assert (result.state, bench.view().code) == ("failed", "DECISION_INVALID")
    assert shown in result.reason


class Meddler(Watcher):
    """Changes the decision after its writer was proven to have written it."""

    def __init__(self, change) -> None:
        super().__init__()
        self.change = change

    def wave_ended(self, wave) -> None:
        if wave.label == "judge":
            self.change()


@pytest.mark.parametrize("how", ["replaced", "removed"])
def test_a_decision_that_is_not_the_recorded_one_blocks_until_a_person_decides(bench, how):
    place = bench.work / "decision.json"

    def change() -> None:
        if how == "removed":
            place.unlink()
        else:
            place.write_text(json.dumps({"decision": "promote_checkpoint"}))

    result = bench.start(gate_loop(bench, 2, 2), progress=Meddler(change))
    view = bench.view()
    assert (result.state, result.exit_code, view.code) == ("blocked", 3, "DECISION_CHANGED")
    recorded, now = view.evidence["recorded"], view.evidence["now"]
    assert recorded["identity"]["inode"]
    assert now is None if how == "removed" else now["identity"] != recorded["identity"]
    assert result.remedy.startswith("npac decide run loop[1]/gate")

    ledger = bench.ledgers().open("run")
    without = api.request_decision(ledger, "loop[1]/gate", "promote", "")
    wrong = api.request_decision(ledger, "loop[2]/gate", "promote", "looked at it")
    right = api.request_decision(ledger, "loop[1]/gate", "promote", "looked at it", by="me")
    assert bench.resume().state == "succeeded"
    assert [ledger.result(r)["accepted"] for r in (without, wrong, right)] == [False, False, True]
    assert bench.trace() == ["train1", "judge1", "publish"]
    decision = bench.view().decisions["loop[1]/gate"]
    assert (decision.given, decision.reason, decision.decision) == (
        True,
        "looked at it",
        "promote_checkpoint",
    )


def test_a_decision_is_never_given_ahead(bench):
    asked: list[str] = []

    class Eager(Watcher):
        def wave_started(self, wave) -> None:
            if not asked:
                ledger = bench.ledgers().open("run")
                asked.append(api.request_decision(ledger, "loop[1]/gate", "promote", "sure"))

    assert bench.start(gate_loop(bench, 2, 2), progress=Eager()).state == "succeeded"
    assert bench.ledgers().open("run").result(asked[0])["accepted"] is False
    assert bench.trace() == ["train1", "judge1", "train2", "judge2", "publish"]


class Refusing:
    """A store for everything that never says what it has."""

    def __call__(self, uri: str):
        raise StoreError("access denied", remedy="ask for access")


class Hiccup:
    """The real stores, after refusing to answer twice."""

    left = 2

    def __call__(self, uri: str):
        self.left -= 1
        if self.left >= 0:
            raise StoreError("slow down")
        return store_for(uri)


class Hasty(NoInterrupts):
    """Waits a little where a driver would wait long."""

    def wait(self, seconds: float) -> None:
        super().wait(min(seconds, 0.02))


def run_with_stores(bench, stores, watcher):
    program, link = chain(writer(bench)), LinkRecord("run", run_uid="0" * 32)
    world = api.World(bench.engine(), stores, renderer(program, link), progress=watcher, interrupts=Hasty())
    return api.start_run(bench.ledgers().create("run"), world, program, link)


def test_a_store_that_refuses_is_no_proof_of_absence(bench):
    result = run_with_stores(bench, Refusing(), Watcher())
    assert (result.state, result.exit_code) == ("blocked", 3)
    assert result.remedy == "ask for access, then: npac resume run"
    assert bench.view().code == "STORE_UNAVAILABLE"
    assert bench.trace() == []
    assert bench.resume().state == "succeeded"


def test_a_store_that_hiccups_is_asked_again(bench):
    watcher = Watcher()
    assert run_with_stores(bench, Hiccup(), watcher).state == "succeeded"
    assert sum("slow down" in line for line in watcher.lines) == 2


@pytest.mark.parametrize("uri", ["file://elsewhere/a/b", "gs://bucket/a", "s3://-/a"])
def test_a_uri_that_no_store_can_ever_look_at_is_not_asked_for_again(bench, uri):
    watcher = Watcher()
    result = bench.start(chain(step("train", bench.count("train"), [uri])), progress=watcher)
    assert (result.state, result.exit_code) == ("failed", 1)
    assert "trying again" not in "".join(watcher.lines)
    assert bench.trace() == [] and bench.events("wave-started") == []


@pytest.mark.parametrize("uri", ["file://elsewhere/a/", "gs://bucket/a/"])
def test_a_trigger_that_can_never_be_listed_blocks_at_once(bench, uri):
    waits = chain(step("train", bench.count("train")))
    first = waits.nodes[0]
    assert isinstance(first, Wave)
    wave = replace(first, triggers=(Trigger("train", uri, poll_seconds=60),))
    result = bench.start(replace(waits, nodes=(wave, *waits.nodes[1:])))
    assert (result.state, bench.view().code) == ("blocked", "STORE_UNUSABLE")
    assert bench.trace() == []


def test_a_retry_after_a_folder_could_not_be_made_grants_one_attempt_and_no_more(bench):
    (bench.work / "deep").touch()
    line = f"{bench.count('train')}; exit 1"
    bench.start(chain(step("train", line, [bench.uri("deep/a/b")])))
    assert bench.view().code == "OUTPUT_FOLDER"
    (bench.work / "deep").unlink()
    api.request_retry(bench.ledgers().open("run"))
    assert bench.resume().state == "failed"
    assert bench.trace() == ["train"]
    assert (bench.work / "deep" / "a").is_dir() and not bench.view().retry


def test_members_that_failed_are_told_once_each(bench):
    steps = (step("a", "exit 127"), step("b", "exit 3"), step("c", "true"))
    result = bench.start(
        Program("group", "all", steps, (parallel(1, "all", [0, 1, 2], 3, "end"), End("end")))
    )
    assert result.reason == (
        "all: a ended FAILED with exit code 127 (command not found); b ended FAILED with exit code 3"
    )


def test_documents_that_cannot_be_made_fail_before_there_is_an_intent(bench):
    def render(wave, members, values):
        raise LinkError("no value is given for <endpoint>")

    program, link = chain(writer(bench)), LinkRecord("run", run_uid="0" * 32)
    world = api.World(bench.engine(), store_for, render)
    result = api.start_run(bench.ledgers().create("run"), world, program, link)
    assert (result.state, bench.view().code) == ("failed", "LINK_FAILED")
    assert "<endpoint>" in result.reason
    assert bench.events("launch-intent") == []
