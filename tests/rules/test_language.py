"""Each rejecting sentence of the language, with the smallest spec that it is about.

A case is a spec's body and the codes of all its findings (without ``NPA``).
"""

from __future__ import annotations

import pytest

from npac.diagnostics.diagnostic import Severity
from tests.rules.specs import END, HEAD, RUNTIME, WORK, checked, codes

A = "states:\n  a: {run: {argv: [x]}, next: z}\n" + END


def _state(text: str) -> str:
    """Give a spec whose state ``a`` has ``text`` beside a command, and leads to the end."""
    return f"states:\n  a: {{run: {{argv: [x]}}, {text}, next: z}}\n" + END


SHAPE = {
    "a key twice in one mapping": ("config: {a: 1, a: 2}\n" + WORK, "003"),
    "a state's key twice": (
        "states:\n  a:\n    run: {argv: [x]}\n    terminal: true\n    terminal: true\n",
        "003",
    ),
    "a name twice in list-form states": (
        "states:\n  - &s {name: a, run: {argv: [x]}, terminal: true}\n  - *s\n",
        "108",
    ),
    "names that YAML 1.1 retypes are names, and noted": (
        "states:\n  on: {run: {argv: [x]}, next: no}\n  no: {next: 010}\n  010: {terminal: true}\n",
        "011",
    ),
    "an unknown top-level key": ("stats: {}\n" + WORK, "101"),
    "an x- key at the top, in config, params and a state": (
        "x-a: 1\nconfig: {x-b: 2, c: {x-d: 3}}\nstates:\n  a: {x-e: 4, run: {argv: [x], x-f: 5}, params: {x-g: [6]}, terminal: true}\n",
        "",
    ),
    "states that are empty": ("states: {}\n", "109"),
    "a list of states, one without a name": ("states:\n  - {run: {argv: [x]}, terminal: true}\n", "103"),
    "both spellings of a key": ("states:\n  a: {tool_ref: x, toolRef: y, terminal: true}\n", "107 801"),
    "both spellings, the new one first": (
        "states:\n  a: {toolRef: y, tool_ref: x, terminal: true}\n",
        "107 801",
    ),
    "the old spelling alone": (_state("multi_node_mode: sharded"), "106"),
    "an unknown kind": (_state("outputs: [{uri: 's3://bkt/{{run.id}}/o.j', kind: dir}]"), "104"),
    "an unknown multiNodeMode": (_state("multiNodeMode: full"), "104"),
    "a name that could leave its folder": (WORK.replace("  a:", "  a/../b:"), "105"),
    "a profile's name": ("resources: {'..': {}}\n" + WORK, "105"),
    "a name of 97 letters": (WORK.replace("  a:", f"  {'a' * 97}:"), "105"),
    "a name of 96 letters": (WORK.replace("  a:", f"  {'a' * 96}:"), ""),
    "terminal in quotes": ("states:\n  a: {run: {argv: [x]}, terminal: 'true'}\n", "102"),
    "needs as text": (_state("needs: ab"), "102"),
    "argv as text": (A.replace("[x]", "echo hello"), "102"),
    "a list in argv": (A.replace("[x]", "[x, [y]]"), "102"),
    "nothing in argv": (A.replace("[x]", "[x, null]"), "102"),
    "inputs as a mapping": (_state("inputs: {uri: s3://bkt/x}"), "102"),
    "inputs as texts": (_state("inputs: ['s3://bkt/x']"), "102"),
    "a description that is a list": (_state("description: [a]"), "102"),
    "params that are no mapping": (_state("params: [a]"), "102"),
    "a param that is a list": (_state("params: {a: [1]}"), "102"),
    "a secret with its value": (_state("secrets: {HF_TOKEN: abc}"), "102 602"),
    "a secret that is no variable": (_state("secrets: [HF-TOKEN]"), "105"),
    "config that is a list": ("config: [a]\n" + WORK, "102"),
    "a trigger that is text": (_state("trigger: s3://bkt/x"), "102"),
    "a trigger without uri": (_state("trigger: {pollSeconds: 3}"), "103"),
    "a trigger's numbers": (
        _state("trigger: {uri: 's3://bkt/x', pollSeconds: 0, minObjects: 0, maxPolls: -1}"),
        "111",
    ),
    "an empty next is none": ("states:\n  a: {run: {argv: [x]}, next: '', terminal: true}\n", ""),
    "a loop without max": (_state("loop: {until: promote_checkpoint}"), "103 405"),
}

TOKENS = {
    "tokens in names": (
        "config: {n: b}\nstates:\n  a: {run: {argv: [x]}, needs: ['{{config.n}}'], next: '{{config.n}}'}\n"
        + END,
        "110",
    ),
    "a token in a schema and a kind": (
        "config: {n: b}\n"
        + _state("outputs: [{uri: 's3://bkt/{{run.id}}/o.j', schema: '{{config.n}}', kind: '{{config.n}}'}]"),
        "110",
    ),
    "braces in descriptions and labels are text": (
        "x-note: '{{config.no}}'\n" + _state("description: '{{config.no}} {{cofig.no}}'"),
        "",
    ),
    "a flat key goes before a nested one": (
        "config: {a.b: flat, a: {b: 1, c: 2}}\n" + A.replace("[x]", "['{{config.a.b}}', '{{config.a.c}}']"),
        "",
    ),
    "a list as text": ("config: {l: [1]}\n" + A.replace("[x]", "['{{config.l}}']"), "206"),
    "null as text": ("config: {l: }\n" + A.replace("[x]", "['{{config.l}}']"), "206"),
    "run.id is reserved": ("run: {id: x}\n" + WORK, "213"),
    "a token in run": ("run: {a: '{{run.id}}'}\n" + WORK, "222"),
    "a list in run": ("run: {a: [1]}\n" + WORK, "102"),
    "an output that is not there": (
        "states:\n  a: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/o.j'}], next: b}\n"
        "  b: {run: {argv: ['{{state.a.output_1}}', '{{state.a.output_2}}']}, terminal: true}\n",
        "208",
    ),
    "no output named": (
        "states:\n  a: {run: {argv: [x]}, next: b}\n  b: {run: {argv: ['{{state.a}}']}, terminal: true}\n",
        "208",
    ),
    "a group's output": (
        "states:\n  g: {sequence: [a], outputs: [{uri: 's3://bkt/{{run.id}}/g.j'}], next: b}\n"
        "  a: {run: {argv: [x]}}\n  b: {run: {argv: ['{{state.g.uri}}']}, terminal: true}\n",
        "",
    ),
    "a sibling's output, as an input": (
        "states:\n  p: {parallel: [a, b], next: z}\n"
        "  a: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/o.j'}]}\n"
        "  b: {run: {argv: [x]}, inputs: [{uri: '{{state.a.uri}}'}]}\n" + END,
        "212",
    ),
    "a sibling's output, through params": (
        "states:\n  p: {parallel: [a, b], next: z}\n"
        "  a: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/o.j'}]}\n"
        "  b: {run: {argv: ['{{config.k}}']}, params: {k: '{{state.a.uri}}'}}\n" + END,
        "212",
    ),
    "a state of the body that runs later": (
        "states:\n  s: {sequence: [a, b], loop: {max: 2}, terminal: true}\n"
        "  a: {run: {argv: ['{{state.b.uri}}']}}\n"
        "  b: {run: {argv: [x]}, outputs: [{uri: 's3://bkt/{{run.id}}/{{loop.s}}.j'}]}\n",
        "209",
    ),
    "a loop's number after the loop": (
        "states:\n  a: {run: {argv: ['{{loop.a}}']}, loop: {max: 2}, next: b}\n"
        "  b: {run: {argv: ['{{loop.a}}']}, terminal: true}\n",
        "",
    ),
    "a cycle of three": (
        "config: {a: '{{config.b}}', b: '{{config.c}}', c: '{{config.a}}'}\n"
        + A.replace("[x]", "['{{config.a}}']"),
        "207",
    ),
    "a chain against the order": (
        "config: {a: '{{config.b}}', b: '{{config.c}}', c: '{{config.d}}', d: '{{config.e}}', e: x}\n"
        + A.replace("[x]", "['{{config.a}}']"),
        "",
    ),
    "params see the base config only": (
        "config: {m: 1}\n"
        + _state("params: {m: 2, n: '{{config.p}}', p: 3}").replace("[x]", "['{{config.n}}']"),
        "204",
    ),
    "a param may be new": (_state("params: {only: 1}").replace("[x]", "['{{config.only}}']"), ""),
    "if and loop.max see the base config": (
        "config: {n: 2, f: false}\nstates:\n  a: {run: {argv: [x]}, params: {n: abc, f: true}, loop: {max: config.n}, "
        "transitions: [{if: config.f, goto: y}], next: z}\n  y: {next: z}\n" + END,
        "224",
    ),
    "a switch that is neither on nor off": ("config: {source_overlay: perhaps}\n" + WORK, "216"),
    "a switch that depends on the run": ("config: {source_overlay: '{{run.id}}'}\n" + WORK, "216"),
    "switches by every word": ("config: {source_overlay: 'ON', require_baked_npa: '0'}\n" + WORK, ""),
    "a list where npac reads text": ("config: {prefix: [a]}\n" + WORK, "102"),
    "a decision that previews cannot assume": ("config: {plan_assume_decision: maybe}\n" + WORK, "320"),
    "a number with leading zeros and underscores": (
        "config: {a: 010_0, b: 0x_, c: 1_000}\n"
        + A.replace("[x]", "['{{config.a}}{{config.b}}{{config.c}}']"),
        "011",
    ),
    "a number of 5,000 digits": (
        f"config: {{a: 1_{'0' * 5000}}}\n" + A.replace("[x]", "['{{config.a}}']"),
        "",
    ),
}

CONTROL = {
    "shell and argv": ("states:\n  a: {run: {shell: x, argv: [x]}, terminal: true}\n", "303"),
    "run and toolRef": (
        "states:\n  a: {run: {shell: x}, toolRef: workbench.token_factory.generate, terminal: true}\n",
        "303",
    ),
    "an empty run": ("states:\n  a: {run: {}, terminal: true}\n", "304"),
    "an empty shell text": ("states:\n  a: {run: {shell: ' '}, terminal: true}\n", "304"),
    "a state with nothing": ("states:\n  a: {next: b}\n  b: {}\n" + END, "304"),
    "a state with an empty next only": (
        "states:\n  a: {run: {argv: [x]}, next: b}\n  b: {next: }\n" + END,
        "304",
    ),
    "a state with empty transitions only": ("states:\n  a: {transitions: []}\n" + END, "304"),
    "a sequence with a member's keys": (
        "states:\n  a: {sequence: [m], inputs: [], params: {}, resources: x, secrets: [A], writesDecision: true, parallelCount: 1, next: z}\n"
        "  m: {run: {argv: [x]}}\n" + END,
        "305",
    ),
    "a terminal parallel group": (
        "states:\n  a: {run: {argv: [x]}, next: p}\n  p: {parallel: [m, n], terminal: true}\n"
        "  m: {run: {argv: [x]}}\n  n: {run: {argv: [x]}}\n",
        "305",
    ),
    "a router with outputs": ("states:\n  a: {next: z, outputs: []}\n" + END, "305"),
    "initial names a member": (
        "initial: m\nstates:\n  s: {sequence: [m], next: z}\n  m: {run: {argv: [x]}}\n" + END,
        "302",
    ),
    "goto names a member": (
        "config: {k: true}\nstates:\n  a: {transitions: [{if: config.k, goto: m}], next: s}\n"
        "  s: {sequence: [m], next: z}\n  m: {run: {argv: [x]}}\n" + END,
        "302",
    ),
    "a state in two groups": (
        "states:\n  a: {sequence: [m], next: b}\n  b: {sequence: [m], next: z}\n  m: {run: {argv: [x]}}\n"
        + END,
        "307",
    ),
    "a chain that leads back into itself": (
        "states:\n  a: {sequence: [b], next: z}\n  b: {sequence: [c]}\n  c: {sequence: [a]}\n" + END,
        "308",
    ),
    "terminal with transitions": (
        "states:\n  a: {run: {argv: [x]}, terminal: true, transitions: [{goto: z}]}\n" + END,
        "311",
    ),
    "a loop without a body": ("states:\n  a: {loop: {max: 2}, next: z}\n" + END, "305"),
    "a bound from a list": ("config: {n: [1]}\n" + _state("loop: {max: config.n}"), "206"),
    "a bound from the run": ("config: {n: '{{run.id}}'}\n" + _state("loop: {max: config.n}"), "219"),
    "a bound in quotes": (_state("loop: {max: '3'}"), ""),
    "a bound with a point": (_state("loop: {max: 2.5}"), "111"),
    "a bound of 20 digits": (_state("loop: {max: 99999999999999999999}"), "111"),
    "a member twice in a parallel group": (
        "states:\n  p: {parallel: [m, m], next: z}\n  m: {run: {argv: [x]}}\n" + END,
        "307",
    ),
    "a concurrency of 65": (
        "config: {n: 65}\nstates:\n  p: {parallel: [m, n], maxConcurrency: '{{config.n}}', next: z}\n"
        "  m: {run: {argv: [x]}}\n  n: {run: {argv: [x]}}\n" + END,
        "111",
    ),
    "a self-loop of next": ("states:\n  a: {run: {argv: [x]}, next: a}\n" + END, "323"),
    "a circle that nothing reaches": (
        "states:\n  a: {run: {argv: [x]}, terminal: true}\n  b: {next: c}\n  c: {next: b}\n",
        "323",
    ),
    "needs on itself": (_state("needs: [a]"), "327"),
    "needs between members": (
        "states:\n  p: {parallel: [m, n], next: z}\n  m: {run: {argv: [x]}, needs: [n]}\n  n: {run: {argv: [x]}}\n"
        + END,
        "328",
    ),
    "a branch that config switches off": (
        "config: {k: false}\nstates:\n  a: {transitions: [{if: config.k, goto: b}], next: z}\n"
        "  b: {run: {argv: [x]}, next: z}\n" + END,
        "",
    ),
    "a next that names nothing says no more than that": (
        "states:\n  a: {run: {argv: [x]}, next: zz}\n" + END,
        "301",
    ),
}

MEMBERS = {
    "next": ("run: {argv: [x]}, next: z", "317"),
    "transitions": ("run: {argv: [x]}, transitions: [{goto: z}]", "317"),
    "loop": ("run: {argv: [x]}, loop: {max: 2}", "317"),
    "terminal": ("run: {argv: [x]}, terminal: true", "317"),
    "group": ("sequence: [o]", "317"),
    "nothing": ("", "304"),
    "leaf": ("run: {argv: [x]}", ""),
}

CONDITIONS = {
    "false": "", "null": "", "0": "", "''": "", "true": "", "1": "", "x": "", "FALSE": "",
    "'false'": "322", "'no'": "322", "'0'": "322", "no": "011 322", "off": "011 322",
}  # fmt: skip

IFS = {
    "config.k": "", "'{{config.k}}'": "", "'{{ config.k }}'": "", "config.kk": "204", "k": "321",
    "config.k == 1": "321", "not config.k": "321", "true": "321", "''": "321", "run.id": "321",
    "'{{config.k | sh}}'": "321", "[config.k]": "102",
}  # fmt: skip


@pytest.mark.parametrize(
    "case", [*SHAPE.values(), *TOKENS.values(), *CONTROL.values()], ids=[*SHAPE, *TOKENS, *CONTROL]
)
def test_a_sentence_of_the_language_holds(case: tuple[str, str]) -> None:
    body, wanted = case
    assert codes(body) == wanted


@pytest.mark.parametrize("member", MEMBERS)
def test_members_of_a_parallel_group_are_plain_leaves(member: str) -> None:
    keys, wanted = MEMBERS[member]
    body = f"states:\n  p: {{parallel: [m, n], next: z}}\n  m: {{{keys}}}\n  n: {{run: {{argv: [x]}}}}\n"
    body += "  o: {run: {argv: [x]}}\n" if "[o]" in keys else ""
    assert codes(body + END) == wanted


@pytest.mark.parametrize("value", CONDITIONS)
def test_what_counts_as_false_and_what_only_looks_so(value: str) -> None:
    body = f"config: {{k: {value}}}\nstates:\n  a: {{transitions: [{{if: config.k, goto: b}}], next: z}}\n"
    assert codes(body + "  b: {next: z}\n" + END) == CONDITIONS[value]


@pytest.mark.parametrize("text", IFS)
def test_an_if_is_exactly_one_config_key(text: str) -> None:
    body = f"config: {{k: true}}\nstates:\n  a: {{transitions: [{{if: {text}, goto: z}}], next: z}}\n" + END
    assert codes(body) == IFS[text]


@pytest.mark.parametrize(("goto", "wanted"), [("s", ""), ("m", ""), ("d", ""), ("z", ""), ("q", "312")])
@pytest.mark.parametrize("head", [HEAD, RUNTIME], ids=["plain", "runtime"])
def test_a_goto_in_a_loops_body_means_go_on_or_leave(head: str, goto: str, wanted: str) -> None:
    body = f"""\
states:
  s: {{sequence: [m, d], loop: {{max: 2, until: promote_checkpoint}}, next: z}}
  m: {{run: {{argv: [x]}}}}
  d:
    run: {{argv: [x]}}
    writesDecision: true
    outputs: [{{uri: "s3://bkt/{{{{run.id}}}}/{{{{loop.s}}}}/d.json", schema: decision}}]
    transitions: [{{when: promote_checkpoint, goto: z}}, {{when: loop_back, goto: {goto}}}]
  z: {{next: q}}
  q: {{terminal: true}}
"""
    result = checked(body, head=head)
    found = [item for item in result.findings if item.code.id != "NPA405"]
    assert [item.code.id[3:] for item in found] == wanted.split()
    assert all((item.severity is Severity.ERROR) == (head is RUNTIME) for item in found)


def test_a_deep_chain_of_states_needs_no_host_stack() -> None:
    count = 20_000
    lines = [f"  s{n}: {{next: s{n + 1}}}" for n in range(count)]
    assert codes("states:\n" + "\n".join(lines) + f"\n  s{count}: {{terminal: true}}\n") == ""


def test_a_deep_nest_of_groups_needs_no_host_stack() -> None:
    count = 20_000
    lines = [f"  g{n}: {{sequence: [g{n + 1}]}}" for n in range(count)]
    body = "states:\n  top: {sequence: [g0], terminal: true}\n" + "\n".join(lines)
    assert codes(f"{body}\n  g{count}: {{run: {{argv: [x]}}}}\n") == ""
