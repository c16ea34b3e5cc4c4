"""Whole programs on the embedded engine, with the real ledger, stores and documents."""

from __future__ import annotations

import hashlib
import json
import threading
import time

import pytest

from npac.ir.program import Artifact, End, Gate, GroupOutputs, Member, Program, Step, Trigger, Wave
from npac.ir.values import RUN_ID, concat
from npac.runtime import api
from npac.runtime.api import RunOptions
from tests.runtime.programs import Watcher, chain, gate_loop, parallel, serial, step


def test_a_chain_runs_in_order_and_its_outputs_are_on_record(bench):
    watcher = Watcher()
    names = ["generate", "train", "evaluate"]
    program = chain(
        *(step(n, f"{bench.count(n)}; echo {n} > {bench.work}/{n}", [bench.uri(n)]) for n in names)
    )
    result = bench.start(program, progress=watcher)
    assert (result.state, result.exit_code, result.remedy) == ("succeeded", 0, "")
    assert bench.trace() == names
    assert watcher.lines == [line for n in names for line in (f"start {n} 1", f"end {n} succeeded")]
    view = bench.view()
    assert [view.records[bench.uri(n)].node for n in names] == names
    assert [wave.last.launches[1].job.name[: len("run-001-")] for wave in view.waves.values()] == [
        "run-001-",
        "run-002-",
        "run-003-",
    ]


def test_tasks_see_who_they_are(bench):
    shell = f"env | grep ^NPA_WORKFLOW | sort > {bench.work}/env"
    assert bench.start(chain(step("who", shell, [bench.uri("env")]))).state == "succeeded"
    seen = dict(line.split("=", 1) for line in (bench.work / "env").read_text().splitlines())
    launch = bench.view().waves["who"].last.launches[1]
    assert seen == {
        "NPA_WORKFLOW_NAME": "chain",
        "NPA_WORKFLOW_RUN_ID": "run",
        "NPA_WORKFLOW_STATE": "who",
        "NPA_WORKFLOW_ATTEMPT_ID": launch.launch_id,
        "NPA_WORKFLOW_FENCE_SEQUENCE": "1",
        "NPA_WORKFLOW_FENCE_ATTEMPT": "1",
    }


def test_the_run_id_is_filled_into_outputs(bench):
    uri = concat([f"file://{bench.work}/", RUN_ID, "/model"])
    shell = f"mkdir -p {bench.work}/nightly; echo m > {bench.work}/nightly/model"
    train = Step("train", shell=shell, outputs=(Artifact(uri),))
    assert bench.start(chain(train), run_id="nightly").state == "succeeded"
    assert f"file://{bench.work}/nightly/model" in bench.view("nightly").records


def test_batches_of_a_group_run_one_after_the_other(bench):
    steps = tuple(
        step(f"m{i}", f"{bench.count(f'm{i}')}; echo {i} > {bench.work}/m{i}", [bench.uri(f"m{i}")])
        for i in range(5)
    )
    shell = f"{bench.count('best')}; cat {bench.work}/m? | sort -n | tail -1 > {bench.work}/best"
    best = step("best", shell, [bench.uri("best")])
    program = Program(
        "sweep",
        "sweep",
        (*steps, best),
        (parallel(1, "sweep", range(5), 2, "best"), serial(2, "best", 5, "end"), End("end")),
    )
    assert bench.start(program).state == "succeeded"
    trace = bench.trace()
    assert [set(trace[0:2]), set(trace[2:4]), trace[4:]] == [{"m0", "m1"}, {"m2", "m3"}, ["m4", "best"]]
    assert (bench.work / "best").read_text() == "4\n"
    launches = bench.view().waves["sweep"].last.launches
    assert {number: launch.tasks for number, launch in launches.items()} == {
        1: ("m0", "m1"),
        2: ("m2", "m3"),
        3: ("m4",),
    }
    assert all(f"-sweep-b{number}-" in launch.name for number, launch in launches.items())


@pytest.mark.parametrize(("promote_at", "turns"), [(1, 1), (2, 2), (9, 3)])
def test_a_loop_leaves_on_the_decision_that_was_really_written(bench, promote_at, turns):
    result = bench.start(gate_loop(bench, 3, promote_at))
    assert result.state == "succeeded"
    expected = [f"{name}{turn}" for turn in range(1, turns + 1) for name in ("train", "judge")]
    assert bench.trace() == [*expected, "publish"]
    decisions = bench.view().decisions
    assert [d.decision for d in decisions.values()] == ["loop_back"] * (turns - 1) + [
        "promote_checkpoint" if promote_at <= 3 else "loop_back"
    ]


def test_transitions_route_by_the_decision(bench):
    uri = bench.uri("verdict")
    for decision, last in (("promote", "ship"), ("loop_back_to_inner_loop", "mend")):
        run_id = f"run-{last}"
        answer = json.dumps({"action": decision})
        judge = step(
            "judge",
            f"echo '{answer}' > {bench.work}/verdict",
            [uri],
            writes_decision=True,
            decision_uri=uri,
        )
        program = Program(
            "route",
            "judge",
            (judge, step("ship", bench.count("ship")), step("mend", bench.count("mend"))),
            (
                serial(1, "judge", 0, "judge/gate"),
                Gate("judge/gate", "judge", "transitions", uri, "ship", "mend", ("judge",)),
                serial(2, "ship", 1, "end"),
                serial(3, "mend", 2, "end"),
                End("end"),
            ),
        )
        assert bench.start(program, run_id=run_id).state == "succeeded"
        assert bench.trace()[-1] == last
        assert bench.events("decision-read", run_id)[0]["next"] == last


def test_a_step_without_outputs_succeeds_by_its_status(bench):
    assert bench.start(chain(step("hello", bench.count("hello")))).exit_code == 0
    result = bench.start(chain(step("hello", "exit 3")), run_id="second")
    assert (result.state, result.exit_code) == ("failed", 1)
    assert "hello ended FAILED with exit code 3" in result.reason
    assert result.remedy == (
        "mend what made hello fail, then: npac retry second; "
        "if the spec, a --var or a code path has to change: npac resume second --amend SPEC; "
        "or, anew: npac run SPEC"
    )


def test_success_without_the_declared_output_is_a_failure(bench):
    result = bench.start(
        chain(step("train", "true", [bench.uri("model")]), step("next", bench.count("next")))
    )
    assert (result.state, result.exit_code) == ("failed", 1)
    assert "nothing is there" in result.reason
    assert bench.view().code == "DECLARED_OUTPUT_MISSING"
    assert bench.trace() == []


@pytest.mark.parametrize("shell", ["true", ": > {out}", "rm {out}"])
def test_a_file_of_an_earlier_time_is_no_output(bench, shell):
    (bench.work / "model").write_text("old")
    command = shell.format(out=bench.work / "model")
    result = bench.start(chain(step("train", command, [bench.uri("model")])))
    assert bench.view().code == "DECLARED_OUTPUT_MISSING"
    assert result.exit_code == 1


def test_a_file_rewritten_with_the_same_bytes_is_an_output(bench):
    (bench.work / "model").write_text("old\n")
    command = f"echo old > {bench.work}/model"
    assert bench.start(chain(step("train", command, [bench.uri("model")]))).state == "succeeded"


def test_the_files_of_one_iteration_do_not_satisfy_the_next(bench):
    uri = bench.uri("model")
    write = f"{bench.count('one')}; echo m > {bench.work}/model"
    steps = (step("train", write, [uri]), step("train", bench.count("two"), [uri]))
    program = Program(
        "loop",
        "loop[1]/train",
        steps,
        (
            serial(1, "loop[1]/train", 0, "loop[2]/train", loops={"loop": 1}),
            serial(2, "loop[2]/train", 1, "end", loops={"loop": 2}),
            End("end"),
        ),
    )
    result = bench.start(program)
    assert bench.trace() == ["one", "two"]
    assert bench.view().code == "DECLARED_OUTPUT_MISSING"
    assert "the same as before the step began" in result.reason


def test_outputs_of_groups_and_sequences_are_proven_too(bench):
    shards = tuple(step(f"m{i}", f"mkdir -p {bench.work}/d; echo {i} > {bench.work}/d/{i}") for i in range(2))
    data = Artifact(bench.uri("d/"), kind="directory")
    report = Artifact(bench.uri("report"))
    sequence = GroupOutputs("stage", (report,))
    writes = step("sum", f"{bench.count('sum')}; echo x > {bench.work}/report")

    def program(last: str, group_writes: bool = True) -> Program:
        wave = parallel(1, "shards", range(2), 2, "sum", outputs=(data,), opens=(sequence,))
        return Program(
            "groups",
            "shards",
            (
                *(shards if group_writes else (step("m0", "true"), step("m1", "true"))),
                writes,
                step("sum", "true"),
            ),
            (wave, serial(2, "sum", 2 if last == "writes" else 3, "end"), End("end", checks=(sequence,))),
        )

    assert bench.start(program("writes"), run_id="good").state == "succeeded"
    assert {r.state for r in bench.view("good").records.values()} == {"shards", "stage"}

    result = bench.start(program("nothing"), run_id="stale")
    assert result.state == "failed"
    assert "stage has ended without its outputs" in result.reason

    result = bench.start(program("writes", group_writes=False), run_id="idle")
    assert result.state == "failed"
    assert "group shards has ended without its outputs" in result.reason
    assert bench.trace() == ["sum"]


def test_a_trigger_waits_for_its_objects_and_fires_once(bench):
    inbox = bench.work / "inbox"
    inbox.mkdir()

    class Feeder(Watcher):
        def waiting(self, what: str, polls: int) -> None:
            (inbox / str(polls)).write_text("x")
            self.lines.append(f"waiting {polls} {bench.view().state}")

    feeder = Feeder()
    trigger = Trigger("train", bench.uri("inbox/"), poll_seconds=0, min_objects=2)
    train = step("train", f"{bench.count('train')}; ls {inbox} | wc -l > {bench.work}/n", [bench.uri("n")])
    program = Program("t", "train", (train,), (serial(1, "train", 0, "end", triggers=(trigger,)), End("end")))
    assert bench.start(program, progress=feeder).state == "succeeded"
    assert feeder.lines[:2] == ["waiting 1 waiting", "waiting 2 waiting"]
    fired = bench.events("trigger-fired")
    assert [(f["objects"], f["polls"]) for f in fired] == [(2, 3)]
    assert fired[0]["sample"] == [str(inbox / "1"), str(inbox / "2")]


def test_objects_of_one_firing_do_not_fire_the_next(bench):
    inbox = bench.work / "inbox"
    inbox.mkdir()
    (inbox / "a").write_text("a")
    trigger = Trigger("train", bench.uri("inbox/"), poll_seconds=0, max_polls=2)
    program = Program(
        "t",
        "train[1]",
        (step("train", bench.count("train")),),
        (
            serial(1, "train[1]", 0, "train[2]", triggers=(trigger,)),
            serial(2, "train[2]", 0, "end", triggers=(trigger,)),
            End("end"),
        ),
    )
    result = bench.start(program)
    assert bench.view().code == "TRIGGER_TIMEOUT"
    assert "found 0 of 1 objects" in result.reason
    assert bench.trace() == ["train"]


def test_a_retry_posts_only_the_member_that_failed(bench):
    once = f"test -e {bench.work}/mark || {{ touch {bench.work}/mark; exit 1; }}"
    steps = (
        step("good", f"{bench.count('good')}; echo g > {bench.work}/g", [bench.uri("g")]),
        step("weak", f"{bench.count('weak')}; {once}; echo w > {bench.work}/w", [bench.uri("w")]),
        step("later", bench.count("later")),
    )
    program = Program("retry", "pair", steps, (parallel(1, "pair", range(3), 2, "end"), End("end")))
    assert bench.start(program, RunOptions(retries=1)).state == "succeeded"
    assert sorted(bench.trace()) == ["good", "later", "weak", "weak"]
    attempts = bench.view().waves["pair"].attempts
    assert [(a.members, a.budget, a.state) for a in attempts] == [
        ((0, 1, 2), "first", "failed"),
        ((1, 2), "retries", "succeeded"),
    ]
    assert [launch.members for launch in attempts[1].launches.values()] == [(1,), (2,)]
    assert "-a2-" in attempts[1].launches[1].name


def test_group_retry_all_posts_all_members_again(bench):
    once = f"test -e {bench.work}/mark || {{ touch {bench.work}/mark; exit 1; }}"
    steps = (step("good", bench.count("good")), step("weak", once))
    program = Program(
        "retry",
        "pair",
        steps,
        (parallel(1, "pair", range(2), 1, "end", group_retry_all=True), End("end")),
    )
    assert bench.start(program, RunOptions(retries=1)).state == "succeeded"
    assert bench.trace() == ["good", "good"]


def test_retries_run_out_and_stay_out(bench):
    program = chain(step("bad", f"{bench.count('bad')}; exit 1"))
    assert bench.start(program, RunOptions(retries=2)).state == "failed"
    assert bench.trace() == ["bad"] * 3
    result = bench.resume(RunOptions(retries=2))
    assert (result.state, result.exit_code) == ("failed", 1)
    assert bench.trace() == ["bad"] * 3
    assert bench.resume(RunOptions(retries=3)).state == "failed"
    assert bench.trace() == ["bad"] * 4


def test_a_wave_that_takes_too_long_is_cancelled(bench):
    started = time.monotonic()
    program = chain(step("slow", f"{bench.count('slow')}; exec sleep 600"))
    result = bench.start(program, RunOptions(max_wait=0.5, retries=3))
    assert (result.state, result.exit_code) == ("failed", 1)
    assert bench.view().code == "MAX_WAIT"
    assert bench.trace() == ["slow"]
    assert [row.status for row in bench.engine().jobs()] == ["CANCELLED"]
    assert time.monotonic() - started < 30


def test_a_wave_that_takes_too_long_can_be_left_to_a_later_driver(bench):
    program = chain(
        step("slow", f"{bench.count('slow')}; while ! test -e {bench.work}/go; do sleep 0.1; done")
    )
    result = bench.start(program, RunOptions(max_wait=0.3, on_timeout="detach"))
    assert (result.state, result.exit_code) == ("blocked", 3)
    assert [row.terminal for row in bench.engine().jobs()] == [False]
    (bench.work / "go").touch()
    assert bench.resume(RunOptions()).state == "succeeded"
    assert bench.trace() == ["slow"]


def test_secrets_reach_the_task_and_nothing_else(bench):
    value = "s3cr3t-value-for-this-test"
    shell = f'printf %s "$TOKEN" | sha256sum | cut -c1-64 > {bench.work}/seen'
    program = chain(step("use", shell, [bench.uri("seen")], secrets=("TOKEN",)))
    with pytest.raises(api.Refused, match="TOKEN"):
        bench.start(program, run_id="without")
    assert bench.engine().jobs() == []
    assert bench.start(program, secrets={"TOKEN": value, "OTHER": "unused"}).state == "succeeded"
    assert (bench.work / "seen").read_text().strip() == hashlib.sha256(value.encode()).hexdigest()
    assert bench.events("launch-intent")[0]["secrets"] == ["TOKEN"]
    for file in bench.ledgers().path.rglob("*"):
        assert not file.is_file() or value.encode() not in file.read_bytes()


def test_big_evidence_goes_into_blobs_and_comes_back(bench):
    many = [bench.uri(f"out/{'x' * 40}{i}") for i in range(300)]
    shell = (
        f"mkdir -p {bench.work}/out; for i in $(seq 0 299); do echo $i > {bench.work}/out/{'x' * 40}$i; done"
    )
    assert bench.start(chain(step("wide", shell, many))).state == "succeeded"
    assert set(bench.events("batch-ended")[0]) == {"data_blob"}
    assert len(bench.view().records) == 300


def test_an_unfinished_run_keeps_its_outputs_to_itself(bench):
    program = chain(step("train", f"exit 1; {bench.work}", [bench.uri("models/")]))
    waits = Program(
        "t",
        "train",
        (step("train", "true", [bench.uri("models/a")]),),
        (
            serial(1, "train", 0, "end", triggers=(Trigger("train", bench.uri("never/"), poll_seconds=1),)),
            End("end"),
        ),
    )
    done = threading.Event()

    class Once(Watcher):
        def waiting(self, what: str, polls: int) -> None:
            if polls == 1:
                with pytest.raises(api.Refused, match="models/a"):
                    bench.start(program, run_id="second")
                result = bench.start(program, RunOptions(allow_shared_outputs=True), run_id="third")
                assert result.state == "failed"
                api.request_cancel(bench.ledgers().open("run"))
                done.set()

    result = bench.start(waits, progress=Once())
    assert done.is_set()
    assert (result.state, result.exit_code) == ("cancelled", 4)
    # Now that the first has ended its outputs are free.
    assert bench.start(program, run_id="fourth").state == "failed"


def test_a_parallel_wave_of_one_member_is_a_plain_task(bench):
    program = Program(
        "one",
        "solo",
        (step("only", bench.count("only")),),
        (Wave("solo", 1, (Member(0),), ((0,),), "end", group="solo"), End("end")),
    )
    assert bench.start(program).state == "succeeded"
    assert bench.trace() == ["only"]
