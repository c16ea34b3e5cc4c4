"""Test files that are malformed: every fault is found with its place and a remedy."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from npac.spectest import expect, matchers, parse
from npac.spectest.parse import parse_suite
from npac.text.source import SourceFile

ROOT = Path(__file__).resolve().parents[2]
SPECS = Path(__file__).resolve().parent / "specs"
SCHEMA = json.loads((ROOT / "schemas" / "npac.test.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

# The text, the code, where it is, what is said, and whether the schema sees it too.
FAULTS = [
    ("case: []\n", "NPA101", "1:1", "did you mean 'cases'?", True),
    ("- a\n", "NPA102", "1:1", "begin with cases:", True),
    ("x-note: 1\n", "NPA103", "1:1", "add cases:", True),
    ("cases: []\n", "NPA103", "1:8", "add one", True),
    ("cases: [1]\n", "NPA102", "1:9", "write - name: ...", True),
    ("cases: [{expect: {waves: 1}}]\n", "NPA103", "1:9", "add name", True),
    ("cases: [{name: ' '}]\n", "NPA105", "1:16", "must not be empty", False),
    ("cases: [{name: a}, {name: a}]\n", "NPA105", "1:27", "two cases are called 'a'", False),
    ("cases: [{name: a, var: {k: v}}]\n", "NPA101", "1:19", "did you mean 'vars'?", True),
    ("cases: [{name: a, vars: [k]}]\n", "NPA102", "1:25", "write vars: {name: value}", True),
    ("cases: [{name: a, vars: {k: [1]}}]\n", "NPA102", "1:29", "must be text", True),
    ("cases: [{name: a, vars: {k: }}]\n", "NPA102", "1:29", "this is nothing", True),
    ("cases: [{name: a, assume: promote_chekpoint}]\n", "NPA104", "1:27", "mean promote_checkpoint?", True),
    ("cases: [{name: a, decide: {g: yes}}]\n", "NPA104", "1:31", "write one of", True),
    ("cases: [{name: a, decide: {g: []}}]\n", "NPA103", "1:31", "give at least one", True),
    ("cases: [{name: a, run_id: a/b}]\n", "NPA105", "1:27", "letters, digits", False),
    ("cases: [{name: a, allow_new_vars: maybe}]\n", "NPA102", "1:35", "write true or false", True),
    ("cases: [{name: a, expect: {}}]\n", "NPA103", "1:27", "give one of", True),
    ("cases: [{name: a, expect: {wave: 1}}]\n", "NPA101", "1:28", "did you mean 'waves'?", True),
    ("cases: [{name: a, expect: {waves: many}}]\n", "NPA111", "1:35", "a whole number", True),
    ("cases: [{name: a, expect: {waves: -1}}]\n", "NPA111", "1:35", "a whole number", True),
    ("cases: [{name: a, expect: {waves: [[]]}}]\n", "NPA103", "1:36", "name its states", True),
    ("cases: [{name: a, expect: {waves: [{batches: 1}]}}]\n", "NPA103", "1:36", "add group", True),
    ("cases: [{name: a, expect: {waves: [{grup: 1}]}}]\n", "NPA101", "1:37", "did you mean 'group'?", True),
    ("cases: [{name: a, expect: {gates: [{}]}}]\n", "NPA103", "1:36", "add uri", True),
    ("cases: [{name: a, expect: {steps: [s]}}]\n", "NPA102", "1:35", "STATE: {argv", True),
    ("cases: [{name: a, expect: {steps: {s: {}}}}]\n", "NPA103", "1:39", "says nothing", True),
    ("cases: [{name: a, expect: {steps: {s: {agv: []}}}}]\n", "NPA101", "1:40", "mean 'argv'?", True),
    ("cases: [{name: a, expect: {steps: {s: {argv: ls}}}}]\n", "NPA102", "1:46", "a list of words", True),
    ("cases: [{name: a, expect: {steps: {s: {shell: {}}}}}]\n", "NPA103", "1:47", "contains or", True),
    (
        "cases: [{name: a, expect: {steps: {s: {shell: {matches: '('}}}}}]\n",
        "NPA104",
        "1:57",
        "regular",
        False,
    ),
    ("cases: [{name: a, expect: {steps: {s: {env: [x]}}}}]\n", "NPA102", "1:45", "{NAME: value}", True),
    ("cases: [{name: a, expect: {steps: {s: {outputs: u}}}}]\n", "NPA102", "1:49", "{contains: URI}", True),
    ("cases: [{name: a, expect: {steps: {s: {outputs: [{schema: x}]}}}}]\n", "NPA103", "1:50", "uri", True),
    (
        "cases: [{name: a, expect: {steps: {s: {outputs: [{uri: x, kind: dir}]}}}}]\n",
        "NPA104",
        "1:65",
        "file, directory",
        True,
    ),
    ("cases: [{name: a, expect: {error: NPA999}}]\n", "NPA104", "1:35", "no code 'NPA999'", False),
    (
        "cases: [{name: a, expect: {error: unknown-confg-key}}]\n",
        "NPA104",
        "1:35",
        "unknown-config-key",
        False,
    ),
    ("cases: [{name: a, expect: {error: []}}]\n", "NPA103", "1:35", "name the codes", True),
    ("cases: [{name: a, expect: {error: {}}}]\n", "NPA103", "1:35", "give codes", True),
    ("cases: [{name: a, expect: {error: NPA204, waves: 1}}]\n", "NPA107", "1:43", "make it two cases", True),
    ("cases: [{name: a, name: b}]\n", "NPA003", "1:19", "twice", False),
    ("cases: [\n", "NPA002", "2:1", "", False),
    ("", "NPA103", "1:1", "add cases", False),
    ("defaults: {expect: {waves: 1}}\ncases: [{name: a}]\n", "NPA101", "1:12", "defaults has no key", True),
    ("defaults: {vars: 1}\ncases: [{name: a}]\n", "NPA102", "1:18", "write vars", True),
]


@pytest.mark.parametrize(("text", "code", "place", "said", "schema"), FAULTS)
def test_a_fault_of_form(text: str, code: str, place: str, said: str, schema: bool) -> None:
    _, findings = parse_suite(SourceFile("t.test.yaml", text))
    found = findings[0]
    line, column = found.span.source.position(found.span.start)
    assert (found.code.id, f"{line}:{column}") == (code, place), found.message
    assert said in f"{found.message} {found.help}"
    assert len({(item.code.id, item.span.start, item.message) for item in findings}) == 1
    if schema:
        assert not VALIDATOR.is_valid(yaml.safe_load(text))


def test_the_schema_is_sound_and_takes_the_examples() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    examples = sorted(SPECS.glob("*.test.yaml"))
    assert examples
    for path in examples:
        VALIDATOR.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def test_the_schema_knows_the_keys_that_are_read() -> None:
    def keys(name: str, at: int | None = None) -> set[str]:
        part = SCHEMA["$defs"][name] if name else SCHEMA
        return set((part if at is None else part["anyOf"][at])["properties"])

    assert keys("") == set(parse.TOP_KEYS)
    assert keys("given") == set(parse.GIVEN_KEYS)
    assert keys("case") == set(parse.CASE_KEYS)
    assert keys("expect") == set(expect.KEYS)
    assert keys("step") == set(expect.STEP_KEYS)
    assert keys("wave", 2) == set(expect.WAVE_KEYS)
    assert keys("gate", 1) == set(expect.GATE_KEYS)
    assert keys("match", 1) == keys("words", 1) == set(matchers.MATCH_KEYS)
    assert keys("artifact", 1) == set(matchers.ARTIFACT_KEYS)
    assert set(SCHEMA["$defs"]["expect"]["properties"]["error"]["anyOf"][2]["properties"]) == set(
        expect.ERROR_KEYS
    )


def test_a_scalar_keeps_its_authors_text() -> None:
    text = "cases: [{name: 010, vars: {a: 1.10, b: 0x10, c: no, d: '', e: 2026-08-22}, run_id: 1e3}]\n"
    suite, findings = parse_suite(SourceFile("t.test.yaml", text))
    assert findings == [] and suite is not None
    (case,) = suite.cases
    assert case.name.value == "010" and case.run_id == "1e3"
    assert dict(case.vars) == {"a": "1.10", "b": "0x10", "c": "no", "d": "", "e": "2026-08-22"}


def test_defaults_are_laid_under_each_case() -> None:
    text = (
        "defaults:\n"
        "  {vars: {a: 1, b: 1}, run_id: r, assume: loop_back, decide: {g: promote}, config: [x.yaml]}\n"
        "cases:\n"
        "  - {name: one}\n"
        "  - {name: two, vars: {b: 2}, run_id: s, decide: {h: [loop_back]}, config: y.yaml}\n"
    )
    suite, findings = parse_suite(SourceFile("folder/t.test.yaml", text))
    assert findings == [] and suite is not None
    one, two = suite.cases
    assert suite.spec == "folder/t.yaml"
    assert (dict(one.vars), one.run_id, one.config) == ({"a": "1", "b": "1"}, "r", ("folder/x.yaml",))
    assert (dict(two.vars), two.run_id, two.config) == ({"a": "1", "b": "2"}, "s", ("folder/y.yaml",))
    assert [item.gate.value for item in two.decide] == ["g", "h"]
    assert two.assume is not None and two.assume.value == "loop_back"
