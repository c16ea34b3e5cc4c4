"""What must and what must not change a program's digest, through whole specs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from npac.api import Options, compile
from npac.ir.canonical import digest, program_bytes
from npac.ir.codec import program_from_json
from tests.corpus.place import each_spec, given, spec_path

ROOT = Path(__file__).resolve().parents[2]
SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata:
  name: table
  description: Every part of the language that a program holds.
  namespace: robots
  labels: {team: sim}
config:
  bucket: bkt
  rounds: 3
  steps: "10"
  note: nothing reads this
  width: 2
  on_spot: "false"
  folder: "s3://{{config.bucket}}/{{run.prefix}}"
run: {site: lab}
resources:
  cpu: {cloud: kubernetes, cpus: 4, memory: 16Gi}
  gpu:
    cloud: kubernetes
    cpus: 16
    memory: 64Gi
    accelerators: H100:2
    use_spot: false
    image: registry.example/sim:2
    kubernetes:
      pod_config:
        metadata: {labels: {team: sim}}
        spec: {nodeSelector: {zone: a, rack: b}}
initial: fan
states:
  fan:
    parallel: [left, right, middle]
    maxConcurrency: "{{config.width}}"
    next: refine
  left: &shard
    description: One of three.
    resources: cpu
    run: {argv: [shard, "{{run.site}}", "{{run.id}}"]}
  right: *shard
  middle: *shard
  refine:
    loop: {max: "{{config.rounds}}", until: promote_checkpoint}
    sequence: [train, judge]
    outputs: [{uri: "{{config.folder}}/best/", schema: example.model.v1, kind: directory}]
    next: route
  train:
    resources: gpu
    secrets: [HF_TOKEN, WANDB_API_KEY]
    trigger: {uri: "{{config.folder}}/go", pollSeconds: 15, maxPolls: 4, minObjects: 2}
    params: {steps: "20", spare: x}
    run: {argv: [train, --steps, "{{config.steps}}", --round, "{{loop.refine}}"]}
    inputs: [{uri: "{{config.folder}}/data/", schema: example.data.v1, kind: directory}]
    outputs: [{uri: "{{config.folder}}/{{loop.refine}}/model", schema: example.model.v1}]
  judge:
    resources: cpu
    writesDecision: true
    run:
      shell: |
        judge '{{state.train.uri}}' > out
    outputs: [{uri: "{{config.folder}}/{{loop.refine}}/decision.json", schema: example.decision.v1}]
  route:
    params: {decision_uri: "{{config.folder}}/{{loop.refine}}/decision.json"}
    transitions:
      - {when: promote_checkpoint, goto: publish}
    next: report
  publish: {resources: cpu, run: {argv: [publish]}, terminal: true}
  report: {toolRef: workbench.token_factory.caption, resources: cpu, terminal: true}
"""
TOOL_CONFIG = {
    "run_uri": "s3://bkt/run/",
    "images_uri": "s3://bkt/images/",
    "captions_uri": "s3://bkt/captions/",
    "caption_model": "m",
    "max_images": "4",
    "max_tokens": "8",
}
TEXT = SPEC.replace(
    "  note: nothing", "".join(f'  {k}: "{v}"\n' for k, v in TOOL_CONFIG.items()) + "  note: nothing"
)


ALONE = Options(use_project=False)


def of(text: str, path: str = "table.yaml", options: Options = ALONE) -> str:
    return compile(path, options, data=text.encode()).digest


@pytest.fixture(scope="module")
def base() -> str:
    return of(TEXT)


def swap(old: str, new: str, count: int = 1) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert text.count(old) >= 1, f"{old!r} is not in the spec"
        return text.replace(old, new, count)

    return change


def _written_out(text: str) -> str:
    """Without anchors, every key sorted, every text quoted: a quite different file that says the same."""

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    data = yaml.load(text, Loader=yaml.BaseLoader)
    # Plain booleans stay booleans, as the language reads them.
    data["resources"]["gpu"]["use_spot"] = False
    data["states"]["judge"]["writesDecision"] = True
    for name in ("publish", "report"):
        data["states"][name]["terminal"] = True
    for profile in data["resources"].values():
        profile["cpus"] = int(profile["cpus"])
    return yaml.dump(data, Dumper=Plain, sort_keys=True, default_style=None)


def _as_json(text: str) -> str:
    return json.dumps(yaml.safe_load(_written_out(text)), sort_keys=True)


def _list_form(text: str) -> str:
    data = yaml.safe_load(_written_out(text))
    data["states"] = [{"name": name, **state} for name, state in data["states"].items()]
    return json.dumps(data)


def _reversed_keys(text: str) -> str:
    def turned(data: object) -> object:
        if isinstance(data, dict):
            return {key: turned(value) for key, value in reversed(data.items())}
        return [turned(item) for item in data] if isinstance(data, list) else data

    return json.dumps(turned(yaml.safe_load(_written_out(text))))


UNCHANGED: dict[str, Callable[[str], str]] = {
    "comments": lambda text: "# one\n" + text.replace("config:\n", "config: # two\n\n\n"),
    "line ends": lambda text: text.replace("\n", "\r\n"),
    "a byte order mark": lambda text: "\ufeff" + text,
    "a document mark": lambda text: "---\n" + text,
    "written out, without anchors": _written_out,
    "flow style": _as_json,
    "key order": _reversed_keys,
    "states as a list": _list_form,
    "single quotes": swap('"{{config.steps}}"', "'{{config.steps}}'"),
    "a block scalar": swap("[shard, ", '[!!str "sha\\x72d", '),
    "blanks inside a token": swap("{{run.site}}", "{{  run.site }}"),
    "a description": swap("One of three.", "One of several."),
    "the workflow's description": swap("Every part", "Each part"),
    "no description": swap("  description: Every part of the language that a program holds.\n", ""),
    "labels": swap("{team: sim}\nconfig", "{team: robots, cost: high}\nconfig"),
    "the namespace": swap("namespace: robots", "namespace: other"),
    "x- keys": swap("config:\n", "x-owner: me\nconfig:\n"),
    "x- keys of a state": swap("  refine:\n", "  refine:\n    x-note: [1, 2]\n"),
    "x- keys of a profile": swap("    cpus: 16\n", "    cpus: 16\n    x-price: 3\n"),
    "an unused config key": swap("nothing reads this", "nothing reads that"),
    "another unused config key": swap("  note:", "  more: 1\n  note:"),
    "an unused param": swap("spare: x", "spare: y"),
    "a value that is overlaid everywhere": swap('steps: "10"', 'steps: "11"'),
    "an unused profile": swap("resources:\n", "resources:\n  spare: {cpus: 1}\n"),
    "the way a config value is made": swap(
        "s3://{{config.bucket}}/{{run.prefix}}", "s3://bkt/table/{{run.id}}"
    ),
    "a value written where it is read": swap('"{{config.rounds}}"', "3"),
    "the order of secrets": swap("[HF_TOKEN, WANDB_API_KEY]", "[WANDB_API_KEY, HF_TOKEN]"),
    "needs": swap("    sequence:", "    needs: [fan]\n    sequence:"),
    "a state that nothing reaches": swap(
        "states:\n", "states:\n  lost: {run: {argv: [x]}, terminal: true}\n"
    ),
    "the old spelling of a key": swap("pollSeconds", "poll_seconds"),
}

CHANGED: dict[str, Callable[[str], str]] = {
    "a word of a command": swap("[shard, ", "[shards, "),
    "an empty word more": swap("[publish]", '[publish, ""]'),
    "words joined": swap("argv: [train, --steps,", "argv: ['train --steps',"),
    "a shell text": swap("> out", ">> out"),
    "a blank in a shell text": swap("judge '", "judge  '"),
    "argv for shell": swap("run: {argv: [publish]}", "run: {shell: publish}"),
    "a tool": swap("workbench.token_factory.caption", "workbench.content_agents.package"),
    "config of a tool": swap('max_images: "4"', 'max_images: "5"'),
    "the quoting of a number that is substituted": swap('max_images: "4"', "max_images: 4.0"),
    "an image": swap("sim:2", "sim:3"),
    "a profile's value": swap("cpus: 16", "cpus: 32"),
    "a profile's type": swap("cpus: 16", 'cpus: "16"'),
    "a profile's name": lambda text: text.replace(" gpu", " gpu2"),
    "an accelerator": swap("H100:2", "H100:4"),
    "spot": swap("use_spot: false", "use_spot: true"),
    "a pod label": swap("labels: {team: sim}}", "labels: {team: robots}}"),
    "a pod's nodes": swap("rack: b", "rack: c"),
    "an input": swap("/data/", "/data2/"),
    "an input's label": swap("example.data.v1", "example.data.v2"),
    "an output": swap("{{loop.refine}}/model", "{{loop.refine}}/models"),
    "an output's label": swap('/model", schema: example.model.v1', '/model", schema: example.model.v2'),
    "an output's kind": swap(
        '/model", schema: example.model.v1', '/model", kind: directory, schema: example.model.v1'
    ),
    "a declared kind": swap(
        '/model", schema: example.model.v1', '/model", kind: file, schema: example.model.v1'
    ),
    "a group's output": swap("/best/", "/finest/"),
    "a decision's place": lambda text: text.replace("decision.json", "decisions.json"),
    "who writes the decision": lambda text: swap("    writesDecision: true\n", "")(
        swap("  note:", '  decision_uri: "{{config.folder}}/1/decision.json"\n  note:')(text)
    ),
    "poll seconds": swap("pollSeconds: 15", "pollSeconds: 16"),
    "polls": swap("maxPolls: 4", "maxPolls: 5"),
    "objects": swap("minObjects: 2", "minObjects: 3"),
    "a trigger's URI": swap('/go"', '/go/"'),
    "no trigger": swap(
        '    trigger: {uri: "{{config.folder}}/go", pollSeconds: 15, maxPolls: 4, minObjects: 2}\n', ""
    ),
    "a loop's bound": swap("rounds: 3", "rounds: 4"),
    "no until": swap(", until: promote_checkpoint", ""),
    "another until": swap("until: promote_checkpoint", "until: loop_back"),
    "a transition's target": swap("goto: publish", "goto: report"),
    "a transition's predicate": swap("when: promote_checkpoint, goto", "when: loop_back, goto"),
    "next": swap("    next: report", "    next: publish"),
    "where it begins": swap("initial: fan", "initial: refine"),
    "the order of members": swap("[left, right, middle]", "[right, left, middle]"),
    "a member less": swap("[left, right, middle]", "[left, right]"),
    "the order of a sequence": swap("[train, judge]", "[train, judge, extra]\n    x-a: 1"),
    "the width of a group": swap("width: 2", "width: 3"),
    "group retry": swap("parallel: [", "groupRetry: all\n    parallel: ["),
    "secrets": swap("[HF_TOKEN, WANDB_API_KEY]", "[HF_TOKEN]"),
    "what a param puts in": swap('{steps: "20", ', '{steps: "21", '),
    "a value of run": swap("site: lab", "site: field"),
    "the workflow's name": swap("name: table", "name: tables"),
    "executionMode": swap("namespace: robots", "executionMode: runtime"),
    "the language's version": swap("npa.workflow/v0.0.1", "npa.workflow/v0.0.1-beta"),
    "a state's name": lambda text: text.replace("publish", "release"),
    "a switch": swap("  note:", '  source_overlay: "true"\n  note:'),
    "a source SHA": swap("  note:", f'  source_sha: "{"a" * 40}"\n  note:'),
    "a decision to assume": swap("  note:", "  plan_assume_decision: promote_checkpoint\n  note:"),
}
EXTRA = "states:\n  extra: {resources: cpu, run: {argv: [extra]}}\n"


def _turned(node: yaml.Node) -> None:
    """Reverse the keys of every mapping, styles and all else kept."""
    if isinstance(node, yaml.MappingNode):
        node.value.reverse()
        for _, value in node.value:
            _turned(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _turned(item)


@each_spec
def test_key_order_does_not_count_in_any_corpus_spec(name: str) -> None:
    text = spec_path(name).read_text(encoding="utf-8")
    node = yaml.compose(text)
    assert isinstance(node, yaml.MappingNode)
    _turned(node)
    if all(key.value != "initial" for key, _ in node.value):
        first = next(iter(yaml.safe_load(text)["states"]))
        node.value.append(
            (
                yaml.ScalarNode("tag:yaml.org,2002:str", "initial"),
                yaml.ScalarNode("tag:yaml.org,2002:str", first),
            )
        )
    options = given(name)
    assert of(yaml.serialize(node), options=options) == of(text, options=options)


@pytest.mark.parametrize("what", UNCHANGED)
def test_what_must_not_change_the_digest(what: str, base: str) -> None:
    changed = UNCHANGED[what](TEXT)
    assert changed != TEXT
    assert of(changed) == base


@pytest.mark.parametrize("what", CHANGED)
def test_what_must_change_the_digest(what: str, base: str) -> None:
    changed = CHANGED[what](TEXT)
    if "extra]" in changed:
        changed = changed.replace("states:\n", EXTRA)
    assert changed != TEXT
    assert of(changed) != base


def test_every_change_gives_a_digest_of_its_own(base: str) -> None:
    found: dict[str, str] = {base: "the spec itself"}
    for what, change in CHANGED.items():
        text = change(TEXT)
        mine = of(text.replace("states:\n", EXTRA) if "extra]" in text else text)
        assert mine not in found, f"{what} and {found[mine]} have one digest"
        found[mine] = what


def test_the_first_state_counts_only_where_initial_is_left_out(base: str) -> None:
    without = TEXT.replace("initial: fan\n", "")
    assert of(without) == base
    moved = yaml.safe_load(without)
    last = moved["states"].pop("report")
    moved["states"] = {"report": last, **moved["states"]}
    assert of(json.dumps(moved)) != base
    assert of(json.dumps({**moved, "initial": "fan"})) == base


@pytest.mark.parametrize(
    "options",
    [
        Options(vars={"note": "other"}, use_project=False),
        Options(vars={"bucket": "bkt", "rounds": "3"}, use_project=False),
        Options(sets={"folder": "s3://bkt/{{run.prefix}}"}, use_project=False),
        Options(max_steps=400, max_nodes=500, use_project=False),
        Options(
            pins={"registry.example/sim:2": f"registry.example/sim@sha256:{'a' * 64}"}, use_project=False
        ),
        Options(accelerators={"H100": "B200"}, use_project=False),
        Options(ignore=["NPA2"], use_project=False),
        Options(use_project=True),
    ],
)
def test_options_that_do_not_change_what_runs(options: Options, base: str) -> None:
    assert of(TEXT, options=options) == base


@pytest.mark.parametrize(
    "options",
    [
        Options(vars={"bucket": "other"}, use_project=False),
        Options(vars={"rounds": "2"}, use_project=False),
        Options(sets={"folder": "s3://bkt/x/{{run.id}}"}, use_project=False),
    ],
)
def test_options_that_change_what_runs(options: Options, base: str) -> None:
    assert of(TEXT, options=options) != base


def test_a_catalog_counts_by_what_it_gives(tmp_path: Path, base: str) -> None:
    path = tmp_path / "tools.yaml"
    for text, same in (
        ("tools:\n  my.tool: {command: [mine]}\n", True),
        ("tools:\n  workbench.token_factory.caption: {command: [mine]}\n", False),
    ):
        path.write_text(f"catalog: npac.catalog/v1\n{text}", encoding="utf-8")
        options = Options(catalogs=[path], use_project=False)
        compiled = compile("table.yaml", options, data=TEXT.encode())
        assert (compiled.digest == base) is same
        assert compiled.catalog_digest != compile("table.yaml", ALONE, data=TEXT.encode()).catalog_digest


def test_the_name_and_place_of_the_file_do_not_count(tmp_path: Path, base: str) -> None:
    for name in ("other.yml", "a b/ü.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(TEXT, encoding="utf-8")
        assert compile(path).digest == base


def test_machine_time_and_hash_seed_do_not_count(tmp_path: Path, base: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(TEXT, encoding="utf-8")
    code = "import sys; from npac.api import compile; print(compile(sys.argv[1]).digest)"
    for seed, zone, lang, folder in (
        ("0", "UTC", "C", "/"),
        ("1", "Asia/Tokyo", "tr_TR.UTF-8", str(tmp_path)),
        ("4711", "America/New_York", "C.UTF-8", str(ROOT)),
    ):
        env = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "TZ": zone,
            "LC_ALL": lang,
            "HOME": str(tmp_path / seed),
            "PYTHONPATH": str(ROOT),
            "NPA_SRC_S3_URI": "s3://elsewhere",
            "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        }
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env=env,
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == base


def test_the_digest_is_that_of_bytes_which_read_back() -> None:
    program = compile("table.yaml", Options(use_project=False), data=TEXT.encode()).program
    data = program_bytes(program)
    back = program_from_json(json.loads(data))
    assert back == program
    assert program_bytes(back) == data and digest(back) == digest(program)
    for word in (b"Every part", b"nothing reads", b"robots", b"table.yaml", str(ROOT).encode()):
        assert word not in data
