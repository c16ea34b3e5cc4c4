"""A wave runs again by order, and all that followed it; what is on record of the old pass does not count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import pytest

from npac.ir.program import Artifact, End, Program
from npac.ledger.ports import RunLedger
from npac.runtime import api
from npac.runtime.api import RunOptions
from tests.runtime.leaving import LeaveAfter
from tests.runtime.programs import Bench, chain, gate_loop, parallel, serial, step
from tests.runtime.test_amend import steps


def rerun(bench: Bench, wave: str, options: RunOptions | None = None, **more: Any) -> api.RunResult:
    """Go back to a wave and on from there."""
    ledger: RunLedger = bench.ledgers().open("run")
    stored = api.load(ledger)
    return api.resume_run(ledger, bench.world(stored.program, stored.link, **more), options, rerun_from=wave)


@pytest.mark.parametrize("name", ["2", "b"])
def test_a_finished_run_goes_back_by_number_and_by_name(bench: Bench, name: str) -> None:
    assert bench.start(chain(*steps(bench, "", "", ""))).state == "succeeded"
    old = bench.view()
    assert rerun(bench, name).state == "succeeded"
    assert bench.trace() == ["a", "b", "c", "b", "c"]
    view = bench.view()
    assert view.records[bench.uri("a")] == old.records[bench.uri("a")]
    assert view.records[bench.uri("b")].attempt == 2
    assert [(w.node, w.last.number) for w in view.waves.values()] == [("a", 1), ("b", 2), ("c", 2)]
    assert [back.node for back in view.rewinds] == ["b"] and list(view.earlier) == ["b", "c"]
    assert len(bench.events("wave-succeeded")) == 5, "the old pass stays in the log"


def test_the_old_outputs_do_not_count_for_the_new_pass(bench: Bench) -> None:
    once = f"test -e {bench.work}/b || echo 1 > {bench.work}/b"
    program = chain(
        step("a", "true"),
        step("b", once, [bench.uri("b")]),
        step("c", "true", inputs=(Artifact(bench.uri("b")),)),
    )
    assert bench.start(program).state == "succeeded"
    again = rerun(bench, "b")
    assert again.state == "failed" and "it is the same as before the step began" in again.reason


def test_a_lost_output_from_further_back_is_made_again_by_the_command_that_is_told(bench: Bench) -> None:
    a, b, c = steps(bench, "", "", f"test -e {bench.work}/mended")
    c = replace(c, inputs=(Artifact(bench.uri("a")), Artifact(bench.uri("b"))))
    assert bench.start(chain(a, b, c)).state == "failed"
    for name in ("a", "b"):
        (bench.work / name).unlink()
    blocked = bench.resume(RunOptions(retries=1))
    assert (blocked.state, bench.view().code) == ("blocked", "OUTPUT_LOST")
    assert blocked.remedy.startswith("npac resume run --rerun-from a (")
    (bench.work / "mended").touch()
    assert rerun(bench, "a", RunOptions()).state == "succeeded"
    assert bench.trace() == ["a", "b", "c", "a", "b", "c"]


def test_budgets_of_the_old_pass_are_not_used_up_in_the_new(bench: Bench) -> None:
    fails = f"test $(grep -c b {bench.work}/trace) -eq 4"
    assert bench.start(chain(*steps(bench, "", fails)), RunOptions(retries=1)).state == "failed"
    assert bench.trace() == ["a", "b", "b"]
    assert rerun(bench, "b", RunOptions(retries=1)).state == "succeeded"
    assert bench.trace() == ["a", "b", "b", "b", "b"]
    assert [a.number for a in bench.view().waves["b"].attempts] == [3, 4]


def test_iterations_that_followed_and_what_they_decided_go_too(bench: Bench) -> None:
    program = gate_loop(bench, 3, 2)
    assert bench.start(program).state == "succeeded"
    assert rerun(bench, "loop[1]/judge").state == "succeeded"
    assert bench.trace() == [
        *("train1", "judge1", "train2", "judge2", "publish"),
        *("judge1", "train2", "judge2", "publish"),
    ]
    view = bench.view()
    assert [(d.node, d.decision) for d in view.decisions.values()] == [
        ("loop[1]/gate", "loop_back"),
        ("loop[2]/gate", "promote_checkpoint"),
    ]
    assert len(bench.events("decision-read")) == 4
    assert view.records[bench.uri("model")].node == "loop[2]/train"


def test_an_earlier_record_of_a_uri_counts_again(bench: Bench) -> None:
    """The last iteration is set aside, and its model was the latest: now the one before is."""
    program = gate_loop(bench, 2, 2)
    assert bench.start(program).state == "succeeded"
    # Whoever looks between the order and the rerun sees the records of the first iteration.
    ledger = bench.ledgers().open("run")
    stored = api.load(ledger)
    world = bench.world(stored.program, stored.link)
    (bench.work / "decision.json").unlink()

    class Stop(Exception):
        pass

    def stop(*_: object) -> NoReturn:
        raise Stop

    render: Any = stop

    with pytest.raises(Stop):
        api.resume_run(ledger, replace(world, render=render), rerun_from="loop[2]/train")
    view = bench.view()
    assert {r.node for r in view.records.values()} == {"loop[1]/train", "loop[1]/judge"}
    assert view.rewinds and not view.ended
    # A later driver goes on from there without being told again.
    assert bench.resume().state == "succeeded"
    assert bench.trace()[-3:] == ["train2", "judge2", "publish"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("train", "several waves of run run are called train: 1 loop[1]/train, 3 loop[2]/train"),
        ("nothing", "run run has begun no wave 'nothing'"),
        ("loop[3]/train", "has begun no wave"),
        ("loop[1]/gate", "has begun no wave"),
    ],
)
def test_only_one_wave_that_has_begun_is_gone_back_to(bench: Bench, name: str, said: str) -> None:
    assert bench.start(gate_loop(bench, 3, 2)).state == "succeeded"
    head = bench.view().head
    with pytest.raises(api.Refused) as refused:
        rerun(bench, name)
    assert said in str(refused.value) and refused.value.remedy
    assert bench.view().head == head


def test_a_job_under_way_must_end_first(bench: Bench) -> None:
    program = chain(*steps(bench, "", "sleep 600"))
    assert bench.start(program, interrupts=LeaveAfter(bench, 2)).state == "running"
    with pytest.raises(api.Refused, match="b of run run is under way") as refused:
        rerun(bench, "a")
    assert refused.value.remedy.startswith("npac cancel run, and when")
    assert refused.value.remedy.endswith("npac resume run --rerun-from a")
    api.request_cancel(bench.ledgers().open("run"))
    assert bench.resume().state == "cancelled"
    assert rerun(bench, "a", interrupts=LeaveAfter(bench, 4)).state == "running"
    assert bench.trace() == ["a", "b", "a", "b"]
    api.request_cancel(bench.ledgers().open("run"))
    bench.resume()


def test_what_is_written_anew_before_it_is_read_is_not_missed(bench: Bench) -> None:
    """Each iteration begins by removing the decision of the one before; a driver dies right after that."""
    program = gate_loop(bench, 3, 2)
    wait = f"while ! test -e {bench.work}/go; do sleep 0.05; done"
    train = program.steps[2]
    first = replace(
        train, shell=f"rm {bench.work}/decision.json; {bench.count('clean')}; {wait}; {train.shell}"
    )
    slow = replace(program, steps=(*program.steps[:2], first, *program.steps[3:]))
    assert bench.start(slow, interrupts=LeaveAfter(bench, 3)).state == "running"
    assert not (bench.work / "decision.json").exists()
    (bench.work / "go").touch()
    assert bench.resume(RunOptions()).state == "succeeded"
    assert bench.trace() == ["train1", "judge1", "clean", "train2", "judge2", "publish"]


def test_the_lost_output_of_a_member_that_does_not_run_again_is_missed(bench: Bench) -> None:
    one = step("one", f"{bench.count('one')}; echo $$ > {bench.work}/one", [bench.uri("one")])
    two = step("two", f"{bench.count('two')}; test -e {bench.work}/mended")
    last = step("last", bench.count("last"), inputs=(Artifact(bench.uri("one")),))
    both = parallel(1, "both", [0, 1], 1, "last")
    program = Program("chain", "both", (one, two, last), (both, serial(2, "last", 2, "end"), End("end")))
    assert bench.start(program).state == "failed"
    (bench.work / "one").unlink()
    (bench.work / "mended").touch()
    blocked = bench.resume(RunOptions(retries=1))
    assert (blocked.state, bench.view().code) == ("blocked", "OUTPUT_LOST")
    assert rerun(bench, "both", RunOptions()).state == "succeeded"
    assert bench.trace() == ["one", "two", "one", "two", "last"]
