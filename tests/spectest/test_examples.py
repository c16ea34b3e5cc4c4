"""The example tests pass, and each of their expectations can fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from npac.api import test as run_tests

SPECS = Path(__file__).resolve().parent / "specs"
NAMES = sorted(path.name for path in SPECS.glob("*.test.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_every_case_passes(name: str) -> None:
    result = run_tests(SPECS / name)
    assert result.findings == []
    assert result.results
    for case in result.results:
        assert case.outcome == "passed", (case.case.name.value, case.failures, case.error)


# What is changed in a test file, the case that fails, the line that is named, and what is said.
MUTANTS = [
    ("waves: [train, judge, publish]", "waves: [train, judge, report]", "refine[1]/judge\npublish"),
    ("waves: [train, judge, publish]", "waves: [train, judge]", "more waves"),
    ("waves: [train, judge, publish]", "waves: [train, judge, publish, report]", "from entry 4 on"),
    ("waves: [train, judge, publish]", "waves: [..., judge]", "from entry 2 on"),
    ("waves: [train, judge, publish]", "waves: [..., judge, ...]", ""),
    ("waves: [train, judge, publish]", "waves: [train, ..., publish]", ""),
    ("waves: [train, judge, publish]", "waves: [..., train, judge, publish, ...]", ""),
    ("waves: [train, judge, publish]", "waves: [train, ..., train, ..., publish]", "from entry 3 on"),
    ("- refine[2]/judge\n", "- refine[3]/judge\n", "from entry 4 on"),
    ("waves: 11", "waves: 12", "another number of waves"),
    ("gates: 6", "gates: 5", "another number of gates"),
    ("/1/decision.json}\n", "/2/decision.json}\n", "gate 1 reads another URI"),
    ("/1/decision.json, decision: promote}", "/1/decision.json, decision: loop_back}", "another decision"),
    ("- {state: route, uri", "- {state: refine, uri", "gate 2 is of another state"),
    ("never: [report]", "never: [judge]", "judge runs"),
    ("never: [report]", "never: [reprot]", "no state reprot; did you mean report?"),
    ("never: [report]", 'never: ["refin[1]/judge"]', "no state refin; did you mean refine?"),
    (
        "waves: [train, judge, publish]",
        "waves: [trian, judge, publish]",
        "no state trian; did you mean train?",
    ),
    ("- refine[2]/judge\n", "- refnie[2]/judge\n", "no state refnie; did you mean refine?"),
    ("states: [shard-a, shard-b", "states: [shrad-a, shard-b", "no state shrad-a; did you mean shard-a?"),
    (
        "- {state: route, uri",
        "- {state: ruote, uri",
        "no gate 'ruote'; its gates: refine, route; did you mean route?",
    ),
    ("warnings: []", "warnings: [NPA221]", "other warnings"),
    ("nightly-7/2/model/]", "nightly-7/3/model/]", "publish runs other words"),
    ("argv: [npa, publish, s3", "shell: [npa, s3", ""),
    ('contains: [--round, "2"]', 'contains: [--round, "1"]', "among the words: --round 1"),
    ("{contains: /2/model/}", "{contains: /2/models/}", "writes other outputs"),
    ("schema: example.model.v1, kind", "schema: example.model.v2, kind", "(directory, example.model.v2)"),
    ("kind: directory}", "kind: file}", "(file, example.model.v1)"),
    ("matches: 'judged [12]", "matches: 'judged [34]", "text that matches judged [34]"),
    ('"echo"]', '"printf"]', "text that contains printf"),
    ("train:\n          runs: 3", "trian:\n          runs: 0", "no state trian; did you mean train?"),
    ("runs: 3", "runs: 2", "another number of times"),
    ("nodes: 1", "nodes: 2", "another number of nodes"),
    ("image: registry.example/sim:2", "image: registry.example/sim:3", "another image"),
    ("secrets: [HF_TOKEN]", "secrets: []", "needs other secrets"),
    ('"H100:2", cpus', '"H100:4", cpus', "other resources: accelerators"),
    ("use_spot: null", 'use_spot: "true"', "other resources: use_spot"),
    ("cpus: 16+, ", "cpus: null, ", "asks for cpus"),
    ("RUN_ID: nightly-7", "RUN_ID: nightly-8", "another value of NPA_WORKFLOW_RUN_ID"),
    ("RUN_ID: nightly-7", "RUN_ID: null", "has the variable NPA_WORKFLOW_RUN_ID"),
    ("AWS_ENDPOINT_URL: null", "AWS_ENDPOINT_URL: x", "no variable AWS_ENDPOINT_URL"),
    ("error: NPA217", "error: NPA204", "other errors"),
    ("error: NPA217", "error: [NPA217, NPA204]", "other errors"),
    ("error: NPA217", "error: unknown-override", ""),
    ("used by no state", "used by every state", "the error says something else"),
    ("vars: {epsiodes", "vars: {episodes", "the spec is not refused"),
    ("vars: {rounds", "vars: {ronuds", "the spec is refused"),
    ("refine: [loop_back, promote]", "refine: [loop_back, promote, promote]", "2 time(s), and 3"),
    (
        "route: promote}\n    expect:\n      waves: [",
        "rout: promote}\n    expect:\n      waves: [",
        "no gate 'rout'; its gates: refine, route; did you mean route?",
    ),
    ("{refine: promote, route: promote}", "{refine: promote}", "decides nothing there"),
    ("refine[2]/train:", "refine[4]/train:", "the walk has no step refine[4]/train"),
    ("tool: workbench.token_factory.caption", "tool: workbench.other", "runs another tool"),
    ("triggers: [", "triggers: [s3://other/, ", "waits for other objects"),
    ("batches: 2", "batches: 3", "another number of batches"),
    ("states: [shard-a, shard-b", "states: [shard-b, shard-a", "from entry 1 on"),
    ("waves: [[shard-a, shard-b, shard-c]]", "waves: [shard-a]", "from entry 1 on"),
    ('{report: "false"}', '{report: "true"}', "more waves"),
    ("contains: captions/c/", "contains: captions/d/", "fan/shard-c writes other outputs"),
]


@pytest.mark.parametrize(("old", "new", "said"), MUTANTS)
def test_an_expectation_that_does_not_hold_is_told(tmp_path: Path, old: str, new: str, said: str) -> None:
    name = [name for name in NAMES if old in (SPECS / name).read_text(encoding="utf-8")][-1]
    text = (SPECS / name).read_text(encoding="utf-8")
    at = text.index(old)
    changed = text[:at] + new + text[at + len(old) :]
    for path in SPECS.rglob("*.yaml"):
        target = tmp_path / path.relative_to(SPECS)
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(path.read_bytes())
    (tmp_path / name).write_text(changed, encoding="utf-8")
    result = run_tests(tmp_path / name)
    if new.startswith("shell: ["):
        assert [item.code.id for item in result.findings] == ["NPA102"]
        return
    assert result.findings == []
    failed = [case for case in result.results if case.outcome != "passed"]
    if not said:
        assert failed == []
        return
    (case,) = failed
    assert case.outcome == "failed"
    told = "\n".join(f"{f.message}\n{f.expected}\n{f.got}" for f in case.failures)
    assert said in told
    # The place is inside the case, at or near what was changed.
    start = changed.rindex("- name:", 0, at + 1)
    end = changed.find("- name:", at + 1)
    for failure in case.failures:
        assert start <= failure.span.start < (end if end >= 0 else len(changed)) or "defaults" in changed[:at]
    line = changed.count("\n", 0, at)
    assert min(abs(changed.count("\n", 0, f.span.start) - line) for f in case.failures) <= 4


def test_the_reported_text_shows_expected_and_got(tmp_path: Path) -> None:
    from npac.spectest.render import render

    spec = (SPECS / "train-until-good.yaml").read_text(encoding="utf-8")
    (tmp_path / "t.yaml").write_text(spec, encoding="utf-8")
    (tmp_path / "t.test.yaml").write_text(
        "cases:\n"
        "  - name: goes wrong\n"
        "    decide: {refine: promote, route: loop_back}\n"
        "    expect:\n"
        "      waves: [train, judge, publish]\n"
        "      steps: {judge: {nodes: 2}}\n",
        encoding="utf-8",
    )
    text = render("text", [run_tests(tmp_path / "t.test.yaml")])
    assert re.sub(re.escape(str(tmp_path)), "DIR", text) == (
        "DIR/t.test.yaml\n"
        "  FAIL  goes wrong\n"
        "      DIR/t.test.yaml:5:29: the walk has other waves, from entry 3 on\n"
        "        - expected, + got\n"
        "          refine[1]/train\n"
        "          refine[1]/judge\n"
        "        - publish\n"
        "        + report\n"
        "      DIR/t.test.yaml:6:30: refine[1]/judge runs on another number of nodes\n"
        "        expected: 2\n"
        "        got:      1\n"
        "\n"
        "1 failed\n"
    )
