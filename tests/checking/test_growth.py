"""Checking takes time in proportion to the text, whatever stands in it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest

from npac.checking import Checked
from npac.diagnostics.render import render
from npac.text.source import MAX_ALIKE
from tests.rules.specs import HEAD, RUNTIME, checked

END = "  z: {terminal: true}\n"
_TRIES = 4
_MOST = 9.0
"""Four times the text may take nine times as long: noise makes less of four, and a square is sixteen."""


def states(line: Callable[[int], str], *, config: str = "", tail: str = END) -> Callable[[int], str]:
    """Give a spec of ``n`` states, a line or several each."""
    return lambda n: config + "states:\n" + "".join(map(line, range(n))) + tail


def work(text: str, more: str = "") -> str:
    return f"run: {{argv: [x, {text}]}}{more}"


def loop(name: str) -> str:
    """Give the token of a loop's counter, in quotes."""
    return f"'{{{{loop.{name}}}}}'"


def shell(text: Callable[[int], str]) -> Callable[[int], str]:
    """Give a spec with one shell text, whose value is not safe in it."""
    return lambda n: (
        'config: {a: "x y"}\nstates:\n  a:\n    terminal: true\n    run:\n      shell: |\n'
        + "".join(f"        {line}\n" for line in text(n).split("\n"))
    )


def nested(inner: Callable[[int], str], key: str = "") -> Callable[[int], str]:
    """Give sequences in sequences, with the states of ``inner`` behind."""
    return lambda n: (
        "states:\n"
        + "".join(f"  g{i}: {{sequence: [g{i + 1}]{key}}}\n" for i in range(n))
        + f"  g{n}: {{run: {{argv: [x]}}}}\n"
        + inner(n)
    )


DECIDE = "config: {decision_uri: s3://bucket/d.json}\n"
SHAPES: dict[str, tuple[int, Callable[[int], str]]] = {
    "unknown states": (300, states(lambda i: f"  s{i}: {{{work('y')}, next: t{i}}}\n")),
    "unknown config keys": (
        300,
        lambda n: (
            "config:\n"
            + "".join(f"  k{i}: 1\n" for i in range(n))
            + "states:\n"
            + "".join(f'  s{i}: {{run: {{argv: ["{{{{config.kk{i}}}}}"]}}}}\n' for i in range(n))
        ),
    ),
    "unknown run keys": (
        300,
        lambda n: (
            "run:\n"
            + "".join(f"  k{i}: v\n" for i in range(n))
            + "states:\n"
            + "".join(f'  s{i}: {{run: {{argv: ["{{{{run.t{i}}}}}"]}}}}\n' for i in range(n))
        ),
    ),
    "unknown loops": (
        300,
        states(lambda i: f"  s{i}: {{{work(loop(f't{i}'))}, loop: {{max: 2}}}}\n"),
    ),
    "unknown profiles": (
        300,
        lambda n: (
            "resources:\n"
            + "".join(f"  q{i}: {{cpus: 4}}\n" for i in range(n))
            + "states:\n"
            + "".join(f"  s{i}: {{{work('y')}, resources: p{i}}}\n" for i in range(n))
        ),
    ),
    "unknown tools": (150, states(lambda i: f"  s{i}: {{toolRef: cosmos.transfr{i}}}\n")),
    "unknown keys": (1000, lambda n: "states:\n" + END + "".join(f"foo{i}: 1\n" for i in range(n))),
    "duplicate keys": (2000, lambda n: "states:\n" + END + "x-a: 1\n" * n),
    "tokens in one line": (
        600,
        lambda n: (
            "config: {a: b}\nstates:\n  a: {terminal: true, run: {argv: ['"
            + "{{config.a}}{{config.b}}" * n
            + "']}}\n"
        ),
    ),
    "tokens in a block": (600, shell(lambda n: "\n".join(["echo '{{config.a}}' {{config.a}}"] * n))),
    "quotes": (1500, shell(lambda n: "'{{config.a}}\"" * n)),
    "commands in commands": (1500, shell(lambda n: "$(" * n + "`" * n + '"' * n + "{{config.a}}" * n)),
    "here-documents": (
        400,
        shell(lambda n: "\n".join(f"cat <<E{i}\n{{{{config.a}}}}\nE{i}" for i in range(n))),
    ),
    "pending here-documents": (1500, shell(lambda n: "cat " + "<<E " * n + "\n{{config.a}}\nE" * n)),
    "gates of one place": (
        150,
        states(
            lambda i: (
                f"  s{i}: {{{work('y')}, writesDecision: true, "
                f"transitions: [{{when: loop_back, goto: l{i}}}], next: r{i}}}\n"
                f"  l{i}: {{{work('y')}, next: s{i + 1}}}\n  r{i}: {{{work('y')}, next: s{i + 1}}}\n"
            ),
            config=DECIDE,
        ),
    ),
    "gates of many places": (
        150,
        states(
            lambda i: (
                f"  s{i}: {{{work('y')}, writesDecision: true, params: {{decision_uri: 's3://b/{i // 2}'}}, "
                f"transitions: [{{when: loop_back, goto: r{i}}}], next: r{i}}}\n"
                f"  r{i}: {{params: {{decision_uri: 's3://b/{i}'}}, "
                f"transitions: [{{when: loop_back, goto: z}}], next: s{i + 1}}}\n"
            )
        ),
    ),
    "exits to one state": (
        500,
        states(
            lambda i: (
                f"  s{i}: {{{work('y')}, transitions: [{{when: loop_back, goto: z}}], next: s{i + 1}}}\n"
            ),
            config=DECIDE,
        ),
    ),
    "needs that are not met": (
        200,
        states(
            lambda i: (
                f"  s{i}: {{{work('y')}, needs: [l{max(i - 1, 0)}], "
                f"transitions: [{{when: loop_back, goto: l{i}}}], next: s{i + 1}}}\n"
                f"  l{i}: {{{work('y')}, next: s{i + 1}}}\n"
            ),
            config=DECIDE,
        ),
    ),
    "values that are not there yet": (
        300,
        states(lambda i: f"  s{i}: {{{work(loop(f's{i + 1}'))}, next: s{i + 1}, loop: {{max: 2}}}}\n"),
    ),
    "one output of many states": (
        300,
        states(lambda i: f"  s{i}: {{{work('y')}, next: s{i + 1}, outputs: [{{uri: s3://bucket/k}}]}}\n"),
    ),
    "one output of many branches": (
        200,
        states(
            lambda i: (
                f"  s{i}: {{{work('y')}, transitions: [{{when: loop_back, goto: o{i}}}], next: s{i + 1}}}\n"
                f"  o{i}: {{{work('y')}, next: z, outputs: [{{uri: s3://bucket/k, schema: a{i}}}], "
                f"inputs: [{{uri: s3://bucket/k}}]}}\n"
            ),
            config=DECIDE,
        ),
    ),
    "members with one output": (
        400,
        lambda n: (
            f"states:\n  g: {{next: z, parallel: [{', '.join(f's{i}' for i in range(n))}]}}\n{END}"
            + "".join(f"  s{i}: {{{work('y')}, outputs: [{{uri: s3://bucket/k}}]}}\n" for i in range(n))
        ),
    ),
    "sequences in sequences": (500, nested(lambda n: "")),
    "names of inner states": (
        300,
        nested(lambda n: "".join(f"  t{i}: {{{work('y')}, next: g{n}}}\n" for i in range(n))),
    ),
    "loops in loops": (
        300,
        nested(
            lambda n: "",
            ", loop: {max: 999999999999999, until: promote_checkpoint}, transitions: [{goto: z}]",
        ),
    ),
    "groups in a ring": (
        800,
        lambda n: "states:\n" + "".join(f"  s{i}: {{sequence: [s{(i + 1) % n}]}}\n" for i in range(n)),
    ),
    "config in circles": (
        500,
        lambda n: (
            "states:\n  a: {terminal: true}\nconfig:\n"
            + "".join(f"  k{i}: '{{{{config.k0}}}}{{{{config.k{i + 1}}}}}'\n" for i in range(n))
        ),
    ),
    "a profile of many states": (
        200,
        lambda n: (
            "config: {k: a}\nresources:\n  q:\n    kubernetes:\n      pod_config:\n"
            + "".join(f"        a{i}: '{{{{config.k}}}}'\n" for i in range(n))
            + "states:\n"
            + "".join(f"  s{i}: {{{work('y')}, resources: q}}\n" for i in range(n))
        ),
    ),
    "suppressions": (
        800,
        lambda n: (
            "states:\n"
            + END
            + "".join(f"x-a{i}: 1 # npac: ignore[NPA101,NPA{i % 999:03}]\n" for i in range(n))
        ),
    ),
    "suppressions in one line": (
        800,
        lambda n: (
            f"states:\n{END}x-a: 1 {'# npac: ignore[NPA101] ' * n}\n"
            f"x-b: |\n  {'# npac: ignore[NPA101] ' * n}\n"
        ),
    ),
    "codes of one suppression": (
        3000,
        lambda n: f"states:\n{END}bad: 1 # npac: ignore[NPA101,{','.join(['NPA102'] * n)}]\n",
    ),
    "secrets": (
        300,
        lambda n: "states:\n" + END + "x-a:\n" + "".join(f"- AKIA{i:016}\n" for i in range(n)),
    ),
    "beginnings of secrets": (
        3000,
        lambda n: (
            f"states:\n{END}x-a: '{'-eyJ' * n}{'-----BEGIN PRIVATE KEY-----!' * (n // 8)}@{'a.' * n}'\n"
        ),
    ),
    "findings in one line": (
        400,
        lambda n: (
            "states: {z: {terminal: true}, " + "".join(f"s{i}: {{foo世: 1}}, " for i in range(n)) + "}\n"
        ),
    ),
}


def _seconds(spec: str, head: str) -> float:
    gc.collect()
    begin = time.process_time()
    found = checked(spec, head=head)
    render("text", found.findings, hidden=found.hidden)
    return time.process_time() - begin


@pytest.mark.parametrize("name", SHAPES)
def test_four_times_the_text_takes_about_four_times_as_long(name: str) -> None:
    size, shape = SHAPES[name]
    head = RUNTIME if name.startswith("gates") else HEAD
    small, large = shape(size), shape(4 * size)
    _seconds(small, head)
    ratios: list[float] = []
    while len(ratios) < _TRIES:
        before = min(_seconds(small, head) for _ in range(2))
        ratios.append(_seconds(large, head) / max(before, 0.002))
        if ratios[-1] < _MOST:
            return
    pytest.fail(
        f"{name}: four times the text took {', '.join(f'{ratio:.1f}' for ratio in ratios)} times as long"
    )


# What must not fill the memory: little text that stands for much.
BOMBS: dict[str, tuple[str, str]] = {
    "aliases of a long text": (
        "alias-expansion",
        f"states:\n{END}x-a: &x '{'y' * 100_000}'\nx-b: [{'*x, ' * 5_000}z]\n",
    ),
    "run ids that multiply": (
        "value-too-long",
        f"config:\n  k0: '{'{{run.id}}' * 10}'\n"
        + "".join(f"  k{i}: '{f'{{{{config.k{i - 1}}}}}' * 10}'\n" for i in range(1, 30))
        + f"states:\n{END}",
    ),
    "one long text in many keys": (
        "program-too-large",
        f"config:\n  k: {'x' * 200_000}\n"
        + "".join(f"  k{i}: '{{{{config.k}}}}{i}'\n" for i in range(2_000))
        + f"states:\n{END}",
    ),
    "a profile for every state": (
        "program-too-large",
        "config: {k: a}\nresources:\n  q:\n    kubernetes:\n      pod_config:\n"
        + "".join(f"        a{i}: '{{{{config.k}}}}'\n" for i in range(2_000))
        + "states:\n"
        + "".join(f"  s{i}: {{{work('y')}, resources: q, params: {{k: '{i}'}}}}\n" for i in range(2_000)),
    ),
    "paths of nested config": (
        "no-terminal",
        "states:\n  a: {run: {argv: [x]}}\nconfig: "
        + "".join(f"{{{'a' * 900}{i}: " for i in range(90))
        + "{"
        + ", ".join(f"k{i}: 1" for i in range(5_000))
        + "}" * 91
        + "\n",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_little_text_that_stands_for_much_is_refused_in_time(name: str) -> None:
    import tracemalloc

    code, spec = BOMBS[name]
    tracemalloc.start()
    try:
        found: Checked = checked(spec)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert code in {item.code.name for item in found.findings}
    assert peak < 200 << 20


def test_more_findings_of_a_kind_than_anyone_reads_are_counted() -> None:
    found = checked("states:\n" + "- 1\n" * (MAX_ALIKE + 500)).findings
    same = [item for item in found if item.code.name == "wrong-type"]
    assert len(same) == MAX_ALIKE + 1
    assert [item.message for item in same if "more of this kind" in item.message] == [
        "500 more of this kind begin here, which are not listed"
    ]
