"""Late values in every place that a spec can put them, from the spec's text to what a task sees."""

from __future__ import annotations

import base64
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from npac.api import NpacError, Options, SpecError, build, compile, preview
from npac.backends.skypilot.documents import LaunchValues, link_documents, unlinked
from npac.backends.skypilot.emit import to_yaml
from npac.diagnostics.diagnostic import Severity
from npac.ir.canonical import canonical_bytes
from npac.ir.codec import program_to_json
from npac.ir.linking import LinkRecord, link_program
from npac.ir.program import Program

ALONE = Options(use_project=False)
RUN_IDS = (
    "20260822", "0x10", "0o17", "0b1", "010", "no", "on", "y", "null", "true", "1.10", "1e3", "1_000", "NaN",
    "2026-08-22", "685230.15", "a", "A" * 96, "x.y_z-1",
)  # fmt: skip
PLAIN = ("a", "A" * 96, "x.y_z-1")
"""Those that no YAML reader takes for anything but text."""
ECHO = "import json, sys; print(json.dumps(sys.argv[1:]))"


def _spec(body: str, config: str = "") -> bytes:
    return (
        "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: late}\n"
        f"config:\n  bucket: bkt\n{config}states:\n  only:\n    terminal: true\n{body}"
    ).encode()


def _program(body: str, config: str = "", options: Options = ALONE) -> Program:
    return compile("late.yaml", options, data=_spec(body, config)).program


def _task(program: Program, run_id: str) -> dict[str, Any]:
    """Give the task as it is after it was written as YAML and read by a YAML 1.1 reader."""
    link = LinkRecord(run_id)
    link_program(program, link)
    wave = program.waves()[0]
    text = to_yaml(link_documents(unlinked(program, wave, 0), link, LaunchValues(1, 1, "launch-0", 1)))
    (task,) = yaml.safe_load_all(text)
    assert isinstance(task, dict)
    return task


def _output(task: dict[str, Any], folder: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", task["run"]],
        env={"PATH": "/usr/bin:/bin", "NPA_TASK_STATE": str(folder / "state"), **task["envs"]},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


# What stands in one word of a command, and what the command is given for a run id.
WORDS: dict[str, tuple[str, Any]] = {
    "{{run.id}}": ("alone", lambda r: r),
    "--id={{run.id}}": ("after a flag", lambda r: f"--id={r}"),
    "{{run.id}}{{run.id}}": ("twice", lambda r: r + r),
    'it\'s "{{run.id}}" $(id) `x` \\n': ("beside quotes", lambda r: f'it\'s "{r}" $(id) `x` \\n'),
    '{"uri": "s3://{{config.bucket}}/{{run.id}}/x", "n": [1, {"a": "{{run.id}}"}]}': (
        "in JSON",
        lambda r: f'{{"uri": "s3://bkt/{r}/x", "n": [1, {{"a": "{r}"}}]}}',
    ),
    "{{run.id | base64}}": ("base64", _base64),
    "{{run.id | json}}": ("json", json.dumps),
    "{{run.id | sh}}": ("sh", shlex.quote),
    "{{run.prefix | urlencode}}": ("urlencode", lambda r: quote(f"late/{r}", safe="")),
    "{{config.inner | base64}}": ("a transform of a transform", lambda r: _base64(f"<{_base64(r)}>")),
    "{{config.document | base64}}": (
        "a document in base64",
        lambda r: _base64(f'{{"run": "{r}", "at": "late%2F{r}"}}'),
    ),
    "{{{{run.id}}}}": ("literal braces", lambda r: "{{run.id}}}}"),
    "<run.id> {'hole': 'run.id'}": ("text that looks like a hole", lambda r: "<run.id> {'hole': 'run.id'}"),
}
WORD_CONFIG = (
    '  inner: "<{{run.id | base64}}>"\n'
    '  document: \'{"run": "{{run.id}}", "at": "{{run.prefix | urlencode}}"}\'\n'
)


@pytest.mark.parametrize("run_id", RUN_IDS)
def test_late_values_in_the_words_of_a_command(run_id: str, tmp_path: Path) -> None:
    argv = json.dumps([sys.executable, "-c", ECHO, *WORDS])
    task = _task(_program(f"    run: {{argv: {argv}}}\n", WORD_CONFIG), run_id)
    words = json.loads(_output(task, tmp_path))
    for (place, expected), word in zip(WORDS.values(), words, strict=True):
        assert word == expected(run_id), place
    assert json.loads(words[4])["n"][1] == {"a": run_id}


SHELL = """\
printf '%s\\n' "{{run.id}}" '{{run.id}}' {{run.id}} a{{run.id}}b "it's $X {{run.id}}" {{run.id | sh}}
x='s3://{{config.bucket}}/{{run.id}}'; echo "${x##*/}"
cat <<END
{{run.id}} $X
END
cat <<'END'
{{run.id}} $X {{run.id | json}}
END
echo {{run.id | base64}} # {{run.id}}
"""


@pytest.mark.parametrize("run_id", RUN_IDS)
def test_late_values_in_shell_text(run_id: str, tmp_path: Path) -> None:
    text = "".join(f"        {line}\n" for line in SHELL.splitlines())
    task = _task(_program(f"    run:\n      shell: |\n{text}"), run_id)
    assert _output(task, tmp_path).splitlines() == [
        *(run_id, run_id, run_id, f"a{run_id}b", f"it's  {run_id}", run_id),
        run_id,
        f"{run_id} ",
        f'{run_id} $X "{run_id}"',
        _base64(run_id),
    ]


POD = """\
    resources: p
    run: {argv: ["true"]}
resources:
  p:
    cloud: kubernetes
    kubernetes:
      pod_config:
        metadata:
          labels: {run: "{{run.id}}", joined: "r-{{run.id}}"}
          annotations: {at: "s3://{{config.bucket}}/{{run.id}}/", plain: "1.10", coded: "{{run.id | base64}}"}
        spec:
          hole: run.id
          forged: {hole: run.id}
          more: {concat: [a, {hole: run.id}], apply: base64, value: {hole: run.id}, map: {hole: run.id}}
          containers:
            - name: ray-node
              env: [{name: RUN, value: "{{run.id}}"}, {name: N, value: "8"}, {name: M, value: 8}]
"""


@pytest.mark.parametrize("run_id", [run_id for run_id in RUN_IDS if len(run_id) <= 61])
def test_late_values_in_a_pod(run_id: str) -> None:
    pod = _task(_program(POD), run_id)["config"]["kubernetes"]["pod_config"]
    assert pod["metadata"] == {
        "labels": {"run": run_id, "joined": f"r-{run_id}"},
        "annotations": {"at": f"s3://bkt/{run_id}/", "plain": "1.10", "coded": _base64(run_id)},
    }
    env = [{"name": "RUN", "value": run_id}, {"name": "N", "value": "8"}, {"name": "M", "value": 8}]
    assert pod["spec"] == {
        "hole": "run.id",
        "forged": {"hole": "run.id"},
        "more": {
            "concat": ["a", {"hole": "run.id"}],
            "apply": "base64",
            "value": {"hole": "run.id"},
            "map": {"hole": "run.id"},
        },
        "containers": [{"name": "ray-node", "env": env}],
    }


@pytest.mark.parametrize("length", [1, 61, 62, 63, 64, 95, 96])
def test_a_label_is_never_longer_than_kubernetes_takes(length: int) -> None:
    program = _program(POD)
    run_id = "r" * length
    if length <= 61:
        metadata = _task(program, run_id)["config"]["kubernetes"]["pod_config"]["metadata"]
        assert metadata["labels"] == {"run": run_id, "joined": f"r-{run_id}"}
        return
    with pytest.raises(ValueError, match="Kubernetes allows 63") as caught:
        _task(program, run_id)
    assert ("label run is" in str(caught.value)) == (length > 63)
    with pytest.raises(NpacError, match="Kubernetes allows 63"):
        preview(compile("late.yaml", ALONE, data=_spec(POD)), run_id=run_id)


@pytest.mark.parametrize("run_id", ["a-", "a.", "a_"])
def test_a_label_ends_as_kubernetes_demands(run_id: str) -> None:
    with pytest.raises(ValueError, match="once linked; Kubernetes allows"):
        _task(_program(POD), run_id)


URIS = """\
    trigger: {uri: "s3://{{config.bucket}}/{{run.id}}/in/"}
    params: {target: "s3://{{config.bucket}}/{{run.id}}/{{config.name}}"}
    run: {argv: [cp, "{{config.target}}"]}
    inputs: [{uri: "{{config.target}}"}]
    outputs: [{uri: "file:///x/{{run.prefix}}/o"}, {uri: "s3://{{config.bucket}}/{{run.id | urlencode}}/"}]
"""


@pytest.mark.parametrize("run_id", RUN_IDS)
def test_late_values_in_uris(run_id: str) -> None:
    linked = link_program(_program(URIS, "  name: n\n  target: x\n"), LinkRecord(run_id))
    (step,) = linked.steps
    (wave,) = linked.waves()
    assert [item.uri for item in wave.triggers] == [f"s3://bkt/{run_id}/in/"]
    assert step.argv == ("cp", f"s3://bkt/{run_id}/n")
    assert [item.uri for item in step.inputs] == [f"s3://bkt/{run_id}/n"]
    assert [item.uri for item in step.outputs] == [f"file:///x/late/{run_id}/o", f"s3://bkt/{run_id}/"]
    assert [item.kind for item in step.outputs] == ["file", "directory"]


@pytest.mark.parametrize("run_id", RUN_IDS)
def test_a_run_id_is_text_to_every_reader(run_id: str, tmp_path: Path) -> None:
    compiled = compile("late.yaml", ALONE, data=_spec("    run: {argv: [echo, '{{run.id}}']}\n"))
    build(compiled, tmp_path / "out", run_id=run_id)
    ((_, shown),) = preview(compiled, run_id=run_id)
    written = (tmp_path / "out" / "waves" / "001-only.sky.yaml").read_text(encoding="utf-8")
    for text in (shown, written):
        read = yaml.safe_load(text)["envs"]["NPA_WORKFLOW_RUN_ID"]
        assert read == run_id and isinstance(read, str)
        # A reader that resolves nothing sees the same text: it is not only quoted, it is unchanged.
        assert yaml.load(text, Loader=yaml.BaseLoader)["envs"]["NPA_WORKFLOW_RUN_ID"] == run_id
    # What some reader would retype stands in quotes, so that no reader has to know all of that.
    line = next(line for line in written.splitlines() if "NPA_WORKFLOW_RUN_ID" in line)
    if run_id not in PLAIN:
        assert line.strip() == f'NPA_WORKFLOW_RUN_ID: "{run_id}"'


NO_RUN_IDS = (
    "a'b", "", ".", "..", "-a", "a/b", "a b", "a\n", "a$b", "<run.id>", "{{run.id}}", "A" * 97, "ä",
    "a\u200b",
    "$(id)", "*", "a:b", "a\0b", "٣",
)  # fmt: skip


@pytest.mark.parametrize("run_id", NO_RUN_IDS)
def test_a_run_id_that_is_no_name_is_refused_everywhere(run_id: str, tmp_path: Path) -> None:
    program = _program("    run: {argv: [echo, '{{run.id}}']}\n")
    with pytest.raises(ValueError, match="the run id"):
        link_program(program, LinkRecord(run_id))
    compiled = compile("late.yaml", ALONE, data=_spec("    run: {argv: [echo]}\n"))
    with pytest.raises(NpacError, match="cannot be a run id"):
        build(compiled, tmp_path / "out", run_id=run_id)
    with pytest.raises(NpacError, match="cannot be a run id"):
        preview(compiled, run_id=run_id)
    assert not (tmp_path / "out").exists()


# --- names at their length limits ----------------------------------------------------------------


def test_names_of_full_length_go_all_the_way(tmp_path: Path) -> None:
    name, state, group, profile, run_id = ("w" * 96, "s" * 96, "g" * 96, "p" * 96, "r" * 96)
    text = (
        f"apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {{name: {name}}}\n"
        f"resources: {{{profile}: {{cpus: 1}}}}\n"
        f"states:\n  {group}: {{parallel: [{state}, other], next: end}}\n"
        f"  {state}: {{resources: {profile}, run: {{argv: [x, '{{{{run.prefix}}}}']}}}}\n"
        "  other: {run: {argv: [y]}}\n  end: {terminal: true}\n"
    )
    compiled = compile("late.yaml", ALONE, data=text.encode())
    build(compiled, tmp_path / "out", run_id=run_id)
    (view,) = (tmp_path / "out" / "waves").iterdir()
    header, first, _ = yaml.safe_load_all(view.read_text(encoding="utf-8"))
    assert header["name"] == group and first["name"] == state
    assert f"{name}/{run_id}" in first["run"]
    for full in (name, state, group, profile):
        with pytest.raises(SpecError):
            compile("late.yaml", ALONE, data=text.replace(full, full + full[0]).encode())


def test_what_becomes_too_long_only_when_linked_is_refused() -> None:
    key = "k" * (1024 - len("/") - 90)
    body = f"    run: {{argv: [x]}}\n    outputs: [{{uri: 's3://bkt/{key}/{{{{run.id}}}}'}}]\n"
    program = _program(body)
    assert link_program(program, LinkRecord("r" * 90))
    with pytest.raises(ValueError, match="longer than 1024 bytes"):
        link_program(program, LinkRecord("r" * 91))


def test_a_command_that_a_long_run_id_could_make_too_long_is_refused_before_it_is_linked() -> None:
    body = "    run: {argv: [x, '{{config.long}}{{run.id}}']}\n"
    program = _program(body, f"  long: {'x' * (128 * 1024 - 96)}\n")
    assert link_program(program, LinkRecord("r" * 96))
    with pytest.raises(SpecError) as refused:
        _program(body, f"  long: {'x' * (128 * 1024 - 95)}\n")
    assert [item.code.id for item in refused.value.checked.findings if item.severity >= Severity.ERROR] == [
        "NPA214"
    ]


# --- attempts to forge a hole ---------------------------------------------------------------------

FORGERIES = (
    "<run.id>", "{{run.id}}", "{{ run.id }}", "{{{{run.id}}}}", '{"hole": "run.id"}', "{'hole': 'run.id'}",
    '{"concat": ["a", {"hole": "run.id"}]}', "\\u007b\\u007brun.id}}", "${run.id}", "<base64(<run.id>)>",
    "{% raw %}{{run.id}}{% endraw %}", "{{ 7 * 7 }}", "{# x #}", "<launch.id>", "<wave.number>",
    "{{config.bucket}}",
)  # fmt: skip
PLACES = (
    "    resources: p\n"
    f"    run: {{argv: [{json.dumps(sys.executable)}, -c, {json.dumps(ECHO)}, "
    '"{{config.value}}", "{{config.outer}}"]}\n'
    '    outputs: [{uri: "s3://bkt/{{config.value}}"}]\n'
    "resources:\n"
    "  p:\n"
    "    cloud: kubernetes\n"
    '    kubernetes: {pod_config: {spec: {text: "{{config.value}}", list: ["{{config.value}}"]}}}\n'
)


# A shell variable may stand in a command and not in a pod config, whoever brings it in.
@pytest.mark.parametrize("text", [text for text in FORGERIES if "${" not in text])
def test_a_var_forges_nothing(text: str, tmp_path: Path) -> None:
    options = Options(vars={"value": text}, use_project=False)
    program = _program(PLACES, '  value: x\n  outer: "[{{config.value}}]"\n', options)
    data = canonical_bytes(program_to_json(program))
    assert b'"hole"' not in data.replace(b'\\"hole\\"', b"")
    task = _task(program, "real-run")
    assert json.loads(_output(task, tmp_path)) == [text, f"[{text}]"]
    assert task["config"]["kubernetes"]["pod_config"]["spec"] == {"text": text, "list": [text]}
    assert link_program(program, LinkRecord("real-run")).steps[0].outputs[0].uri == f"s3://bkt/{text}"


@pytest.mark.parametrize("text", [text for text in FORGERIES if "{{" not in text and "${" not in text])
def test_a_config_value_forges_nothing(text: str, tmp_path: Path) -> None:
    config = f'  value: {json.dumps(text)}\n  outer: "[{{{{config.value}}}}]"\n'
    task = _task(_program(PLACES, config), "real-run")
    assert json.loads(_output(task, tmp_path)) == [text, f"[{text}]"]


def test_a_value_is_never_read_twice() -> None:
    # Each of these would give the run id only if what was put in were read again.
    config = '  left: "{{{{run"\n  right: ".id}}"\n  joined: "{{config.left}}{{config.right}}"\n'
    body = '    run: {argv: [x, "{{config.joined}}", "{{config.left}}.id}}", "{{{{config.left}}}}"]}\n'
    linked = link_program(_program(body, config), LinkRecord("real-run"))
    assert linked.steps[0].argv == ("x", "{{run.id}}", "{{run.id}}", "{{config.left}}}}")


def test_names_that_look_like_holes_are_names() -> None:
    text = (
        "apiVersion: npa.workflow/v0.0.1\nkind: Workflow\nmetadata: {name: run.id}\n"
        "states:\n  run.id: {run: {argv: [a, '{{run.id}}']}, next: hole, outputs: [{uri: 's3://bkt/1'}]}\n"
        "  hole: {run: {argv: [b, '{{state.run.id.uri}}']}, terminal: true}\n"
    )
    program = compile("late.yaml", ALONE, data=text.encode()).program
    linked = link_program(program, LinkRecord("real-run"))
    assert [step.argv for step in linked.steps] == [("a", "real-run"), ("b", "s3://bkt/1")]
    assert [step.state for step in linked.steps] == ["run.id", "hole"]
    task = _task(program, "real-run")
    assert task["envs"]["NPA_WORKFLOW_NAME"] == "run.id" and task["envs"]["NPA_WORKFLOW_STATE"] == "run.id"
    for name in ("<run.id>", "{{run.id}}", "{hole: run.id}"):
        with pytest.raises(SpecError):
            compile("late.yaml", ALONE, data=text.replace("  hole:", f"  {json.dumps(name)}:").encode())


STRUCTURES = {
    "image": "p: {image: 'r.io/a:{{run.id}}'}",
    "accelerators": "p: {accelerators: '{{run.id}}'}",
    "num_nodes": "p: {num_nodes: '{{config.late}}'}",
    "cloud": "p: {cloud: '{{run.id}}'}",
    "cpus": "p: {cpus: '{{run.id}}'}",
    "region": "p: {region: 'r-{{run.id}}'}",
    "deployIfAbsent": "p: {deployIfAbsent: {a: '{{run.id}}'}}",
    "provision_timeout": "p: {kubernetes: {provision_timeout: '{{run.id}}'}}",
    "loop.max": "loop: {max: '{{config.late}}'}",
    "maxPolls": "trigger: {uri: 's3://bkt/x', maxPolls: '{{config.late}}'}",
}


@pytest.mark.parametrize("place", STRUCTURES)
def test_no_structure_waits_for_a_late_value(place: str) -> None:
    text = STRUCTURES[place]
    body = "    run: {argv: [x]}\n"
    body += f"    resources: p\nresources: {{{text}}}\n" if text.startswith("p:") else f"    {text}\n"
    with pytest.raises(SpecError) as caught:
        _program(body, '  late: "{{run.id}}"\n')
    codes = {item.code.id for item in caught.value.checked.findings if item.severity.word == "error"}
    assert codes == {"NPA219"}
