"""The rest of a run follows another program, and what has finished stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from npac.ir.canonical import digest
from npac.ir.program import Artifact, Program, Step, Trigger
from npac.ledger.fold import fsck
from npac.runtime import api
from npac.runtime.amending import content
from npac.runtime.api import Amend, RunOptions
from tests.runtime.leaving import LeaveAfter
from tests.runtime.programs import Bench, chain, gate_loop, parallel, renderer, serial, step

FAIL = "exit 3"


def steps(bench: Bench, *commands: str) -> list[Step]:
    """Give steps called a, b, …, each of which writes a file, reads the one before, and leaves a trace."""
    found: list[Step] = []
    for name, more in zip("abcdef", commands, strict=False):
        shell = f"{bench.count(name)}; {more or 'true'} && echo $$ > {bench.work}/{name}"
        inputs = (Artifact(bench.uri(found[-1].state)),) if found else ()
        found.append(step(name, shell, [bench.uri(name)], inputs=inputs))
    return found


def changed(program: Program, state: str, **parts: Any) -> Program:
    """Give a program in which one state does something else."""
    return replace(
        program, steps=tuple(replace(s, **parts) if s.state == state else s for s in program.steps)
    )


def with_parts(node: Any, **parts: Any) -> Any:
    """Give a node with other parts."""
    return replace(node, **parts)


def amend(
    bench: Bench,
    program: Program,
    options: RunOptions | None = None,
    *,
    changes: Sequence[dict[str, Any]] = (),
    text: str = "",
    rerun_from: str = "",
) -> api.RunResult:
    """Go on with the run, amended."""
    ledger = bench.ledgers().open("run")
    stored = api.load(ledger)
    world = replace(bench.world(program, stored.link), render=renderer(program, stored.link))
    return api.resume_run(
        ledger,
        world,
        options,
        amend=Amend(program, {"spec": b"the new spec"}, "/specs/new.yaml", changes, text),
        rerun_from=rerun_from,
        others=lambda: bench.others("run"),
    )


def test_a_later_stage_that_failed_is_mended_and_nothing_finished_runs_again(bench: Bench) -> None:
    old = chain(*steps(bench, "", "", FAIL, ""))
    assert bench.start(old, RunOptions(retries=1)).state == "failed"
    new = chain(*steps(bench, "", "", "", ""))
    told = [{"kind": "changed", "node": "c", "aspect": "command"}]
    assert amend(bench, new, changes=told, text="~ c\n").state == "succeeded"
    assert bench.trace() == ["a", "b", "c", "c", "c", "d"]
    (event,) = bench.events("run-amended")
    assert (event["before"], event["after"]) == (digest(old), digest(new))
    assert (event["changes"], event["text"], event["set_aside"]) == (told, "~ c", ["c"])
    view = bench.view()
    assert [a.number for a in view.waves["c"].attempts] == [3], "no launch id is ever used twice"
    assert [a.number for a in view.earlier["c"][0].attempts] == [1, 2]
    assert view.records[bench.uri("c")].attempt == 3
    ledger = bench.ledgers().open("run")
    assert ledger.get_blob(view.blobs["spec"]) == b"the new spec"
    assert fsck(ledger) == []
    assert api.load(ledger).program == new, "what is stored is the amended program"


def test_a_wave_that_failed_and_is_the_same_in_both_has_one_more_attempt(bench: Bench) -> None:
    old = chain(*steps(bench, "", f"test -e {bench.work}/mended", ""))
    assert bench.start(old).state == "failed"
    (bench.work / "mended").touch()
    assert amend(bench, chain(*steps(bench, "", f"test -e {bench.work}/mended", "", ""))).state == "succeeded"
    assert bench.trace() == ["a", "b", "b", "c", "d"]
    assert [a.budget for a in bench.view().waves["b"].attempts] == ["first", "request"]


@pytest.mark.parametrize("more", [{"num_nodes": 2}, {"env": {"X": "1"}}, {"profile": {"cpus": 2}}])
def test_a_changed_finished_stage_is_refused_by_name_and_leaves_no_trace(
    bench: Bench, more: dict[str, Any]
) -> None:
    old = chain(*steps(bench, "", "", FAIL))
    bench.start(old)
    head = bench.view().head
    with pytest.raises(
        api.Refused, match=r"the wave b has finished, and is another one in it\n~ b"
    ) as refused:
        amend(bench, changed(old, "b", **more), text="~ b\n")
    assert "npac run /specs/new.yaml" in refused.value.remedy
    assert bench.view().head == head and bench.trace() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("bc", "the wave a has finished, and is not in it"),
        ("axbc", "b has finished, and x comes in its place"),
    ],
)
def test_finished_stages_may_neither_go_nor_be_parted(bench: Bench, names: str, said: str) -> None:
    bench.start(chain(*steps(bench, "", "", FAIL)))
    by_name = {s.state: s for s in (*steps(bench, "", "", ""), step("x", "true"))}
    with pytest.raises(api.Refused, match=said):
        amend(bench, chain(*(by_name[name] for name in names)))


def test_stages_may_be_put_after_the_last_that_finished_and_be_left_out(bench: Bench) -> None:
    bench.start(chain(*steps(bench, "", "", FAIL, "")))
    a, b, _, d = steps(bench, "", "", "", "")
    x = step("x", bench.count("x"))
    assert amend(bench, chain(a, b, x, replace(d, inputs=()))).state == "succeeded"
    assert bench.trace() == ["a", "b", "c", "x", "d"]
    view = bench.view()
    assert "c" not in view.waves and bench.uri("c") not in view.records
    assert [w.number for w in view.waves.values()] == [1, 2, 3, 4]


def test_another_name_of_the_workflow_would_change_every_task(bench: Bench) -> None:
    old = chain(*steps(bench, "", FAIL))
    bench.start(old)
    with pytest.raises(api.Refused, match="called chain, and other there"):
        amend(bench, replace(old, workflow="other"))


def test_a_changed_wave_under_way_must_end_first(bench: Bench) -> None:
    wait = f"while ! test -e {bench.work}/go; do sleep 0.05; done"
    old = chain(*steps(bench, "", wait, ""))
    assert bench.start(old, interrupts=LeaveAfter(bench, 2)).state == "running"
    with pytest.raises(
        api.Refused, match=r"b of run run is under way \(job 2\), and it is changed"
    ) as refused:
        amend(bench, changed(old, "b", shell=f"echo 1 > {bench.work}/b"))
    assert refused.value.remedy.startswith("npac cancel run, and when it has ended: npac resume run --amend")
    # What comes after it may change while it runs.
    (bench.work / "go").touch()
    new = changed(old, "c", shell=f"{bench.count('new')}; echo 1 > {bench.work}/c")
    assert amend(bench, new, RunOptions()).state == "succeeded"
    assert bench.trace() == ["a", "b", "new"] and len(bench.engine().jobs()) == 3


def test_a_wave_that_was_cancelled_may_change(bench: Bench) -> None:
    old = chain(*steps(bench, "", "sleep 600", ""))
    assert bench.start(old, interrupts=LeaveAfter(bench, 2)).state == "running"
    api.request_cancel(bench.ledgers().open("run"))
    assert bench.resume().state == "cancelled"
    assert amend(bench, chain(*steps(bench, "", "", "")), RunOptions()).state == "succeeded"
    assert bench.trace() == ["a", "b", "b", "c"]


def test_later_drivers_follow_the_amended_program(bench: Bench) -> None:
    bench.start(chain(*steps(bench, "", FAIL, "")))
    again = chain(*steps(bench, "", "", f"test -e {bench.work}/mended"))
    assert amend(bench, again).state == "failed"
    with pytest.raises(api.Refused, match="the program is not the one"):
        bench.resume(RunOptions(retries=1), program=chain(*steps(bench, "", FAIL, "")))
    (bench.work / "mended").touch()
    assert bench.resume(RunOptions(retries=1), program=again).state == "succeeded"
    assert bench.trace() == ["a", "b", "b", "c", "c"]


def test_amended_twice(bench: Bench) -> None:
    bench.start(chain(*steps(bench, "", FAIL, "")))
    assert amend(bench, chain(*steps(bench, "", "exit 4", ""))).state == "failed"
    assert amend(bench, chain(*steps(bench, "", "", ""))).state == "succeeded"
    view = bench.view()
    first, second = view.amendments
    assert first.after == second.before
    assert [w.last.number for w in view.earlier["b"]] == [1, 2] and view.waves["b"].last.number == 3
    assert len({row.launch_id for row in bench.engine().jobs()}) == 5


def test_what_a_gate_has_decided_holds_and_where_it_leads_may_change(bench: Bench) -> None:
    program = gate_loop(bench, 2, 1)
    broken = changed(program, "publish", shell=FAIL)
    assert bench.start(broken).state == "failed"
    said = bench.view().decisions["loop[1]/gate"]
    extra = step("extra", bench.count("extra"))
    mended = replace(
        program,
        steps=(*program.steps, extra),
        nodes=(
            *(with_parts(n, promote="extra") if n.id == "loop[1]/gate" else n for n in program.nodes[:-2]),
            serial(5, "extra", len(program.steps), "publish"),
            with_parts(program.nodes[-2], number=6),
            program.nodes[-1],
        ),
    )
    assert amend(bench, mended).state == "succeeded"
    assert bench.trace() == ["train1", "judge1", "extra", "publish"]
    now = bench.view().decisions["loop[1]/gate"]
    assert (said.next, now.next, now.decision) == ("publish", "extra", "promote_checkpoint")
    assert len(bench.events("decision-read")) == 1


def test_a_gate_that_decided_and_reads_elsewhere_now_is_refused(bench: Bench) -> None:
    program = gate_loop(bench, 2, 1)
    bench.start(changed(program, "publish", shell=FAIL))
    nodes = tuple(
        with_parts(n, uri=bench.uri("elsewhere.json")) if n.id == "loop[1]/gate" else n for n in program.nodes
    )
    with pytest.raises(api.Refused, match=r"the gate loop\[1\]/gate has finished"):
        amend(bench, replace(program, nodes=nodes))


def test_members_of_a_changed_group_run_again_also_those_that_succeeded(bench: Bench) -> None:
    def group(b: str) -> Program:
        one = step("one", f"{bench.count('one')}; echo $$ > {bench.work}/one", [bench.uri("one")])
        two = step("two", f"{bench.count('two')}; {b}")
        end = chain(one).nodes[-1]
        return Program("chain", "both", (one, two), (parallel(1, "both", [0, 1], 1, "end"), end))

    assert bench.start(group(FAIL)).state == "failed"
    assert amend(bench, group("true")).state == "succeeded"
    assert bench.trace() == ["one", "two", "one", "two"]


def test_a_changed_trigger_waits_anew_and_the_same_one_does_not(bench: Bench) -> None:
    (bench.work / "in").mkdir()
    (bench.work / "in" / "1").write_text("x")
    (bench.work / "other").mkdir()
    first, second = steps(bench, "", FAIL)

    def program(uri: str, shell: str) -> Program:
        whole = chain(first, replace(second, shell=shell))
        triggered = with_parts(whole.nodes[1], triggers=(Trigger("b", bench.uri(uri), 1, 2),))
        return replace(whole, nodes=(whole.nodes[0], triggered, whole.nodes[2]))

    assert bench.start(program("in/", FAIL)).state == "failed"
    assert amend(bench, program("in/", "exit 4")).state == "failed"
    assert len(bench.events("trigger-fired")) == 1, "it has fired, and is the same"
    assert amend(bench, program("other/", "exit 4")).reason.startswith("the trigger of b found 0 of 1")
    (bench.work / "other" / "1").write_text("x")
    done = amend(bench, program("other/", f"echo $$ > {bench.work}/b"))
    assert done.state == "succeeded" and len(bench.events("trigger-fired")) == 2


def test_an_amendment_may_not_write_what_another_unfinished_run_writes(bench: Bench) -> None:
    other = step("other", "exit 3", [bench.uri("shared")])
    asleep = chain(replace(other, shell=f"{bench.count('other')}; sleep 600"))
    left = bench.start(asleep, run_id="other", interrupts=LeaveAfter(bench, 1))
    assert left.state == "running"
    old = chain(*steps(bench, "", FAIL))
    bench.start(old)
    new = changed(old, "b", outputs=(Artifact(bench.uri("shared")),))
    with pytest.raises(api.Refused, match="run other is not finished and writes"):
        amend(bench, new)
    api.request_cancel(bench.ledgers().open("other"))
    assert bench.resume(run_id="other").state == "cancelled"


def test_secrets_that_the_amended_program_needs_must_be_there(bench: Bench) -> None:
    old = chain(*steps(bench, "", FAIL))
    bench.start(old)
    with pytest.raises(api.Refused, match="no value was given for the secrets TOKEN"):
        amend(bench, changed(old, "b", shell="true", secrets=("TOKEN",)))
    assert bench.view().state == "failed" and bench.view().amendments == []


def test_very_many_differences_are_kept_whole_in_a_blob(bench: Bench) -> None:
    bench.start(chain(*steps(bench, "", FAIL)))
    told = [{"kind": "changed", "node": "b", "before": "x" * 500, "after": str(n)} for n in range(200)]
    text = "".join(f"line {n}\n" for n in range(100))
    amend(bench, chain(*steps(bench, "", "")), changes=told, text=text)
    (event,) = bench.events("run-amended")
    assert 0 < len(event["changes"]) < 200 and event["text"].endswith("and 60 lines more")
    ledger = bench.ledgers().open("run")
    assert ledger.get_blob(event["changes_blob"]).count(b"changed") == 200
    assert fsck(ledger) == []


def test_true_is_not_one_in_what_a_step_is(bench: Bench) -> None:
    def node(value: object) -> bytes:
        program = chain(step("a", "true", profile={"use_spot": value}))
        return content(program, program.nodes[0])

    assert node(True) != node(1) and node(1) != node(1.5) and node(True) == node(True)


def test_a_finished_stage_may_change_when_it_runs_again(bench: Bench) -> None:
    old = chain(*steps(bench, "", "", ""))
    assert bench.start(old).state == "succeeded"
    new = changed(old, "b", shell=f"{bench.count('new')}; echo 1 > {bench.work}/b")
    with pytest.raises(api.Refused) as refused:
        amend(bench, new)
    assert "npac resume run --rerun-from b --amend /specs/new.yaml" in refused.value.remedy
    with pytest.raises(api.Refused, match="the wave b has finished"):
        amend(bench, new, rerun_from="c")
    assert amend(bench, new, rerun_from="b").state == "succeeded"
    assert bench.trace() == ["a", "b", "c", "new", "c"]
    assert api.load(bench.ledgers().open("run")).program == new
