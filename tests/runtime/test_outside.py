"""Nothing that commands write, and nothing that people say, can keep a run from ending."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from npac.ir.program import Artifact, End, Gate, Program
from npac.launch.ports import EngineError
from npac.ledger.fold import fsck
from npac.runtime import api, decisions
from tests.runtime.faults import FaultyEngine
from tests.runtime.programs import Bench, chain, serial, step


def gated(bench: Bench, artifact: str) -> Program:
    """Give a program whose gate reads a file with ``artifact`` as its bytes."""
    (bench.work / "written").write_bytes(artifact.encode("utf-8", "surrogatepass"))
    uri = bench.uri("decision.json")
    judge = step("judge", f"cp {bench.work}/written {bench.work}/decision.json", [uri], decision_uri=uri)
    gate = Gate("gate", "gate", "until", uri, "end", "end", ("judge",))
    return Program("gated", "judge", (judge,), (serial(1, "judge", 0, "gate"), gate, End("end")))


@pytest.mark.parametrize(
    ("artifact", "shown"),
    [
        ('{"decision":"\\ud800"}', "\\ud800"),
        ('{"last_decision":["\\udfff"]}', "\\udfff"),
        ('{"decision":{"\\ud800":1}}', "\\ud800"),
        ('{"\\ud800":1,"\\ud800":2}', "twice"),
        ('"\\ud800"', "not a JSON object"),
        ('{"decision":"\ud800"}', "not JSON"),
        ('{"decision":"\\u001b[31m\u202e"}', "\\u202e"),
        ('{"decision":' + "[" * 800 + "]" * 800 + "}", "decision"),
        ('{"decision":' + "9" * 400 + "}", "999"),
        ('{"decision":NaN}', "NaN"),
    ],
)
def test_no_decision_artifact_keeps_a_run_from_failing(bench: Bench, artifact: str, shown: str) -> None:
    result = bench.start(gated(bench, artifact))
    assert (result.state, result.exit_code, bench.view().code) == ("failed", 1, "DECISION_INVALID")
    assert shown in result.reason and result.reason.encode("utf-8")
    assert "\x1b" not in result.reason and "\u202e" not in result.reason
    assert fsck(bench.ledgers().open("run")) == []
    ledger = bench.ledgers().open("run")
    head = bench.view().head
    with pytest.raises(api.Refused, match="nothing to cancel"):
        api.request_cancel(ledger, "\udcff")
    ledger.ask("cancel", {"reason": "\udcff"})
    assert bench.resume().state == "failed"
    assert bench.view().head == head, "what came too late begins no driver"


def test_a_value_nested_deeper_than_it_can_be_written_means_nothing() -> None:
    value: object = "x"
    for _ in range(5000):
        value = [value]
    with pytest.raises(decisions.DecisionError, match="nested too deeply"):
        decisions.meaning(value)


def test_what_an_engine_and_a_person_say_is_kept_with_escapes(bench: Bench) -> None:
    def refuse(method: str) -> None:
        if method == "launch":
            raise EngineError("no such image: \udcfe\ud800", phase="rejected", remedy="name \ud800")

    engine = FaultyEngine(bench.engine(), before=refuse)
    result = bench.start(chain(step("train", "true")), engine=engine)
    assert result.state == "failed" and "\\udcfe\\ud800" in result.reason
    assert result.remedy.startswith("name \\ud800, then: npac retry run")
    ledger = bench.ledgers().open("run")
    api.request_retry(ledger)
    api.request_cancel(ledger, "said with \udcff")
    stopped = bench.resume()
    assert (stopped.state, stopped.reason) == ("cancelled", "said with \\udcff")
    json.dumps(bench.view().reason).encode()


def test_names_of_files_that_are_no_text_are_outputs_all_the_same(bench: Bench) -> None:
    program = chain(
        step(
            "train",
            f"mkdir {bench.work}/out; echo 1 > \"{bench.work}/out/$(printf '\\377\\033[31m')\"",
            [bench.uri("out/")],
        )
    )
    assert bench.start(program).state == "succeeded"
    assert list(bench.view().records) == [bench.uri("out/")]


@pytest.fixture
def memory() -> Iterator[Path]:
    """Give a folder on a file system that takes files of any size."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no /dev/shm")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def test_a_file_larger_than_json_can_count_is_an_output_and_is_known_again(
    bench: Bench, memory: Path
) -> None:
    uri = f"file://{memory}/big"
    grow = step("grow", f"truncate -s {2**62} {memory}/big", [uri])
    assert bench.start(chain(grow)).state == "succeeded"
    assert bench.view().records[uri].observation.size == 2**62
    idle = bench.start(chain(step("idle", "true", [uri])), run_id="again")
    assert idle.state == "failed" and "the same as before" in idle.reason
    whole = bench.start(chain(step("more", f"touch {memory}/x", [f"file://{memory}/"])), run_id="whole")
    assert whole.state == "succeeded"


def test_sizes_beyond_json_make_no_two_observations_differ(bench: Bench, monkeypatch) -> None:
    from npac.ledger.ports import Observation
    from npac.runtime import events as ev
    from npac.runtime.outputs import same

    seen = Observation("file:///big", {"inode": "1", "mtime_ns": "2", "size": 2**62}, 2**62, False)
    ledger = bench.ledgers().create("run")
    event = ledger.append("x", {"seen": ev.observation_to_json(seen)}, ledger.take({}))
    assert same(ev.observation_from_json(event.data["seen"]), seen)
    other = Observation("file:///big", {"inode": "1", "mtime_ns": "2", "size": 2**62 + 1}, 2**62 + 1, False)
    assert not same(ev.observation_from_json(event.data["seen"]), other)


def test_outputs_that_are_links_to_old_files_prove_nothing(bench: Bench) -> None:
    (bench.work / "old").write_text("old")
    (bench.work / "folder").mkdir()
    (bench.work / "folder" / "old").write_text("old")
    program = chain(
        step(
            "train",
            f"cd {bench.work}; ln -s old out; ln -s folder whole; mkdir parts; ln -s ../old parts/x",
            [bench.uri("out"), bench.uri("whole/"), bench.uri("parts/")],
        )
    )
    result = bench.start(program)
    assert (result.state, bench.view().code) == ("failed", "DECLARED_OUTPUT_MISSING")
    assert f"{bench.uri('out')}: it is a link to what was there before the step began" in result.reason
    assert result.reason.count("was there before the step began") == 3
    assert not bench.view().records


def test_outputs_that_are_links_to_new_files_are_proof(bench: Bench) -> None:
    (bench.work / "latest").symlink_to("ckpt-0")
    (bench.work / "ckpt-0").write_text("old")
    program = chain(
        step(
            "train",
            f"cd {bench.work}; echo 1 > ckpt-1; ln -sfn ckpt-1 latest; "
            "mkdir -p d; cp -p ckpt-0 d/own; ln -s ../ckpt-1 d/l",
            [bench.uri("latest"), bench.uri("d/")],
        )
    )
    assert bench.start(program).state == "succeeded"
    assert set(bench.view().records) == {bench.uri("latest"), bench.uri("d/")}


def test_a_link_that_is_only_pointed_elsewhere_proves_nothing(bench: Bench) -> None:
    for name in ("ckpt-0", "ckpt-1"):
        (bench.work / name).write_text(name)
    (bench.work / "latest").symlink_to("ckpt-0")
    program = chain(step("train", f"ln -sfn ckpt-1 {bench.work}/latest", [bench.uri("latest")]))
    assert bench.start(program).state == "failed"


def test_a_group_and_a_retry_judge_links_by_when_they_began(bench: Bench) -> None:
    (bench.work / "old").write_text("old")
    once = "test -e twice || { touch twice; ln -sfn old out; exit 0; }"
    fresh = f"cd {bench.work}; {once}; echo new > new; ln -sfn new out"
    program = chain(step("train", fresh, [bench.uri("out")]))
    assert bench.start(program, api.RunOptions(retries=1)).state == "succeeded"
    first, second = bench.view().waves["train"].attempts
    assert (first.state, second.state) == ("failed", "succeeded")


@pytest.mark.parametrize(("command", "state"), [("ln -s old out", "failed"), ("echo 1 > out", "succeeded")])
def test_outputs_of_a_group_are_judged_alike(bench: Bench, command: str, state: str) -> None:
    from npac.ir.program import GroupOutputs

    (bench.work / "old").write_text("old")
    outputs = (Artifact(bench.uri("out"), kind="file"),)
    group = GroupOutputs("all", outputs)
    wave = serial(1, "train", 0, "end", opens=(group,))
    program = Program(
        "grouped",
        "train",
        (step("train", f"cd {bench.work}; {command}"),),
        (wave, End("end", checks=(group,))),
    )
    assert bench.start(program).state == state
