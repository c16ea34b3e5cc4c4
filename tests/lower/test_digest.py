"""What changes a program's digest: what would run, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from npac.api import Options, compile

SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata:
  name: digest
config:
  alpha: one
  beta: two
  decision_uri: "s3://bbb/{{run.id}}/decision.json"
resources:
  small: {cloud: kubernetes, cpus: 4, memory: 16Gi}
  large: {cloud: kubernetes, cpus: 8, memory: 64Gi}
states:
  first:
    run: {shell: "echo {{config.alpha}}"}
    resources: small
    inputs: [{uri: "s3://bbb/in", schema: raw.v1}]
    outputs: [{uri: "s3://bbb/{{run.id}}/first/", schema: data.v1, kind: directory}]
    trigger: {uri: "s3://bbb/go", maxPolls: 3}
    next: refine
  refine:
    sequence: [train, judge]
    loop: {max: 3, until: promote_checkpoint}
    next: fan
  train: {run: {argv: [train, "{{loop.refine}}"]}, params: {alpha: three}, secrets: [HF_TOKEN]}
  judge:
    run: {shell: judge}
    writesDecision: true
    outputs: [{uri: "{{config.decision_uri}}", schema: decision}]
  fan: {parallel: [left, right], maxConcurrency: 1, next: done}
  left: {run: {shell: "true"}}
  right: {run: {shell: "false"}}
  done: {terminal: true}
"""


def digest(text: str, name: str = "digest.yaml") -> str:
    return compile(name, Options(use_project=False), data=text.encode()).digest


def changed(*pairs: tuple[str, str]) -> str:
    text = SPEC
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def _moved(text: str, first: str, stop: str) -> str:
    """Put the lines from ``first`` up to ``stop`` at the end of ``states``."""
    begin, end = text.index(first), text.index(stop)
    return text[:begin] + text[end:] + text[begin:end]


LOOP = "    loop: {until: promote_checkpoint, max: 3}\n"

SAME = {
    "comments": "# a\n" + SPEC.replace("states:\n", "states:  # all of them\n# more\n"),
    "blank-lines": SPEC.replace("states:\n", "\n\nstates:\n\n"),
    "line-ends": SPEC.replace("\n", "\r\n"),
    "byte-order-mark": "\ufeff" + SPEC,
    "quotes": changed(('shell: "echo {{config.alpha}}"', "shell: 'echo {{config.alpha}}'")),
    "quoted-name": changed(("name: digest", 'name: "digest"'), ("alpha: one", "alpha: 'one'")),
    "block-scalar": changed(("run: {shell: judge}", "run:\n      shell: |-\n        judge")),
    "flow-and-block": changed(
        ("  done: {terminal: true}", "  done:\n    terminal: true"),
        ("    run: {shell: judge}", "    run:\n      shell: judge"),
    ),
    "blanks-in-tokens": changed(("{{config.alpha}}", "{{  config.alpha }}")),
    "order-of-config": changed(("  alpha: one\n  beta: two\n", "  beta: two\n  alpha: one\n")),
    "order-of-top-keys": _moved(SPEC, "config:\n", "resources:\n"),
    "order-of-a-profile": changed(
        ("{cloud: kubernetes, cpus: 4, memory: 16Gi}", "{memory: 16Gi, cpus: 4, cloud: kubernetes}")
    ),
    "order-of-later-states": _moved(SPEC, "  refine:\n", "  fan:"),
    "order-of-a-states-keys": changed(
        ("    loop: {max: 3, until: promote_checkpoint}\n    next: fan\n", "    next: fan\n" + LOOP),
    ),
    "explicit-initial": changed(("states:\n", "initial: first\nstates:\n")),
    "default-of-a-trigger": changed(("maxPolls: 3", "maxPolls: 3, pollSeconds: 30, minObjects: 1")),
    "unused-key": changed(("  beta: two\n", "  beta: two\n  x-note: nothing\n")),
    "description": changed(("  fan: {", "  fan: {description: both at once, ")),
    "anchor": changed(("  alpha: one\n  beta: two\n", "  alpha: &a one\n  beta: two\n  x-copy: *a\n")),
    "old-spelling": changed(("maxConcurrency: 1", "max_concurrency: 1")),
    "number-from-config": changed(("  beta: two\n", '  beta: "3"\n'), ("max: 3,", "max: '{{config.beta}}',")),
}  # fmt: skip

OTHER = {
    "first-state": _moved(SPEC, "  first:\n", "  refine:\n"),
    "initial": changed(("states:\n", "initial: refine\nstates:\n")),
    "workflow-name": changed(("name: digest", "name: other")),
    "api-version": changed(("v0.0.1", "v0.0.1-beta")),
    "execution-mode": changed(("name: digest\n", "name: digest\n  executionMode: runtime\n")),
    "shell": changed(("shell: judge", "shell: judge --all")),
    "trailing-blank": changed(("shell: judge", 'shell: "judge "')),
    "argv-and-shell": changed(("run: {shell: judge}", "run: {argv: [judge]}")),
    "argv-words": changed(("argv: [train,", "argv: [train, x,")),
    "used-config": changed(("alpha: one", "alpha: uno")),
    "params": changed(("params: {alpha: three}", "params: {alpha: three}, resources: large")),
    "resource-value": changed(("cpus: 4", "cpus: 5")),
    "resource-type": changed(("cpus: 4", 'cpus: "4"')),
    "profile": changed(("resources: small", "resources: large")),
    "input": changed(("s3://bbb/in", "s3://bbb/ins")),
    "input-label": changed(("raw.v1", "raw.v2")),
    "output": changed(("/first/", "/1st/")),
    "output-label": changed(("data.v1", "data.v2")),
    "output-kind": changed((", kind: directory", "")),
    "trigger": changed(("s3://bbb/go", "s3://bbb/went")),
    "trigger-number": changed(("maxPolls: 3", "maxPolls: 4")),
    "loop-max": changed(("max: 3,", "max: 4,")),
    "until": changed(("until: promote_checkpoint", "until: loop_back")),
    "secrets": changed(("HF_TOKEN", "WANDB_KEY")),
    "decision-place": changed(("/decision.json", "/decided.json")),
    "writer": changed(("    writesDecision: true\n", "")),
    "concurrency": changed(("maxConcurrency: 1", "maxConcurrency: 2")),
    "member-order": changed(("[left, right]", "[right, left]")),
    "sequence-order": changed(("[train, judge]", "[judge, train]")),
    "state-name": SPEC.replace("right", "starboard"),
    "group-retry": changed(("maxConcurrency: 1", "maxConcurrency: 1, groupRetry: all")),
    "exit": changed(("    next: refine\n", "    next: done\n")),
    "assumption": changed(("  beta: two\n", "  beta: two\n  plan_assume_decision: promote\n")),
}


@pytest.mark.parametrize("change", SAME)
def test_digest_stays(change: str) -> None:
    assert SAME[change] != SPEC
    assert digest(SAME[change]) == digest(SPEC)


@pytest.mark.parametrize("change", OTHER)
def test_digest_changes(change: str) -> None:
    assert digest(OTHER[change]) != digest(SPEC)


def test_all_changes_give_programs_of_their_own() -> None:
    found = {name: digest(text) for name, text in OTHER.items()}
    # which state comes first can be said in two ways
    assert found.pop("first-state") == found["initial"]
    assert len(set(found.values())) == len(found)


def test_name_of_the_file_is_no_part_of_it(tmp_path: Path) -> None:
    places = [tmp_path / "a.yaml", tmp_path / "folder" / "other name.yml"]
    places[1].parent.mkdir()
    for path in places:
        path.write_text(SPEC, encoding="utf-8")
    assert {compile(path, Options(use_project=False)).digest for path in places} == {digest(SPEC)}


def test_overrides_change_it_when_they_change_what_runs() -> None:
    def under(**values: str) -> str:
        return compile("d.yaml", Options(vars=values, use_project=False), data=SPEC.encode()).digest

    assert under(alpha="one") == digest(SPEC)
    assert under(alpha="uno") == digest(OTHER["used-config"])


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_process_and_hash_seed_do_not_change_it(seed: str, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    code = "from npac.api import compile; print(compile('spec.yaml').digest)"
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": root, "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest(SPEC)
