"""One realistic spec, and changes of it as they come up in reviews."""

from __future__ import annotations

from pathlib import Path

SPEC = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: refine-policy, executionMode: runtime}
config:
  bucket: robots
  rounds: 3
  seed: "7"
  folder: "s3://{{config.bucket}}/{{run.prefix}}"
resources:
  default: {cloud: kubernetes, cpus: 4}
  gpu: {cloud: kubernetes, accelerators: "A100:2", image: "registry.example/train:2"}
states:
  ingest:
    run: {argv: [python3, -m, acme.ingest, --seed, "{{config.seed}}"]}
    outputs: [{uri: "{{config.folder}}/raw/", schema: acme.raw.v1}]
    next: render
  render:
    parallel: [left, right]
    maxConcurrency: 1
    next: improve
  left:
    run: {argv: [python3, -m, acme.render, left, --seed, "{{config.seed}}"]}
    inputs: [{uri: "{{config.folder}}/raw/", schema: acme.raw.v1}]
    outputs: [{uri: "{{config.folder}}/left/", schema: acme.frames.v1}]
  right:
    run: {argv: [python3, -m, acme.render, right, --seed, "{{config.seed}}"]}
    inputs: [{uri: "{{config.folder}}/raw/", schema: acme.raw.v1}]
    outputs: [{uri: "{{config.folder}}/right/", schema: acme.frames.v1}]
  improve:
    loop: {max: "{{config.rounds}}", until: promote_checkpoint}
    sequence: [train, judge]
    next: route
  train:
    resources: gpu
    secrets: [WANDB_API_KEY]
    run: {argv: [python3, -m, acme.train, --round, "{{loop.improve}}", --lr, "0.1"]}
    outputs: [{uri: "{{config.folder}}/{{loop.improve}}/model/", schema: acme.model.v1}]
  judge:
    writesDecision: true
    run: {argv: [python3, -m, acme.judge, --least, "0.8", "{{state.train.uri}}"]}
    outputs: [{uri: "{{config.folder}}/{{loop.improve}}/decision.json", schema: acme.decision.v1}]
  route:
    params: {decision_uri: "{{config.folder}}/{{loop.improve}}/decision.json"}
    transitions: [{when: promote_checkpoint, goto: publish}]
    next: report
  publish:
    toolRef: acme.publish
    params: {model: "{{state.train.uri}}"}
    outputs: [{uri: "{{config.folder}}/published/", schema: acme.model.v1}]
    terminal: true
  report:
    run: {shell: "acme-report {{config.folder}}\\necho done\\n"}
    terminal: true
"""

CATALOG = """\
catalog: npac.catalog/v1
images:
  publish: registry.example/publish:1
tools:
  acme.publish:
    command: [acme, publish, "{{config.model}}"]
    image: publish
    env: {ACME_MODE: fast}
    requires:
      - {probe: "python:acme", install: "acme>=1"}
"""


def edited(text: str, edits: tuple[tuple[str, str], ...]) -> str:
    """Give ``text`` with each edit applied; an edit that finds nothing is a mistake of the test."""
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


def write(
    folder: Path, edits: tuple[tuple[str, str], ...], catalog: tuple[tuple[str, str], ...]
) -> tuple[Path, Path]:
    """Write the spec and its catalog, edited, to a folder and give both paths."""
    folder.mkdir()
    (folder / "refine.yaml").write_text(edited(SPEC, edits), encoding="utf-8")
    (folder / "tools.yaml").write_text(edited(CATALOG, catalog), encoding="utf-8")
    return folder / "refine.yaml", folder / "tools.yaml"
