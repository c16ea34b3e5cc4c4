"""One mistake gives one finding: single slips made in a sound spec, each at a time.

``SPEC`` has a bit of everything.  A slip replaces one text in it by another; what is found is exactly
one finding (``NPA``-code and the marked text), whatever else the slip breaks.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npac.checking import check_bytes
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.pipeline import PASSES, Settings, Unit
from npac.text.source import SourceFile
from tests.rules.specs import HEAD, catalog, checked

SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata:
  name: rich
  executionMode: runtime
config:
  bucket: my-bucket
  rounds: "3"
  limit: 2
  publish: true
  root: "s3://{{config.bucket}}/{{run.prefix}}"
  note: hello
resources:
  default: {cloud: kubernetes, cpus: 4, memory: 16Gi}
  gpu: {cloud: kubernetes, accelerators: "H100:1", num_nodes: 2}
initial: fetch
states:
  fetch:
    run: {argv: [fetch, "{{config.note}}"]}
    trigger: {uri: "{{config.root}}/in/", pollSeconds: 10}
    outputs: [{uri: "{{config.root}}/fetched/", schema: data.v1}]
    next: fan
  fan:
    parallel: [left, right]
    parallelCount: 2
    maxConcurrency: "{{config.limit}}"
    next: train
  left:
    run: {shell: "echo {{config.note}}"}
    inputs: [{uri: "{{state.fetch.uri}}", schema: data.v1}]
  right:
    resources: gpu
    multiNodeMode: sharded
    run: {argv: [x, "{{config.side}}"]}
    params: {side: r}
  train:
    needs: [fetch, fan]
    sequence: [fit, judge]
    loop: {max: "{{config.rounds}}", until: promote_checkpoint}
    next: route
  fit:
    run: {argv: [fit, "{{loop.train}}"]}
    outputs: [{uri: "{{config.root}}/{{loop.train}}/model.ckpt", schema: model.v1}]
  judge:
    run: {argv: [judge, "{{state.fit.uri}}"]}
    writesDecision: true
    outputs: [{uri: "{{config.root}}/{{loop.train}}/decision.json", schema: decision.v1}]
    transitions: [{when: promote_checkpoint, goto: route}, {when: loop_back, goto: train}]
  route:
    params: {decision_uri: "{{state.judge.uri}}"}
    transitions: [{if: config.publish, when: promote_checkpoint, goto: publish}]
    next: end
  publish:
    run: {argv: [publish]}
    next: end
  end:
    terminal: true
"""

# What is replaced, what by, the code and the marked text.
SLIPS: tuple[tuple[str, str, str, str], ...] = (
    # a key of another spelling
    ("apiVersion:", "apiversion:", "101", "apiversion"),
    ("metadata:", "metdata:", "101", "metdata"),
    ("config:\n", "conifg:\n", "101", "conifg"),
    ("resources:\n  default", "resource:\n  default", "101", "resource"),
    ("states:", "State:", "101", "State"),
    ("states:", "steps:", "101", "steps"),
    ("  name: rich", "  nmae: rich", "101", "nmae"),
    ("    terminal: true", "    Terminal: true", "101", "Terminal"),
    ("    terminal: true", "    terminated: true", "101", "terminated"),
    ("    next: fan", "    nxt: fan", "101", "nxt"),
    ("    next: fan", "    then: fan", "101", "then"),
    ("    next: train", "    Next: train", "101", "Next"),
    ("    next: route", "    next_: route", "101", "next_"),
    ("    parallel: [", "    paralel: [", "101", "paralel"),
    ("    sequence: [", "    sequenc: [", "101", "sequenc"),
    ("    sequence: [", "    steps: [", "101", "steps"),
    ("    loop: {", "    lop: {", "101", "lop"),
    ("loop: {max:", "loop: {maximum:", "101", "maximum"),
    ("loop: {max:", "loop: {mx:", "101", "mx"),
    ("trigger: {uri:", "trigger: {url:", "101", "url"),
    ('fetched/", schema', 'fetched/", shcema', "101", "shcema"),
    ("    run: {argv: [judge", "    rnu: {argv: [judge", "101", "rnu"),
    ("    run: {argv: [judge", "    execute: {argv: [judge", "101", "execute"),
    ("    run: {argv: [x,", "    run: {args: [x,", "101", "args"),
    ("    writesDecision:", "    writeDecision:", "101", "writeDecision"),
    ("    params: {decision_uri", "    param: {decision_uri", "101", "param"),
    ("    params: {side", "    with: {side", "101", "with"),
    ('decision.json", schema:', 'decision.json", label:', "101", "label"),
    ("    outputs: [{uri: \"{{config.root}}/{{loop.train}}/dec", "    results: [{uri: \"{{config.root}}/{{loop.train}}/dec", "101", "results"),
    ("goto: publish", "to: publish", "101", "to"),
    ("    multiNodeMode:", "    multiNode:", "101", "multiNode"),
    # a value of another type, or none
    ("terminal: true", "terminal: 'false'", "102", "'false'"),
    ("terminal: true", "terminal: 'true'", "102", "'true'"),
    ("terminal: true", "terminal:", "102", ""),
    ("next: fan", "next: [fan]", "102", "[fan]"),
    ("needs: [fetch, fan]", "needs: fetch", "102", "fetch"),
    ("parallel: [left, right]", "parallel: left", "102", "left"),
    ("parallel: [left, right]", "parallel: [left, [right]]", "102", "[right]"),
    ("parallel: [left, right]", "parallel:", "102", ""),
    ("sequence: [fit, judge]", "sequence: {fit: judge}", "102", "{fit: judge}"),
    ("sequence: [fit, judge]", "sequence:", "102", ""),
    ('loop: {max: "{{config.rounds}}", until: promote_checkpoint}', "loop: 3", "102", "3"),
    ('{max: "{{config.rounds}}",', "{max: [3],", "102", "[3]"),
    ("writesDecision: true", "writesDecision: 'yes'", "102", "'yes'"),
    ("    run: {argv: [judge, \"{{state.fit.uri}}\"]}", "    run: judge", "102", "judge"),
    ("    run: {argv: [judge, \"{{state.fit.uri}}\"]}", "    run: {}", "304", "{}"),
    ("schema: decision.v1", "schema: [decision.v1]", "102", "[decision.v1]"),
    ("    outputs: [{uri: \"{{config.root}}/{{loop.train}}/decision.json\", schema: decision.v1}]", "    outputs: x", "102", "x"),
    ("  end:\n    terminal: true", "  end:", "102", ""),
    ("  end:\n    terminal: true", "  end: []", "102", "[]"),
    ("  end:\n    terminal: true", "  end: {}", "304", "end"),
    ("bucket: my-bucket", "bucket: []", "102", "[]"),
    ("bucket: my-bucket", "bucket: {a: 1}", "102", "{a: 1}"),
    ("bucket: my-bucket", "bucket:", "206", "{{config.bucket}}"),
    ("note: hello", "note:", "206", "{{config.note}}"),
    ("rounds: \"3\"", "rounds: many", "111", '"{{config.rounds}}"'),
    ("  gpu: {cloud: kubernetes, accelerators: \"H100:1\", num_nodes: 2}", "  gpu: H100", "102", "H100"),
    ("num_nodes: 2", "num_nodes: 99", "502", "99"),
    ("cpus: 4", "cpus: [4x]", "102", "[4x]"),
    ("executionMode: runtime", "executionMode: [runtime]", "102", "[runtime]"),
    ("multiNodeMode: sharded", "multiNodeMode: shared", "104", "shared"),
    # a name that names nothing, or something else
    ("initial: fetch", "initial: fecth", "301", "fecth"),
    ("next: fan", "next: fann", "301", "fann"),
    ("next: train", "next: trane", "301", "trane"),
    ("needs: [fetch, fan]", "needs: [fetsh, fan]", "301", "fetsh"),
    ("parallel: [left, right]", "parallel: [left, rigth]", "301", "rigth"),
    ("sequence: [fit, judge]", "sequence: [fit, juge]", "301", "juge"),
    ("goto: publish", "goto: publich", "301", "publich"),
    ("next: fan", "next: left", "302", "left"),
    ("when: promote_checkpoint, goto: publish", "when: promote, goto: publish", "320", "promote"),
    ("if: config.publish", "if: config.publsh", "204", "publsh"),
    ("resources: gpu", "resources: gpus", "501", "gpus"),
    # tokens
    ('argv: [fetch, "{{config.note}}"]', 'argv: [fetch, "{{confg.note}}"]', "201", "confg"),
    ('"{{config.root}}/fetched/"', '"{{config.roots}}/fetched/"', "204", "{{config.roots}}"),
    ('"{{config.root}}/fetched/"', '"{{config.root}/fetched/"', "202", "{{config.root}"),
    ('"{{config.root}}/fetched/"', '"{{config.root | base46}}/fetched/"', "203", "base46"),
    ('"s3://{{config.bucket}}/', '"s3://{{config.bukcet}}/', "204", "{{config.bukcet}}"),
    ('"s3://{{config.bucket}}/', '"{{config.bucket}}/', "706", "my-bucket"),
    ("bucket: my-bucket", "bucket: My Bucket", "706", "My Bucket"),
    ("{{state.judge.uri}}", "{{state.juge.uri}}", "208", "{{state.juge.uri}}"),
    ("[judge, \"{{state.fit.uri}}\"]", "[judge, \"{{state.fit.output_2}}\"]", "208", "{{state.fit.output_2}}"),
    ('argv: [fit, "{{loop.train}}"]', 'argv: [fit, "{{loop.trian}}"]', "210", "{{loop.trian}}"),
    # a line too few
    ("    terminal: true\n", "    description: x\n", "304", "end"),
    ("    next: fan\n", "", "324", "fetch"),
    ("    next: train\n", "", "324", "fetch"),
    ("    next: route\n", "", "324", "fetch"),
    ("    parallel: [left, right]\n", "", "305", "parallelCount"),
    ("    sequence: [fit, judge]\n", "", "305", "loop"),
    ("    run: {argv: [judge, \"{{state.fit.uri}}\"]}\n", "", "305", "writesDecision"),
    ("    run: {argv: [x, \"{{config.side}}\"]}\n", "", "304", "right"),
    ("    writesDecision: true\n", "", "401", "promote_checkpoint"),
    (", schema: decision.v1", "", "401", "writesDecision"),
    ("    params: {side: r}\n", "", "204", "{{config.side}}"),
    ("  root: \"s3://{{config.bucket}}/{{run.prefix}}\"\n", "", "204", "{{config.root}}"),
    ("  bucket: my-bucket\n", "", "204", "{{config.bucket}}"),
    ("parallel: [left, right]", "parallel: [left]", "316", "parallel"),
    ("    multiNodeMode: sharded\n", "", "505", "resources"),
    # a thing twice
    ("  publish:\n", "  end: {terminal: true}\n  publish:\n", "003", "end"),
    ("    next: fan\n", "    next: fan\n    next: fan\n", "003", "next"),
)  # fmt: skip


def _found(text: str) -> list[Diagnostic]:
    return check_bytes("spec.yaml", text.encode(), Settings(catalog())).findings


def _bare(text: str) -> list[Diagnostic]:
    """Give what the parser and the rules find, before anything is left out."""
    from npac.rules import RULES

    unit = Unit(SourceFile("spec.yaml", text), Settings(catalog()))
    for step in PASSES[:2]:
        step.run(unit)
    assert unit.flow is not None
    return [*unit.findings, *(item for rule in RULES for item in rule(unit.flow))]


def test_the_spec_is_sound() -> None:
    assert _found(SPEC) == []


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip[0]} -> {slip[1]}")
def test_one_slip_is_one_finding(slip: tuple[str, str, str, str]) -> None:
    old, new, code, at = slip
    assert old in SPEC
    found = [item for item in _found(SPEC.replace(old, new, 1)) if item.severity > Severity.NOTE]
    assert [(item.code.id, item.span.text) for item in found] == [(f"NPA{code}", at)]
    assert found[0].help


@given(st.lists(st.sampled_from(SLIPS), min_size=1, max_size=4))
def test_what_is_refused_stays_refused(slips: list[tuple[str, str, str, str]]) -> None:
    text = SPEC
    for old, new, _, _ in slips:
        text = text.replace(old, new, 1)
    unit = Unit(SourceFile("spec.yaml", text), Settings(catalog()))
    PASSES[0].run(unit)
    if unit.spec is None:
        return
    before, after = _bare(text), _found(text)
    assert max(item.severity for item in before) == max(item.severity for item in after)
    places = {(item.code.id, item.span.start) for item in before}
    assert {(item.code.id, item.span.start) for item in after} <= places


def test_two_mistakes_are_two_findings() -> None:
    body = (
        "config: {k: 1}\nstates:\n  a: {run: {argv: ['{{config.kk}}']}, next: bb}\n"
        "  b: {run: {argv: [x]}, terminl: true, outputs: [{uri: 'gs://x/{{run.id}}'}]}\n"
    )
    found = [(item.code.id, item.span.text) for item in checked(body).findings]
    assert found == [
        ("NPA204", "{{config.kk}}"),
        ("NPA301", "bb"),
        ("NPA101", "terminl"),
        ("NPA706", "'gs://x/{{run.id}}'"),
    ]


@pytest.mark.parametrize(
    ("slips", "wanted"),
    [
        (
            (("    next: fan\n", "    next: fan\n    next: fan\n"), ("goto: publish", "goto: publich")),
            [("NPA003", "next"), ("NPA301", "publich")],
        ),
        (
            (("  end:\n    terminal: true", "  end: {}"), ("    next: fan\n", "")),
            [("NPA325", "fetch"), ("NPA304", "end")],
        ),
        (
            (("states:", "State:"), ("    params: {side", "    with: {side")),
            [("NPA101", "State"), ("NPA101", "with")],
        ),
        (
            (("note: hello", "note: hello\n  note: again"), ("{{config.root}}/in/", "{{config.rot}}/in/")),
            [("NPA003", "note"), ("NPA204", "{{config.rot}}")],
        ),
    ],
)
def test_two_mistakes_in_two_places_hide_neither_and_make_no_third(
    slips: tuple[tuple[str, str], ...], wanted: list[tuple[str, str]]
) -> None:
    text = SPEC
    for old, new in slips:
        assert old in text
        text = text.replace(old, new, 1)
    found = [item for item in _found(text) if item.severity > Severity.NOTE]
    assert [(item.code.id, item.span.text) for item in found] == wanted


def test_an_unreachable_chain_is_named_by_its_first_state_and_a_ring_by_all() -> None:
    body = "states:\n  a: {terminal: true}\n  b: {next: c}\n  c: {next: d}\n  d: {terminal: true}\n"
    assert [item.span.text for item in checked(body).findings] == ["b"]
    ring = "states:\n  a: {terminal: true}\n  g: {sequence: [m], next: h}\n  m: {run: {argv: [x]}}\n  h: {terminal: true}\n"
    assert [item.span.text for item in checked(ring).findings] == ["g"]


def test_a_lost_end_shows_where_the_run_ends_and_what_is_cut_off() -> None:
    (item,) = _found(SPEC.replace("    next: train\n", "", 1))
    assert [(other.message, other.span.text) for other in item.related] == [
        ("the run ends at 'fan'", "fan"),
        ("nothing leads to the state 'train'", "train"),
    ]


def test_the_uses_of_what_is_not_declared_are_one_finding_and_misspelt_uses_are_each_one() -> None:
    body = "states:\n  a: {run: {argv: ['{{config.k}}', '{{config.k}}']}, next: b}\n  b: {run: {argv: ['{{config.k}}']}, terminal: true}\n"
    (item,) = checked(body).findings
    assert len(item.related) == 2
    found = checked("config: {key: 1}\n" + body.replace("config.k}", "config.kez}")).findings
    assert [item.code.id for item in found] == ["NPA204"] * 3


def test_a_misspelt_key_is_read_but_its_value_says_nothing_more() -> None:
    body = "states:\n  a: {run: {argv: [x]}, terminl: 'x', need: b, Resources: gpu}\n"
    assert [item.code.id for item in checked(body).findings] == ["NPA101"] * 3


def test_a_credential_behind_a_misspelt_key_is_found_all_the_same() -> None:
    value = "hf" + "_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567"
    body = f"states:\n  a: {{run: {{argv: [x]}}, terminal: true, secret: {value}}}\n"
    assert "NPA601" in {item.code.id for item in checked(body).findings}


def test_an_empty_head_is_one_finding() -> None:
    found = checked("", head=HEAD).findings
    assert [item.code.id for item in found] == ["NPA109"]
