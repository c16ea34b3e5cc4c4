"""The bounds on texts, with late values at their longest, and on all texts together."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from npac.diagnostics.diagnostic import Severity
from tests.rules.specs import END, checked

ARGUMENT = 128 * 1024
FIELD = 1 << 20


def errors(body: str, **options: object) -> list[str]:
    found = checked(body, **options).findings  # type: ignore[arg-type]
    return [item.code.name for item in found if item.severity is Severity.ERROR]


def argv(word: str, *, around: str = "loop: {max: 1000}, ", config: str = "") -> str:
    return f"{config}states:\n  a: {{run: {{argv: [x, '{word}']}}, {around}next: z}}\n{END}"


LATE = {
    "{{run.id}}": 96,
    "{{run.id | base64}}": 128,
    "{{run.id | json}}": 98,
    "{{loop.a}}": 4,
    "{{loop.a | base64}}": 8,
    "{{loop.a}}{{run.id}}": 100,
    "{{config.p}}": 98,
}


@pytest.mark.parametrize("token", LATE)
@pytest.mark.parametrize("limit", [ARGUMENT, FIELD])
def test_late_values_count_at_their_longest(token: str, limit: int) -> None:
    config = "config: {p: 'p-{{run.id}}'}\n"

    def spec(length: int) -> str:
        if limit == ARGUMENT:
            return argv("x" * length + token, config=config)
        uri = f"s3://bkt/{'x' * (length - 9)}{token}"
        return f"{config}states:\n  a: {{run: {{argv: [x]}}, loop: {{max: 1000}}, inputs: [{{uri: '{uri}'}}], next: z}}\n{END}"

    assert "value-too-long" not in errors(spec(limit - LATE[token]))
    assert "value-too-long" in errors(spec(limit - LATE[token] + 1))


def test_a_states_value_counts_with_the_counters_in_it() -> None:
    def spec(length: int, token: str) -> str:
        return (
            "states:\n  g: {sequence: [b, a], loop: {max: 100}, next: z}\n"
            f"  b: {{run: {{argv: [x]}}, outputs: [{{uri: 's3://bkt/{{{{run.id}}}}/{{{{loop.g}}}}.json'}}]}}\n"
            f"  a: {{run: {{argv: [x, '{'x' * length}{token}']}}}}\n{END}"
        )

    longest = len("s3://bkt//.json") + 96 + 3
    for token, more in (
        ("{{state.b.uri}}", 0),
        ("{{state.b.uri | json}}", 2),
        ("{{state.b.uri | urlencode}}", 10),
    ):
        assert errors(spec(ARGUMENT - longest - more, token)) == []
        assert errors(spec(ARGUMENT - longest - more + 1, token)) == ["value-too-long"]
    (item,) = [
        item for item in checked(spec(ARGUMENT, "{{state.b.uri}}")).findings if item.code.id == "NPA214"
    ]
    assert "with b.uri" in item.message or "b.uri" in item.message


def test_values_from_the_command_line_have_the_bounds_too() -> None:
    body = argv("{{config.k}}", config="config: {k: v}\n")
    for options in ("variables", "sets"):
        assert errors(body, **{options: (("k", "x" * ARGUMENT),)}) == []
        assert errors(body, **{options: (("k", "x" * (ARGUMENT + 1)),)}) == ["value-too-long"]
    unread = argv("y", config="config: {k: v}\n")
    assert errors(unread, variables=(("k", "x" * FIELD),)) == []
    assert errors(unread, variables=(("k", "x" * (FIELD + 1)),)) == ["value-too-long"]
    assert errors(unread, sets=(("k", "x" * (FIELD - 95) + "{{run.id}}"),)) == ["value-too-long"]


def test_plain_texts_of_a_profile_have_the_bound_too() -> None:
    def spec(length: int) -> str:
        pod = f"kubernetes: {{pod_config: {{metadata: {{annotations: {{a: '{'x' * length}'}}}}}}}}"
        return f"resources: {{default: {{{pod}}}}}\nstates:\n  a: {{run: {{argv: [x]}}, next: z}}\n{END}"

    assert errors(spec(FIELD)) == []
    assert errors(spec(FIELD + 1)) == ["value-too-long"]


def measured(body: str) -> tuple[list[str], int]:
    tracemalloc.start()
    found = errors(body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, peak


def test_many_config_values_are_refused_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npac.flow.config.MAX_TEXT", 20 << 20)
    keys = "".join(f"  k{at}: '{{{{config.k}}}}{at}'\n" for at in range(2_000))
    found, peak = measured(
        f"config:\n  k: {'x' * 100_000}\n{keys}states:\n  a: {{run: {{argv: [x]}}, next: z}}\n{END}"
    )
    assert found == ["program-too-large"]
    assert peak < 60 << 20


def test_many_arguments_are_refused_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npac.flow.config.MAX_TEXT", 20 << 20)
    words = ", ".join(f"'{{{{config.k}}}}{at}'" for at in range(2_000))
    found, peak = measured(
        f"config:\n  k: {'x' * 100_000}\nstates:\n  a: {{run: {{argv: [x, {words}]}}, next: z}}\n{END}"
    )
    assert found == ["program-too-large"]
    assert peak < 60 << 20


def test_one_text_in_very_many_arguments_is_refused_without_a_loop() -> None:
    words = ", ".join(["'{{config.k}}'"] * 10_000)
    (item,) = checked(
        f"config:\n  k: {'x' * 120_000}\nstates:\n  a: {{run: {{argv: [x, {words}]}}, next: z}}\n{END}"
    ).findings
    assert item.code.name == "program-too-large" and "config.k" in item.help


def test_the_finding_names_the_keys_the_state_and_the_loops() -> None:
    body = (
        f"config:\n  k: {'x' * 100_000}\nstates:\n"
        "  g: {sequence: [a], loop: {max: 300}, next: z}\n"
        "  a: {run: {argv: [x, '{{config.k}}', '{{loop.g}}-{{loop.a}}']}, loop: {max: 100}}\n" + END
    )
    (item,) = checked(body).findings
    assert item.code.name == "program-too-large"
    assert item.span.text == "'{{config.k}}'"
    assert "30,000 steps" in item.message and "g (max 300)" in item.message and "a (max 100)" in item.message
    assert "config.k" in item.help and "lower the max of" in item.help
    # unread counters make no steps
    assert checked(body.replace("{{loop.g}}-{{loop.a}}", "y")).findings == []


def test_a_chain_of_values_that_double_is_followed_in_linear_time() -> None:
    count = 3_000
    lines = ["  s0: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/o.json'}], next: s1}\n"]
    for at in range(1, count):
        uri = f"s3://bkt/{{{{state.s{at - 1}.uri}}}}{{{{state.s{at - 1}.uri | urlencode}}}}.json"
        lines.append(f"  s{at}: {{run: {{argv: [x]}}, outputs: [{{uri: '{uri}'}}], next: s{at + 1}}}\n")
    begun = time.process_time()
    found = errors(f"states:\n{''.join(lines)}  s{count}: {{terminal: true}}\n")
    assert "value-too-long" in found
    assert time.process_time() - begun < 60


LOOP = "loop: {max: 40}, "
QUANTITIES = [
    ("cpus: '{{loop.a}}'", []),
    ("cpus: '{{loop.a}}x'", ["bad-quantity"]),
    ("memory: '{{loop.a}}Gi'", []),
    ("memory: '{{loop.a}}Gx'", ["bad-quantity"]),
    ("disk_size: '{{loop.a}}0'", []),
    ("disk_size: '{{loop.a}}G'", ["bad-quantity"]),
    ("num_nodes: '{{loop.a}}'", ["bad-quantity"]),  # 40, and 32 is the most
    ("accelerators: 'H100:{{loop.a}}'", []),
    ("accelerators: 'H100 {{loop.a}}'", ["bad-quantity"]),
    ("accelerators: {H100: '{{loop.a}}'}", []),
    ("accelerators: {H100: '-{{loop.a}}'}", ["bad-quantity"]),
    ("kubernetes: {provision_timeout: '{{loop.a}}0'}", []),
    ("kubernetes: {provision_timeout: '{{loop.a}}s'}", ["bad-quantity"]),
    ("kubernetes: {pod_config: {metadata: {annotations: {a: '{{loop.a}}s'}}}}", []),
    ("image: 'r.example/x:v{{loop.a}}'", []),
    ("image: 'R.example/X:v{{loop.a}}'", ["bad-image"]),
]


@pytest.mark.parametrize(("entry", "wanted"), QUANTITIES)
def test_a_quantity_is_read_with_the_counters_of_loops(entry: str, wanted: list[str]) -> None:
    body = f"resources: {{default: {{{entry}}}}}\nstates:\n  a: {{run: {{argv: [x]}}, {LOOP}next: z}}\n{END}"
    assert [name for name in errors(body) if name != "not-sharded"] == wanted
    if wanted:
        item = next(item for item in checked(body).findings if item.code.name == wanted[0])
        assert "{{loop.a}}" in item.span.text
    else:
        assert checked(body, until="settle").sound


def test_many_nodes_by_a_counter_must_be_sharded() -> None:
    body = (
        "resources: {default: {num_nodes: '{{loop.a}}'}}\n"
        f"states:\n  a: {{run: {{argv: [x]}}, loop: {{max: 4}}, next: z}}\n{END}"
    )
    assert errors(body) == ["not-sharded"]
    assert errors(body.replace("max: 4", "max: 1")) == []


def test_a_quantity_that_waits_for_the_run_by_way_of_a_state_is_refused() -> None:
    body = (
        "resources: {other: {region: '{{state.b.uri}}'}}\nstates:\n"
        "  b: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/o.json'}], next: a}\n"
        f"  a: {{run: {{argv: [x]}}, resources: other, next: z}}\n{END}"
    )
    (item,) = [item for item in checked(body).findings if item.severity is Severity.ERROR]
    assert item.code.name == "late-structure" and "b.uri" in item.message
    assert item.span.text == "'{{state.b.uri}}'"


def test_after_a_loop_its_counter_is_the_last_value() -> None:
    body = (
        "resources: {other: {num_nodes: '{{loop.l}}'}}\nstates:\n"
        "  l: {run: {argv: [x]}, loop: {max: 33}, next: a}\n"
        f"  a: {{run: {{argv: [x]}}, resources: other, multiNodeMode: sharded, next: z}}\n{END}"
    )
    assert errors(body) == ["bad-quantity"]
    assert errors(body.replace("max: 33", "max: 32")) == []
