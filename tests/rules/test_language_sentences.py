"""Each sentence of the language that rejects something or warns of it, with one small spec that breaks it.

A case breaks one sentence once, and is found once: the code, the very characters that are marked, and
what to do.  The first column names the paragraph of the language, of the program or of the runtime
that the sentence stands in.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from npac.diagnostics.codes import CODES
from npac.diagnostics.diagnostic import Severity
from tests.rules.specs import END, HEAD, RUNTIME, WORK, checked

SHA = "a" * 40
IMAGE = "docker.io/example/x@sha256:" + "a" * 64
OUT = "s3://bkt/{{run.id}}"


class Case(NamedTuple):
    """A spec that breaks one sentence, and its one finding."""

    rule: str
    sentence: str
    body: str
    code: str
    at: str
    help: str
    severity: str = ""
    head: str = HEAD
    until: str = "check"


def _on(keys: str, more: str = "") -> str:
    """Give a spec whose state ``a`` works, has ``keys`` too, and leads to the end."""
    return f"{more}states:\n  a: {{run: {{argv: [x]}}, {keys}, next: z}}\n{END}"


def _shell(text: str, more: str = "") -> str:
    """Give a spec whose one state runs a shell text."""
    return f"{more}states:\n  a: {{run: {{shell: {text}}}, terminal: true}}\n"


def _pair(first: str, second: str, group: str = "") -> str:
    """Give a spec with a parallel group of two members."""
    return f"states:\n  p: {{parallel: [m, n], {group}next: z}}\n  m: {{{first}}}\n  n: {{{second}}}\n{END}"


def _profile(text: str, keys: str = "") -> str:
    """Give a spec with a default profile that its one state runs on."""
    return f"resources: {{default: {{{text}}}}}\nstates:\n  a: {{run: {{argv: [x]}}, {keys}terminal: true}}\n"


def _baked(config: str) -> str:
    """Give a spec that demands baked images, and has one."""
    return f"config: {{require_baked_npa: true, {config}}}\n" + _profile(f"image: '{IMAGE}'")


def _looped(body: str, keys: str, after: str = "next: z") -> str:
    """Give a loop of a child that decides, with ``keys`` on that child and ``body`` on the loop."""
    return f"states:\n  s: {{sequence: [m], loop: {{{body}}}, {after}}}\n  m: {{run: {{argv: [x]}}, {keys}}}\n{END}"


LOADED = f"outputs: [{{uri: '{OUT}/{{{{loop.s}}}}.j', schema: decision}}]"
WRITES = f"writesDecision: true, {LOADED}"
W = "run: {argv: [x]}"

CASES = (
    # 1. Document
    Case("L1", "one document", WORK + "---\na: 1\n", "004", "---", "a file of its own"),
    Case("L1", "a mapping at the top", "", "008", "[a]", "apiVersion", head="[a]\n"),
    Case("L1", "safe YAML only", "config: {k: !!python/name:os.x a}\n" + WORK, "005", "!!python/name:os.x", ""),
    Case("L1", "nesting is bounded", f"x-a: {'[' * 200}{']' * 200}\n" + WORK, "007", "[", ""),
    Case("L2", "a key twice", "x-a: 1\nx-a: 2\n" + WORK, "003", "x-a", ""),
    Case(
        "L2",
        "a name twice in list-form states",
        "states:\n  - {name: a, run: {argv: [x]}, terminal: true}\n  - {name: a, run: {argv: [y]}, terminal: true}\n",
        "108",
        "a",
        "rename",
    ),
    *(
        Case("L3", f"{text} is retyped elsewhere", f"config: {{k: {text}}}\n" + _shell("'{{config.k | sh}}'"), "011", text, "quote it")
        for text in ("1.10", "010", "1e3", "2026-08-22", "yes")
    ),
    Case("L3", "a param is retyped elsewhere", _on("params: {k: 010}").replace("[x]", "['{{config.k}}']"), "011", "010", "quote it"),
    Case("L3", "a word of argv is retyped elsewhere", WORK.replace("[x]", "[x, 010]"), "011", "010", "quote it"),
    Case("L4", "apiVersion", WORK, "104", "npa.workflow/v9", "npa.workflow/v0.0.1", head=HEAD.replace("v0.0.1", "v9")),
    Case("L4", "kind", WORK, "104", "Flow", "write Workflow", head=HEAD.replace("kind: Workflow", "kind: Flow")),
    Case("L4", "a name is required", WORK, "103", "metadata", "add name", head=HEAD.replace("{name: example}", "{namespace: x}")),
    Case("L4", "executionMode", WORK, "104", "fast", "write runtime", head=RUNTIME.replace("executionMode: runtime", "executionMode: fast")),
    Case("L4", "an unknown key, top", "resource: {}\n" + WORK, "101", "resource", "'resources'"),
    Case("L4", "an unknown key, state", _on("retries: 3"), "101", "retries", "npac run --retries N"),
    Case("L4", "an unknown key, run", WORK.replace("argv: [x]", "argv: [x], cwd: /"), "101", "cwd", "argv"),
    Case("L4", "an unknown key, trigger", _on("trigger: {uri: 's3://bkt/x/', every: 3}"), "101", "every", "pollSeconds"),
    Case("L4", "an unknown key, loop", _on("loop: {max: 2, times: 3}"), "101", "times", "max"),
    Case("L4", "an unknown key, transition", _on("transitions: [{goto: z, unless: x}]").replace(", next: z", ""), "101", "unless", "goto"),
    Case("L4", "an unknown key, artifact", _on(f"outputs: [{{uri: '{OUT}/o.j', label: x}}]"), "101", "label", "schema"),
    Case("L4", "an unknown key, profile", _profile("gpu: H100"), "101", "gpu", "accelerators"),
    Case("L4", "an unknown key, kubernetes", _profile("kubernetes: {pod: {}}"), "101", "pod", "pod_config"),
    Case("L4", "an unknown key, metadata", WORK, "101", "nmae2", "", head=HEAD.replace("name: example", "name: example, nmae2: x")),
    Case("L5", "states are not empty", "states: {}\n", "109", "states", "at least one"),
    Case("L6", "an old spelling", _on("multi_node_mode: sharded"), "106", "multi_node_mode", "multiNodeMode"),
    Case("L6", "both spellings", _on("multi_node_mode: sharded, multiNodeMode: sharded"), "107", "multiNodeMode", "keep"),
    Case("L6", "kind: file or directory", _on(f"outputs: [{{uri: '{OUT}/o.j', kind: dir}}]"), "104", "dir", "directory"),
    Case("L6", "multiNodeMode: sharded", _on("multiNodeMode: full"), "104", "full", "sharded"),
    Case("L7", "a state's name", WORK.replace("  a:", "  'a/b':"), "105", "'a/b'", "letters"),
    Case("L7", "a workflow's name", WORK, "105", "'..'", "letters", head=HEAD.replace("example", "'..'")),
    Case("L7", "a profile's name", "resources: {'a b': {}}\n" + WORK, "105", "'a b'", "letters"),
    Case("L7", "invisible characters", "x-a: 'a\u200bb'\n" + WORK, "010", "\u200b", "remove"),
    Case("L8", "terminal", WORK.replace("terminal: true", "terminal: 'false'"), "102", "'false'", "without quotes"),
    Case("L8", "needs", _on("needs: ab"), "102", "ab", "list"),
    Case("L8", "argv", _on("x-a: 1").replace("[x]", "echo hello"), "102", "echo hello", "one list entry a word"),
    Case("L8", "inputs", _on("inputs: {uri: s3://bkt/x}"), "102", "{uri: s3://bkt/x}", "list"),
    Case("L8", "next", WORK.replace("terminal: true", "next: [a]"), "102", "[a]", "name"),
    Case("L8", "sequence", "states:\n  a: {sequence: m, next: z}\n  m: {run: {argv: [x]}}\n" + END, "102", "m", "list"),
    Case("L8", "a state", "states:\n  a: {next: b}\n  b: \n" + END, "102", "", "run"),
    # 2. Tokens
    Case("L10", "a token in next", "config: {n: z}\nstates:\n  a: {run: {argv: [x]}, next: '{{config.n}}'}\n" + END, "110", "'{{config.n}}'", "write the name out"),
    Case("L10", "a token in needs", _on("needs: ['{{config.n}}']", "config: {n: z}\n"), "110", "'{{config.n}}'", ""),
    Case("L10", "a token in a member", "config: {n: m}\nstates:\n  a: {sequence: ['{{config.n}}'], next: z}\n  m: {run: {argv: [x]}}\n" + END, "110", "'{{config.n}}'", ""),
    Case("L10", "a token in initial", "config: {n: a}\ninitial: '{{config.n}}'\n" + WORK, "110", "'{{config.n}}'", ""),
    Case("L10", "a token in resources", _on("resources: '{{config.n}}'", "config: {n: a}\n"), "110", "'{{config.n}}'", ""),
    Case("L10", "a token in toolRef", "config: {n: a}\nstates:\n  a: {toolRef: '{{config.n}}', next: z}\n" + END, "110", "'{{config.n}}'", ""),
    Case("L10", "a token in schema", _on(f"outputs: [{{uri: '{OUT}/o.j', schema: '{{{{config.n}}}}'}}]", "config: {n: a}\n"), "110", "'{{config.n}}'", ""),
    Case("L10", "a token in metadata.name", "config: {n: a}\n" + WORK, "110", "'{{config.n}}'", "", head=HEAD.replace("example", "'{{config.n}}'")),
    Case("L10", "a count is digits", _on("loop: {max: two}"), "111", "two", ""),
    Case("L10", "a count from config is digits", _on("loop: {max: config.n}", "config: {n: two}\n"), "111", "config.n", "decimal digits"),
    Case("L11", "a token of null", "config: {k: }\n" + WORK.replace("[x]", "['{{config.k}}']"), "206", "{{config.k}}", "text"),
    Case("L11", "a token of a list", "config: {k: [a]}\n" + WORK.replace("[x]", "['{{config.k}}']"), "206", "{{config.k}}", "text"),
    Case("L11", "an unknown config key", "config: {key: a}\n" + WORK.replace("[x]", "['{{config.kye}}', '{{config.key}}']"), "204", "{{config.kye}}", "'key'"),
    Case("L11", "an unknown run key", WORK.replace("[x]", "['{{run.idd}}']"), "205", "{{run.idd}}", "run.id"),
    Case("L11", "run.id is reserved", "run: {id: a}\n" + WORK, "213", "id", "when the run is started"),
    Case("L11", "run holds literal scalars", "run: {k: '{{run.id}}'}\n" + WORK, "222", "'{{run.id}}'", "config"),
    Case("L11", "an unknown state value", WORK.replace("[x]", "['{{state.b.uri}}']"), "208", "{{state.b.uri}}", ""),
    Case("L11", "an unknown loop", WORK.replace("[x]", "['{{loop.b}}']"), "210", "{{loop.b}}", "no loops"),
    Case("L11", "a state that has not run", f"states:\n  a: {{run: {{argv: ['{{{{state.b.uri}}}}']}}, next: b}}\n  b: {{{W}, outputs: [{{uri: '{OUT}/o.j'}}], terminal: true}}\n", "209", "{{state.b.uri}}", "a"),
    Case("L11", "a loop that has not begun", f"states:\n  a: {{run: {{argv: ['{{{{loop.b}}}}']}}, next: b}}\n  b: {{{W}, loop: {{max: 2}}, next: z}}\n" + END, "211", "{{loop.b}}", "a"),
    Case("L11", "a sibling", _pair(f"{W}, outputs: [{{uri: '{OUT}/o.j'}}]", "run: {argv: ['{{state.m.uri}}']}"), "212", "{{state.m.uri}}", "after the group"),
    Case("L12", "a near scope", "config: {k: a}\n" + WORK.replace("[x]", "['{{confg.k}}']"), "201", "confg", "{{config.k}}"),
    Case("L12", "brackets", "config: {k: a}\n" + WORK.replace("[x]", "[\"{{config['k']}}\"]"), "202", "['k']", "{{config.k}}"),
    Case("L12", "a default", "config: {k: a}\n" + WORK.replace("[x]", "[\"{{config.k or 'y'}}\"]"), "202", "or 'y'", "{{config.k}}"),
    Case("L12", "never closed", "config: {k: a}\n" + WORK.replace("[x]", "['{{config.k']"), "202", "{{config.k", "{{config.k}}"),
    Case("L12", "an unknown transform", "config: {k: a}\n" + WORK.replace("[x]", "['{{config.k | b64}}']"), "203", "b64", "base64"),
    Case("L13", "a cycle", "config: {a: '{{config.b}}', b: '{{config.a}}'}\n" + WORK.replace("[x]", "['{{config.a}}']"), "207", "'{{config.b}}'", "value of its own"),
    Case("L13", "config sees config and run only", "config: {a: '{{loop.a}}'}\n" + WORK.replace("[x]", "['{{config.a}}']"), "222", "{{loop.a}}", "state"),
    Case("L13", "an argument is bounded", f"config: {{a: {'x' * 70_000}}}\n" + WORK.replace("[x]", "['{{config.a}}{{config.a}}']"), "214", "'{{config.a}}{{config.a}}'", "config.a"),
    Case("L15", "params see the base config", _on("params: {a: '{{config.b}}', b: 1}").replace("[x]", "['{{config.a}}', '{{config.b}}']"), "204", "{{config.b}}", "not each other"),
    Case("L18", "a switch", "config: {source_overlay: maybe}\n" + WORK, "216", "maybe", "true or false"),
    *(
        Case("L18", f"{key} as {value}", f"config: {{{key}: {value}}}\n" + WORK, "102", value, "write")
        for key in ("bucket", "prefix", "decision_uri", "plan_assume_decision", "require_baked_npa",
                    "baked_npa_import", "source_sha", "source_overlay")
        for value in ("[x]", "{}", "{a: 1}")
    ),
    Case("L18", "a list that is read as text", "config: {bucket: []}\n" + _shell("'echo {{config.bucket}}'"), "102", "[]", "write text"),
    Case("L18", "required_immutable_images is a list", "config: {required_immutable_images: {}}\n" + WORK, "102", "{}", "list"),
    Case("L18", "a key that nothing reads", "config: {k: 1}\n" + WORK, "215", "k", "remove"),
    # 3. Commands
    Case("L20", "two commands", "states:\n  a: {run: {shell: x, argv: [x]}, terminal: true}\n", "303", "argv", "keep one"),
    Case("L20", "run and toolRef", "states:\n  a: {run: {shell: x}, toolRef: workbench.token_factory.generate, terminal: true}\n", "303", "toolRef", "keep"),
    Case("L20", "an empty run", "states:\n  a: {run: {}, terminal: true}\n", "304", "{}", "shell"),
    Case("L20", "nothing at all", "states:\n  a: {next: b}\n  b: {description: x}\n" + END, "304", "b", "give it work"),
    Case("L20", "another key on a sequence", f"states:\n  a: {{sequence: [m], params: {{}}, next: z}}\n  m: {{{W}}}\n" + END, "305", "params", "member"),
    Case("L20", "another key on a parallel group", _pair(W, W, "resources: x, "), "305", "resources", "member"),
    Case("L20", "a parallel group's key elsewhere", _on("maxConcurrency: 2"), "305", "maxConcurrency", "parallel"),
    Case("L20", "a router's outputs", f"states:\n  a: {{next: z, outputs: [{{uri: '{OUT}/o.j'}}]}}\n" + END, "305", "outputs", "run"),
    Case("L20", "a trigger without work", "states:\n  a: {next: z, trigger: {uri: 's3://bkt/x/'}}\n" + END, "329", "trigger", "work"),
    Case("L21", "an unknown tool", "states:\n  a: {toolRef: workbench.token_factory.generat, terminal: true}\n", "801", "workbench.token_factory.generat", "workbench.token_factory.generate"),
    # 4. Control flow
    *(
        Case("L30", f"{what} names a state", body, "301", "zz", help)
        for what, body, help in (
            ("next", f"states:\n  a: {{{W}, next: zz}}\n  b1: {{terminal: true}}\n", "states"),
            ("goto", f"states:\n  a: {{{W}, transitions: [{{goto: zz}}]}}\n  b1: {{terminal: true}}\n", "states"),
            ("needs", f"states:\n  a: {{{W}, needs: [zz], next: b1}}\n  b1: {{terminal: true}}\n", "states"),
            ("sequence", f"states:\n  a: {{sequence: [m, zz], next: b1}}\n  m: {{{W}}}\n  b1: {{terminal: true}}\n", "states"),
            ("parallel", f"states:\n  a: {{parallel: [m, n, zz], next: b1}}\n  m: {{{W}}}\n  n: {{{W}}}\n  b1: {{terminal: true}}\n", "states"),
            ("initial", f"initial: zz\nstates:\n  a: {{{W}, terminal: true}}\n", "states"),
        )
    ),
    Case("L30", "initial names a member", f"initial: m\nstates:\n  s: {{sequence: [m], next: z}}\n  m: {{{W}}}\n" + END, "302", "m", "s"),
    Case("L30", "next names a member", f"states:\n  a: {{{W}, next: m}}\n  s: {{sequence: [m], next: z}}\n  m: {{{W}}}\n" + END, "302", "m", "s"),
    Case("L31", "once in one group", f"states:\n  s: {{sequence: [m, m], next: z}}\n  m: {{{W}}}\n" + END, "307", "m", "second state"),
    Case("L31", "an empty group", "states:\n  s: {sequence: [], next: z}\n" + END, "306", "[]", "members"),
    Case("L31", "a state in itself", "states:\n  s: {sequence: [t], next: z}\n  t: {sequence: [s]}\n" + END, "308", "s", "chain"),
    Case("L31", "a child's next", f"states:\n  s: {{sequence: [m], next: z}}\n  m: {{{W}, next: z}}\n" + END, "309", "next", "remove next"),
    Case("L31", "a terminal child", f"states:\n  s: {{sequence: [m], next: z}}\n  m: {{{W}, terminal: true}}\n" + END, "310", "terminal", "sequence terminal"),
    Case("L31", "terminal with next", f"states:\n  a: {{{W}, terminal: true, next: z}}\n" + END, "311", "next", "remove"),
    Case("L31", "terminal with transitions", f"states:\n  a: {{{W}, terminal: true, transitions: [{{goto: z}}]}}\n" + END, "311", "transitions", "remove"),
    Case("L31", "a child's transitions outside a loop", f"states:\n  s: {{sequence: [m], next: z}}\n  m: {{{W}, transitions: [{{goto: z}}]}}\n" + END, "313", "transitions", "move"),
    Case("L31", "a child that only routes, by next", f"states:\n  s: {{sequence: [m, n], next: z}}\n  m: {{{W}}}\n  n: {{next: z}}\n" + END, "309", "next", "remove next"),
    Case("L31", "a child that only routes, outside a loop", f"states:\n  s: {{sequence: [m, n], next: z}}\n  m: {{{W}}}\n  n: {{transitions: [{{goto: z}}]}}\n" + END, "313", "transitions", "move"),
    Case("L31", "a child that only routes, in a loop", f"states:\n  s: {{sequence: [m, n], loop: {{max: 2}}, next: z}}\n  m: {{{W}}}\n  n: {{transitions: [{{when: loop_back, goto: s}}]}}\n" + END, "304", "transitions", "give it a run", "warning"),
    Case("L31", "a child that only routes, deep in a loop", f"states:\n  s: {{sequence: [t], loop: {{max: 2}}, next: z}}\n  t: {{sequence: [m, n]}}\n  m: {{{W}}}\n  n: {{transitions: [{{when: loop_back, goto: s}}]}}\n" + END, "304", "transitions", "give it a run", "warning"),
    Case("L31", "a goto that never routes", _looped("max: 2, until: promote_checkpoint", WRITES + ", transitions: [{when: loop_back, goto: q}]") + "  q: {terminal: true}\n", "312", "q", "go on", "error", RUNTIME),
    Case("L32", "max is required", _on("loop: {}"), "103", "loop", "add max"),
    Case("L32", "at least once", _on("loop: {max: 0}"), "111", "0", "at least 1"),
    Case("L32", "a loop on a parallel group", _pair(W, W, "loop: {max: 2}, "), "314", "loop", "wrap"),
    Case("L32", "too many steps", _on("loop: {max: 250001}"), "315", "loop", "max"),
    Case("L33", "two or more members", f"states:\n  p: {{parallel: [m], next: z}}\n  m: {{{W}}}\n" + END, "316", "parallel", "add members"),
    Case("L33", "no next", _pair(W + ", next: z", W), "317", "next", "plain"),
    Case("L33", "no transitions", _pair(W + ", transitions: [{goto: z}]", W), "317", "transitions", "plain"),
    Case("L33", "no loop", _pair(W + ", loop: {max: 2}", W), "317", "loop", "plain"),
    Case("L33", "not terminal", _pair(W + ", terminal: true", W), "317", "terminal", "plain"),
    Case("L33", "leaves", _pair("sequence: [o]", W) + f"  o: {{{W}}}\n", "317", "sequence", "plain"),
    Case("L33", "a concurrency of 1 to 64", _pair(W, W, "maxConcurrency: 65, "), "111", "65", "64"),
    Case("L33", "parallelCount", _pair(W, W, "parallelCount: 3, "), "318", "3", "members"),
    Case("L34", "exhausted transitions", f"states:\n  a: {{{W}, {WRITES.replace('{{loop.s}}', 'd')}, transitions: [{{when: loop_back, goto: z}}]}}\n" + END, "319", "transitions", "add next", "", RUNTIME),
    Case("L34", "predicates are a closed set", f"states:\n  a: {{{W}, {WRITES.replace('{{loop.s}}', 'd')}, transitions: [{{when: promote, goto: z}}], next: z}}\n" + END, "320", "promote", "promote_checkpoint", "", RUNTIME),
    Case("L34", "if is a config key", "states:\n  a: {transitions: [{if: run.id, goto: z}], next: z}\n" + END, "321", "run.id", "config"),
    Case("L34", "if names a key that exists", "config: {key: x}\nstates:\n  a: {transitions: [{if: config.kye, goto: z}], next: z}\n" + END, "204", "kye", "'key'"),
    Case("L34", "a quoted false", "config: {k: 'false'}\nstates:\n  a: {transitions: [{if: config.k, goto: z}], next: z}\n" + END, "322", "'false'", "without quotes"),
    Case("L35", "no cycle", "states:\n  a: {next: b}\n  b: {next: a}\n" + END, "323", "a", "loop"),
    Case("L35", "a terminal state is reached", f"states:\n  a: {{{W}}}\n", "324", "a", "terminal: true"),
    Case("L35", "a dead end", f"config: {{k: true}}\nstates:\n  a: {{{W}, outputs: [{{uri: '{OUT}/d.j', schema: decision}}], writesDecision: true, transitions: [{{when: loop_back, goto: b}}], next: z}}\n  b: {{{W}}}\n".replace("config: {k: true}\n", "") + END, "325", "b", "next", "", RUNTIME),
    Case("L35", "unreachable", WORK + "  b: {terminal: true}\n", "326", "b", "remove"),
    Case("L36", "needs are acyclic", _on("needs: [a]"), "327", "a", "remove"),
    Case("L36", "needs have run", _on("needs: [z]"), "328", "z", "orders nothing"),
    Case("L38", "racing members", _pair(f"{W}, outputs: [{{uri: '{OUT}/o.j'}}]", f"{W}, outputs: [{{uri: '{OUT}/o.j'}}]"), "701", f"'{OUT}/o.j'", "of its own"),
    Case("L38", "written by every iteration", _on(f"loop: {{max: 2}}, outputs: [{{uri: '{OUT}/o.j'}}]"), "702", f"'{OUT}/o.j'", "{{loop.a}}"),
    # 5. Decisions
    Case("L41", "no source for a loop", f"states:\n  s: {{sequence: [m], loop: {{max: 2, until: promote_checkpoint}}, next: z}}\n  m: {{{W}}}\n" + END, "401", "promote_checkpoint", "writesDecision", "", RUNTIME),
    Case("L41", "no source for transitions", f"states:\n  a: {{{W}, transitions: [{{when: loop_back, goto: z}}], next: z}}\n" + END, "401", "transitions", "decision", "", RUNTIME),
    Case("L41", "a writer without a place", _on("writesDecision: true"), "401", "writesDecision", "decision", "", RUNTIME),
    Case("L41", "a writer's place is an output", f"config: {{decision_uri: '{OUT}/d.j'}}\n" + _on("writesDecision: true"), "403", "writesDecision", "outputs", "", RUNTIME),
    Case("L42", "read before it is written", f"config: {{decision_uri: '{OUT}/d.j'}}\nstates:\n  a: {{transitions: [{{when: loop_back, goto: z}}], next: z}}\n" + END, "404", "transitions", "writesDecision: true", "error", RUNTIME),
    Case("L43", "plan_assume_decision", "config: {plan_assume_decision: maybe}\n" + WORK, "320", "maybe", "promote_checkpoint"),
    Case("L44", "an undeclared runtime mode", _looped("max: 2, until: promote_checkpoint", WRITES), "405", "metadata", "executionMode: runtime"),
    # 6. Resources
    *(
        Case("L50", f"{key}: {value}", _profile(f"{key}: {value}"), "502", value, "")
        for key, value in (
            ("accelerators", "H100:0"), ("cpus", "-1"), ("memory", "64TB"), ("disk_size", "big"), ("num_nodes", "33"),
        )
    ),
    Case("L50", "use_spot", _profile("use_spot: maybe"), "102", "maybe", "true or false"),
    Case("L50", "provision_timeout", _profile("kubernetes: {provision_timeout: soon}"), "502", "soon", "digits"),
    Case("L50", "one finding for a list", _profile("cpus: [a]"), "102", "[a]", "number"),
    Case("L50", "deployIfAbsent", _profile("deployIfAbsent: true"), "513", "deployIfAbsent", "beforehand"),
    Case("L50", "a near cloud", _profile("cloud: kubernets"), "503", "kubernets", "'kubernetes'", "error"),
    Case("L50", "an unknown cloud", _profile("cloud: mainframe9"), "503", "mainframe9", "known", "warning"),
    Case("L50", "a shell variable", _profile("region: '${REGION}'"), "504", "${REGION}", "config"),
    Case("L51", "a profile that exists", _on("resources: gpu"), "501", "gpu", "profiles"),
    Case("L52", "sharded", _profile("num_nodes: 2"), "505", "a", "multiNodeMode"),
    Case("L53", "an OCI reference", _profile("image: 'Bad Image'"), "507", "'Bad Image'", ""),
    Case("L53", "a tool's image", _profile("image: 'tool://no_such_image_9'"), "508", "'tool://no_such_image_9'", "catalog"),
    Case("L53", "a tool's image, compiled", _profile("image: 'tool://no_such_image_9'"), "508", "'tool://no_such_image_9'", "catalog", "error", until="settle"),
    Case("L54", "an immutable image", "config: {required_immutable_images: [i], i: 'docker.io/a/b:1'}\n" + WORK, "509", "'docker.io/a/b:1'", "--var i="),
    Case("L54", "an empty image", "config: {required_immutable_images: [i], i: ''}\n" + WORK, "510", "''", "--var i=", "note"),
    Case("L54", "an empty image, compiled", "config: {required_immutable_images: [i], i: ''}\n" + WORK, "510", "''", "--var i=", "error", until="settle"),
    Case("L54", "a key that exists", "config: {required_immutable_images: [i]}\n" + WORK, "204", "i", "declare"),
    Case("B7", "source_sha", _baked("source_sha: abc"), "511", "abc", "40 hex"),
    Case("B7", "source_sha of a state", _baked(f"source_sha: {SHA}").replace("terminal", "params: {source_sha: abc}, terminal"), "511", "abc", "40 hex"),
    Case("B7", "source_sha is demanded", _baked("source_sha: ''"), "510", "''", "--var source_sha=", "note"),
    Case("B7", "baked_npa_import", _baked(f"source_sha: {SHA}, baked_npa_import: a-b"), "514", "a-b", "package.module"),
    Case("B7", "baked_npa_import of a state", _baked(f"source_sha: {SHA}").replace("terminal", "params: {baked_npa_import: a-b}, terminal"), "514", "a-b", "package.module"),
    Case("B7", "baked_npa_import does not depend on the run", _baked(f"source_sha: {SHA}, baked_npa_import: 'a.{{{{run.id}}}}'"), "219", "'a.{{run.id}}'", "out"),
    Case("B7", "a baked image is immutable", _baked(f"source_sha: {SHA}").replace(IMAGE, "docker.io/a/b:1"), "509", "'docker.io/a/b:1'", ""),
    Case("T64", "overlay against baked", _baked(f"source_sha: {SHA}, source_overlay: true"), "512", "true", "switch one"),
    Case("I5", "a count does not depend on the run", _on("loop: {max: config.n}", "config: {n: '{{run.id}}'}\n"), "219", "config.n", "beforehand"),
    Case("I5", "an image does not depend on the run", _profile("image: 'docker.io/a/b:{{run.id}}'"), "219", "'docker.io/a/b:{{run.id}}'", "beforehand"),
    Case("I5", "an accelerator does not depend on the run", _profile("accelerators: 'H{{run.id}}:1'"), "219", "'H{{run.id}}:1'", "beforehand"),
    # 7. Secrets
    Case("L60", "a password in a URL", "config: {k: 'postgres://u:" + "hunter2@host/x'}\n" + _shell("'{{config.k | sh}}'"), "601", "postgres://u:" + "hunter2@", "secrets"),
    *(
        Case("L60", f"the key {key}", f"config: {{{key}: Abcdefgh12345678}}\n" + _shell(f"'{{{{config.{key} | sh}}}}'"), "601", "Abcdefgh12345678", "secrets")
        for key in ("api_key", "wandbApiKey", "apiToken", "dbPassword", "HFToken", "APIKey", "clientSecret", "awsSecretKey")
    ),
    Case("L60", "a short value", "config: {apiToken: changeme}\n" + _shell("'{{config.apiToken | sh}}'"), "602", "changeme", "secrets"),
    Case("L61", "a secret is named", _on("secrets: [HF-TOKEN]"), "105", "HF-TOKEN", "never write the value"),
    # 8. Room to grow
    Case("L70", "unquoted", "config: {k: a b}\n" + _shell("'echo {{config.k}}'"), "221", "{{config.k}}", "| sh"),
    Case("L70", "in double quotes", "config: {k: 'a$b'}\n" + _shell("'echo \"{{config.k}}\"'"), "221", "{{config.k}}", "| sh"),
    Case("L70", "after a here-document", "config: {k: a b}\n" + _shell("\"cat <<'A-1'\\n{{config.k}}\\nA-1\\necho {{config.k}}\""), "221", "{{config.k}}", "| sh"),
    Case("L71", "a label", f"states:\n  a: {{{W}, outputs: [{{uri: '{OUT}/o.j', schema: x.v1}}], next: b}}\n  b: {{{W}, inputs: [{{uri: '{OUT}/o.j', schema: y.v1}}], terminal: true}}\n", "704", "y.v1", "x.v1"),
    Case("T53", "an output of every run", _on("outputs: [{uri: 's3://bkt/o.j'}]"), "703", "'s3://bkt/o.j'", "{{run.id}}"),
)  # fmt: skip

CLEAN = {
    "a BOM and CRLF": ("\ufeff" + HEAD.replace("\n", "\r\n"), WORK.replace("\n", "\r\n")),
    "names keep their text": (HEAD, "states:\n  'on': {next: 'no'}\n  'no': {terminal: true}\n"),
    "x- keys everywhere": (HEAD, "x-a: 1\n" + _on("x-b: 2, trigger: {uri: 's3://bkt/x/', x-c: 1}")),
    "other double braces": (HEAD, _shell("'docker ps --format \"{{.Names}}\" # {{\"a\", \"b\"}} }}'")),
    "a numeric token": (HEAD, "config: {maxTokens: '512'}\n" + _shell("'{{config.maxTokens | sh}}'")),
    "a pull secret's name": (HEAD, "config: {apiTokenName: my-registry-secret-12}\n" + _shell("'{{config.apiTokenName | sh}}'")),
    "blanks in a quoted here-document": (HEAD, "config: {k: a b $c}\n" + _shell("\"cat <<'EOF'\\n{{config.k}}\\nEOF\"")),
    "blanks in any here-document": (HEAD, "config: {k: a b}\n" + _shell("\"cat <<'A 1' <<B.txt\\n{{config.k}}\\nA 1\\n{{config.k}}\\nB.txt\"")),
}  # fmt: skip


def _ids(case: Case) -> str:
    return f"{case.rule}: {case.sentence}"


@pytest.mark.parametrize("case", CASES, ids=_ids)
def test_a_sentence_is_enforced_once_at_its_place_with_a_remedy(case: Case) -> None:
    found = checked(case.body, head=case.head, until=case.until).findings
    assert [item.code.id for item in found] == [f"NPA{case.code}"]
    (item,) = found
    assert item.span.text == case.at
    assert case.help in item.help and item.help
    wanted = case.severity or CODES[item.code.id].severity.word
    assert item.severity is Severity[wanted.upper()]


@pytest.mark.parametrize("name", CLEAN)
def test_what_a_sentence_allows_is_clean(name: str) -> None:
    head, body = CLEAN[name]
    assert [item.message for item in checked(body, head=head).findings] == []


OVERRIDDEN = {
    "L17: an unknown key": ({"variables": (("kye", "1"),)}, "217", "kye", "'key'"),
    "L17: a list": ({"variables": (("list", "1"),)}, "218", "list", "inside"),
    "L17: a mapping": ({"sets": (("map", "1"),)}, "218", "map", "inside"),
    "L17: no boolean": ({"variables": (("flag", "perhaps"),)}, "218", "perhaps", "true or false"),
    "L17: no number": ({"variables": (("number", "many"),)}, "218", "many", "a number"),
    "L17: no text": ({"overlay": "key: [1]\n"}, "218", "[1]", "text"),
    "L14: a value injects no token": ({"variables": (("key", "{{config.zz}}"),)}, "", "", ""),
    "L17: a template is checked": ({"sets": (("key", "{{config.zz}}"),)}, "204", "{{config.zz}}", "declare"),
    "L60: a credential": ({"variables": (("key", "AKIA" + "ABCDEFGHIJKLMNOP"),)}, "601", "AKIA" + "ABCDEFGHIJKLMNOP", "secrets"),
    "L60: by its key": ({"variables": (("apiToken", "Abcdefgh12345678"),)}, "601", "Abcdefgh12345678", "secrets"),
    "L70: a value that comes in": ({"variables": (("number", "1e5"),)}, "", "", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_a_sentence_about_overrides_is_enforced_once(name: str) -> None:
    options, code, at, help_text = OVERRIDDEN[name]
    config = "config: {key: a, list: [1], map: {a: 1}, flag: true, number: 3, apiToken: ''}\n"
    words = "'{{config.key}}', '{{config.flag}}', '{{config.number}}', '{{config.apiToken}}'"
    body = config + WORK.replace("[x]", f"[x, {words}]")
    found = [item for item in checked(body, **options).findings if item.severity > Severity.NOTE]  # type: ignore[arg-type]
    assert [item.code.id for item in found] == ([f"NPA{code}"] if code else [])
    assert [item.span.text for item in found] == ([at] if code else [])
    assert all(help_text in item.help for item in found)


def test_every_family_of_sentences_has_cases() -> None:
    families = {case.rule for case in CASES}
    assert {f"L{number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 15, 18, 20, 21)} <= families
    assert {f"L{number}" for number in (30, 31, 32, 33, 34, 35, 36, 38, 41, 42, 43, 44)} <= families
    assert {f"L{number}" for number in (50, 51, 52, 53, 54, 60, 61, 70, 71)} <= families
