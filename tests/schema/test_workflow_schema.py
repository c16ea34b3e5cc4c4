from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from npac.api import Options, check
from npac.diagnostics.diagnostic import Severity
from npac.syntax.conditions import CountProblem, parse_count
from npac.syntax.grammars import Problem
from npac.syntax.language import CONFIG, PROFILE, SPEC, STATE, Section
from npac.syntax.quantities import parse_accelerator, parse_cpus, parse_memory
from npac.syntax.schema import FILE_NAME, schema_text, workflow_schema
from tests.corpus.place import CORPUS, each_spec, needs_corpus, spec_path
from tests.schema.examples import BAD, GOOD, spec
from tests.schema.plain_yaml import plain

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = workflow_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
WORKFLOWS = [
    path for path in sorted((ROOT / "workflows").rglob("*.yaml")) if not path.name.endswith(".test.yaml")
]
PROBES = CORPUS.parent / "probes"
PAGES = sorted((ROOT / "docs" / "rules").glob("NPA*.md"))

# Codes whose rule is one of form.
FORM_CODES = (
    "NPA008", "NPA101", "NPA102", "NPA103", "NPA104", "NPA105", "NPA107", "NPA109", "NPA110", "NPA111",
    "NPA213", "NPA216", "NPA303", "NPA304", "NPA305", "NPA306", "NPA311", "NPA314", "NPA316", "NPA320",
    "NPA321", "NPA329", "NPA502", "NPA504",
)  # fmt: skip

# Probes whose fault is one of form; the number begins the file's name.
FORM = ("01", "03", "15", "17", "19", "21", "23", "35", "51", "53", "55", "57", "59", "63", "83", "87", "89")


def rejected(data: Any) -> list[str]:
    """Give the places at which the schema refuses a document."""
    return [error.json_path for error in VALIDATOR.iter_errors(data)]


def check_errors(text: str) -> list[str]:
    """Give the codes that npac reports at error level."""
    found = check("spec.yaml", Options(use_project=False), data=text.encode()).findings
    return [item.code.id for item in found if item.severity >= Severity.ERROR]


def dump(data: Any) -> str:
    """Write data as YAML that any version reads alike."""
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def test_the_shipped_schema_is_generated_from_the_language() -> None:
    path = ROOT / "schemas" / FILE_NAME
    if os.environ.get("NPAC_UPDATE_SCHEMAS"):
        path.write_text(schema_text(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == schema_text(), "run this test once with NPAC_UPDATE_SCHEMAS=1"


def test_the_command_prints_the_schema() -> None:
    program = "from npac.cli.main import entry; entry(['schema'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, cwd=ROOT, check=True)
    assert done.stdout.decode("utf-8") == schema_text()
    assert done.stderr == b""


def test_it_is_a_draft_7_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert json.loads(schema_text()) == SCHEMA


@each_spec
def test_corpus_specs_are_valid(name: str) -> None:
    assert rejected(plain(spec_path(name).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_shipped_workflows_are_valid(path: Path) -> None:
    assert rejected(plain(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("data", GOOD.values(), ids=GOOD)
def test_good_forms_are_valid_here_and_to_the_check(data: dict[str, Any]) -> None:
    assert rejected(data) == []
    assert check_errors(dump(data)) == []


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_bad_forms_are_refused_here_and_by_the_check(data: dict[str, Any]) -> None:
    assert rejected(data)
    assert check_errors(dump(data))


@needs_corpus
def test_probes_whose_fault_is_one_of_form_are_refused() -> None:
    refused, seen = [], 0
    for path in sorted(PROBES.glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        try:
            data = plain(text) if "bomb" not in path.name else None
        except yaml.YAMLError:
            continue  # no YAML, or not one document: an editor says so before it asks a schema
        seen += data is not None
        if data is not None and rejected(data):
            refused.append(path.name[:2])
            assert check_errors(text), path.name
    assert seen > 30
    assert tuple(refused) == FORM


@pytest.mark.skipif(not PAGES, reason="there are no pages in docs/rules")
def test_examples_of_the_rules_of_form_are_refused() -> None:
    refused = set()
    for page in PAGES:
        for block in re.findall(
            r"^```yaml[^\n]*\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
        ):
            try:
                data = plain(block)
            except yaml.YAMLError:
                continue
            if rejected(data):
                refused.add(page.stem)
                assert check_errors(block), (page.name, block)
    assert set(FORM_CODES) <= refused


def sections(section: Section = SPEC) -> Iterator[Section]:
    """Give every mapping of the language."""
    yield section
    for key in section.keys.values():
        if key.inner is not None:
            yield from sections(key.inner)


def properties(schema: Any, path: str = "$") -> Iterator[tuple[str, Any]]:
    """Give every property of every mapping in the schema that says what a key takes."""
    if isinstance(schema, dict):
        if "additionalProperties" in schema or path == "$" or path.endswith("config"):
            for name, value in schema.get("properties", {}).items():
                if value is not False:
                    yield f"{path}.{name}", value
        for name, value in schema.items():
            yield from properties(value, f"{path}.{name}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from properties(value, f"{path}[{index}]")


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference inside the schema."""
    while "$ref" in schema:
        found: Any = SCHEMA
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = found
    return schema


def test_every_key_is_described() -> None:
    described = dict(properties(SCHEMA))
    names = {path.rpartition(".")[2] for path in described}
    for section in sections():
        assert section.title and section.about.endswith(".")
        assert set(section.names) | set(section.aliases) <= names
    for path, schema in described.items():
        description = resolved(schema).get("description", "")
        assert len(description) > 10 and description.endswith((".", "…")), path
    assert len(described) > 90


def test_old_spellings_are_marked_and_not_suggested() -> None:
    keys = SCHEMA["definitions"]["state"]["properties"]
    assert set(STATE.aliases) == {
        "tool_ref",
        "parallel_count",
        "max_concurrency",
        "writes_decision",
        "multi_node_mode",
    }
    for old, new in STATE.aliases.items():
        assert keys[old]["deprecated"] is True
        assert keys[old]["deprecationMessage"] == f"write {new}"
        assert keys[old]["doNotSuggest"] is True
        assert keys[old].get("type") == keys[new].get("type")


def test_defaults_and_examples_are_of_their_own_form() -> None:
    seen = 0
    for path, schema in properties(SCHEMA):
        schema = resolved(schema)
        validator = jsonschema.Draft7Validator({**schema, "definitions": SCHEMA["definitions"]})
        for value in [*schema.get("examples", []), *([schema["default"]] if "default" in schema else [])]:
            seen += 1
            assert validator.is_valid(value), (path, value)
    assert seen > 30


def test_patterns_hold_nothing_that_editors_lack() -> None:
    patterns: list[str] = []

    def gather(schema: Any) -> None:
        if isinstance(schema, dict):
            patterns.extend(
                value for name, value in schema.items() if name == "pattern" and value is not True
            )
            patterns.extend(schema.get("patternProperties", ()))
            for value in schema.values():
                gather(value)
        elif isinstance(schema, list):
            for value in schema:
                gather(value)

    gather(SCHEMA)
    assert len(patterns) > 30
    for pattern in patterns:
        re.compile(pattern)
        # possessive quantifiers, Python's anchors, named groups, inline flags
        assert not re.search(r"[*+?}]\+|\\[AZ]|\(\?P|\(\?[aiLmsux]", pattern), pattern


QUANTITY = st.text(st.sampled_from("0123456789.+-:GiMH eA_"), max_size=8) | st.from_regex(
    r"[A-Z]?[0-9]{1,3}(\.[0-9])?(:[0-9])?(Gi|G)?\+?", fullmatch=True
)


@given(QUANTITY)
def test_quantities_have_the_shape_that_the_parsers_read(text: str) -> None:
    for name, parse in (("cpus", parse_cpus), ("memory", parse_memory), ("accelerators", parse_accelerator)):
        schema = SCHEMA["properties"]["resources"]["additionalProperties"]["properties"][name]
        fits = jsonschema.Draft7Validator(schema).is_valid(text)
        reads = not isinstance(parse(text), Problem)
        # the shape cannot say that an amount is not nought
        assert fits >= reads, (name, text)
        if fits and not reads:
            assert not re.search(r"[1-9]", text.partition(":")[0]) or re.search(r":0*\Z", text), (name, text)


@given(st.text(st.sampled_from("0123456789 {}.config+-n"), max_size=14) | st.sampled_from(["{{config.n}}"]))
def test_counts_have_the_shape_that_the_parser_reads(text: str) -> None:
    schema = SCHEMA["definitions"]["state"]["properties"]["parallelCount"]
    fits = jsonschema.Draft7Validator(schema).is_valid(text)
    assert fits == (not isinstance(parse_count(text.strip()), CountProblem)), text


POOL: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2.5, "", "a", "b c", "{{config.x}}", "config.x", "true", "s3://bkt/x",
    [], ["a"], ["a", "a"], [None], [[]], {}, {"a": 1}, {"uri": "s3://bkt/x"}, {"x-a": 1}, [{"uri": "s3://bkt/x"}],
    {"shell": "echo"}, {"max": 2}, [{"goto": "a"}],
)  # fmt: skip
KEYS = sorted(
    {name for section in sections() for name in (*section.names, *section.aliases)} | {"x-own", "z"}
)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give every place in a tree."""
    yield path
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from places(value, (*path, index))


def mutate(data: Any, random_: random.Random) -> Any:
    """Change one place of a tree: another value, another key, one key more or one less."""
    data = json.loads(json.dumps(data))
    path = random_.choice([place for place in places(data) if place])
    parent = data
    for step in path[:-1]:
        parent = parent[step]
    last, action = path[-1], random_.randrange(4)
    if action == 0:
        del parent[last]
    elif action == 1 and isinstance(parent, dict):
        parent[random_.choice(KEYS)] = parent.pop(last)
    elif action == 2 and isinstance(parent, dict):
        parent[random_.choice(KEYS)] = random_.choice(POOL)
    else:
        parent[last] = random_.choice(POOL)
    return data


@given(st.randoms(use_true_random=False), st.sampled_from([*GOOD.values(), spec()]), st.integers(1, 3))
def test_what_the_schema_refuses_the_check_refuses(random_: Any, data: Any, times: int) -> None:
    for _ in range(times):
        data = mutate(data, random_)
    # of a config value's form, the check sees only what something reads
    if [place for place in rejected(data) if not place.startswith("$.config.")]:
        text = dump(data)
        assert check_errors(text), text


def test_known_config_keys_leave_others_free() -> None:
    assert rejected(spec(config={"anything": {"nested": [1]}, **dict.fromkeys(CONFIG.names, "")})) == [
        "$.config.required_immutable_images"
    ]


def test_the_language_is_read_from_one_place() -> None:
    profile = SCHEMA["properties"]["resources"]["additionalProperties"]
    assert tuple(profile["properties"]) == PROFILE.names
    assert tuple(SCHEMA["properties"]) == SPEC.names
    errors = check_errors(dump(spec({"a": {"terminal": True, "zzz": 1}})))
    assert errors == ["NPA101"]
