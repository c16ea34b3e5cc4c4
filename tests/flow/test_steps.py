"""What a state does, before its loops are unrolled: commands, overlays, profiles, counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from npac.catalog import load_catalog
from npac.diagnostics.diagnostic import Severity
from npac.flow.steps import SymbolicStep, plain_value
from npac.ir.values import RUN_ID, Hole, concat
from npac.pipeline import Settings, Unit, run_passes
from npac.text.source import SourceFile
from npac.text.yaml_nodes import Map, Scalar, parse_yaml

HEAD = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: steps}
"""

CATALOG = """\
catalog: npac.catalog/v1
tools:
  greet:
    command: [hello, --name, "{{config.name}}", --title, "{{config.title}}", --flag, "{{config.flag}}"]
    omit_when_empty: [--title, --flag]
"""


def unit_of(rest: str, catalog: Path | None = None) -> Unit:
    settings = Settings(load_catalog([catalog] if catalog is not None else []))
    return run_passes(SourceFile("steps.yaml", HEAD + rest), settings, until="lower")


def step_of(rest: str, name: str = "a") -> SymbolicStep:
    flow = unit_of(rest).flow
    assert flow is not None
    return flow.steps.by_state[name]


def test_params_lie_over_config_for_one_state_and_do_not_see_each_other() -> None:
    rest = """\
config: {x: "1", y: "{{config.x}}", z: "3"}
states:
  a:
    run: {argv: ["{{config.x}}", "{{config.y}}", "{{config.z}}"]}
    params: {x: "one", z: "{{config.x}}-{{run.id}}"}
    next: b
  b: {run: {argv: ["{{config.x}}"]}, terminal: true}
"""
    assert step_of(rest).argv == ("one", "1", concat(("1-", RUN_ID)))
    assert step_of(rest, "b").argv == ("1",)


def test_config_values_stay_the_authors_text() -> None:
    words = ["1.10", "010", "1e3", "1:30", "true", "2026-08-22", "~x", "0x1F"]
    config = ", ".join(f"k{number}: {word}" for number, word in enumerate(words))
    argv = ", ".join(f'"{{{{config.k{number}}}}}"' for number in range(len(words)))
    rest = f"config: {{{config}}}\nstates:\n  a: {{run: {{argv: [{argv}]}}, terminal: true}}\n"
    assert step_of(rest).argv == tuple(words)


def test_prefix_is_the_default_inside_config_and_the_configured_one_outside() -> None:
    states = 'states:\n  a: {run: {argv: ["{{run.prefix}}", "{{config.p}}"]}, terminal: true}\n'
    default = concat(("steps/", RUN_ID))
    assert step_of('config: {p: "{{run.prefix}}"}\n' + states).argv == (default, default)
    given = concat(("data/", RUN_ID))
    assert step_of('config: {p: "{{run.prefix}}", prefix: "data/{{run.id}}"}\n' + states).argv == (
        given,
        default,
    )


def test_tokens_of_loops_and_states_are_holes_that_the_step_holds() -> None:
    step = step_of(
        """\
config: {}
states:
  g: {sequence: [b, a], loop: {max: 2}, terminal: true}
  b: {run: {shell: b}, outputs: [{uri: "s3://xxx/{{run.id}}/1"}, {uri: "s3://xxx/{{run.id}}/2"}]}
  a:
    run: {shell: "{{state.b.uri}} {{state.b.output_2}}"}
    trigger: {uri: "s3://ttt/{{loop.g}}"}
"""
    )
    assert step.shell == concat((Hole("state.b.1"), " ", Hole("state.b.2")))
    assert step.held == {"state.b.1", "state.b.2"}
    assert step.variables == {"state.b.1", "state.b.2", "loop.g"}


@pytest.mark.parametrize(
    ("title", "flag", "words"),
    [
        ("dr", "on", ("hello", "--name", "x", "--title", "dr", "--flag", "on")),
        ("", "on", ("hello", "--name", "x", "--flag", "on")),
        ("", "", ("hello", "--name", "x")),
        # what waits for the run is not empty
        ("{{run.id}}", "", ("hello", "--name", "x", "--title", RUN_ID)),
    ],
)
def test_flags_vanish_with_an_empty_value(
    title: str, flag: str, words: tuple[object, ...], tmp_path: Path
) -> None:
    catalog = tmp_path / "tools.yaml"
    catalog.write_text(CATALOG, encoding="utf-8")
    unit = unit_of(
        f'config: {{name: x, title: "{title}", flag: "{flag}"}}\n'
        "states:\n  a: {toolRef: greet, terminal: true}\n",
        catalog,
    )
    assert unit.program is not None
    assert unit.program.steps[0].argv == words


def test_an_empty_value_of_another_flag_stays(tmp_path: Path) -> None:
    catalog = tmp_path / "tools.yaml"
    catalog.write_text(CATALOG, encoding="utf-8")
    unit = unit_of(
        'config: {name: "", title: "", flag: ""}\nstates:\n  a: {toolRef: greet, terminal: true}\n', catalog
    )
    assert unit.program is not None
    assert unit.program.steps[0].argv == ("hello", "--name", "")


def test_a_profile_keeps_numbers_and_booleans_and_leaves_text_text() -> None:
    step = step_of(
        """\
config: {n: "8", zone: eu}
resources:
  default:
    cloud: kubernetes
    cpus: 4
    memory: "16"
    disk_size: "{{config.n}}"
    use_spot: false
    region: "{{config.zone}}"
    x-note: not kept
    kubernetes:
      pod_config: {spec: {containers: [{name: main, env: [{name: A, value: "{{run.id}}"}]}]}}
states:
  a: {run: {shell: a}, params: {zone: us}, terminal: true}
"""
    )
    assert step.profile_name == "default"
    profile = dict(step.profile)
    pod = profile.pop("kubernetes")
    assert profile == {
        "cloud": "kubernetes",
        "cpus": 4,
        "memory": "16",
        "disk_size": "8",
        "use_spot": False,
        "region": "us",
    }
    assert pod == {
        "pod_config": {"spec": {"containers": [{"name": "main", "env": [{"name": "A", "value": RUN_ID}]}]}}
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("-4", -4),
        ("0", 0),
        ("1.5", 1.5),
        ("true", True),
        ("null", None),
        ("~", None),
        ('"4"', "4"),
        ("'true'", "true"),
        ("!!str 4", "4"),
        # what readers of YAML do not agree on stays text
        ("010", "010"),
        ("1e3", "1e3"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("yes", "yes"),
        ("12345678901234567890", "12345678901234567890"),
        ("1:30", "1:30"),
        (".5", ".5"),
    ],
)
def test_plain_values(text: str, value: object) -> None:
    node, problems = parse_yaml(SourceFile("v.yaml", f"k: {text}\n"))
    assert isinstance(node, Map) and problems == []
    scalar = node.get("k")
    assert isinstance(scalar, Scalar)
    found = plain_value(scalar)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        ("-1", "bad-number"),
        ("3.5", "bad-number"),
        ('"{{config.none}}"', "unknown-config-key"),
        ('"{{config.late}}"', "late-structure"),
        ('"{{config.word}}"', "bad-number"),
        ('"{{config.table}}"', "value-not-text"),
        ('"{{config.counted}}"', "late-structure"),
    ],
)
def test_counts_that_cannot_be_read(number: str, code: str) -> None:
    unit = unit_of(
        f"""\
config: {{late: "{{{{run.id}}}}", word: three, table: {{a: 1}}, counted: "1"}}
states:
  g: {{sequence: [a], loop: {{max: 2}}, terminal: true}}
  a:
    run: {{shell: "{{{{config.counted}}}}"}}
    params: {{counted: "{{{{loop.g}}}}"}}
    trigger: {{uri: s3://ttt/x, minObjects: {number}}}
"""
    )
    found = [item.code.name for item in unit.findings if item.severity is Severity.ERROR]
    assert found == [code]


def test_secrets_of_state_and_tool_are_joined_and_sorted() -> None:
    step = step_of("states:\n  a: {run: {shell: a}, secrets: [ZED, ALPHA, ZED], terminal: true}\n")
    assert step.secrets == ("ALPHA", "ZED")
