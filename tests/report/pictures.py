"""Specs for tests of plans and drawings, and what is drawn for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from npac.api import Planned, planned
from npac.report.drawing import Drawing
from npac.report.folded import fold
from npac.report.outline import outline
from npac.report.unrolled import unroll

LATE = {"run.id": "r1"}

MIXED = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: mixed, executionMode: runtime}
config: {bucket: bkt, decision_uri: "s3://bkt/{{run.id}}/d.json"}
resources:
  default: {cloud: kubernetes, cpus: 4}
  gpu: {cloud: kubernetes, cpus: 8, accelerators: "H100:8"}
initial: ingest
states:
  ingest:
    description: 'Reads <everything> & "more"'
    run: {argv: [echo, ingest]}
    secrets: [HF_TOKEN]
    writesDecision: true
    inputs: [{uri: "s3://lake/raw/", schema: raw.v1}]
    outputs: [{uri: "s3://bkt/{{run.id}}/d.json", schema: x.decision.v1}]
    transitions: [{when: promote_checkpoint, goto: fan}, {when: loop_back, goto: repair}]
  repair: {run: {argv: [echo, repair]}, secrets: [HF_TOKEN, API_KEY], next: check-repair}
  check-repair:
    transitions: [{when: promote_checkpoint, goto: fan}, {when: loop_back, goto: abandoned}]
  abandoned: {terminal: true}
  fan: {parallel: [m1, m2, m3, m4, m5], maxConcurrency: 2, next: train}
  m1: {run: {argv: [echo, "1"]}, resources: gpu}
  m2: {run: {argv: [echo, "2"]}, resources: gpu}
  m3: {run: {argv: [echo, "3"]}, resources: gpu}
  m4: {run: {argv: [echo, "4"]}}
  m5: {run: {argv: [echo, "5"]}}
  train: {sequence: [warm, inner], loop: {max: 2}, next: pick}
  warm: {run: {argv: [echo, warm]}, loop: {max: 4}}
  inner: {sequence: [fit, judge], loop: {max: 3, until: promote_checkpoint}}
  fit:
    run: {shell: "echo {{loop.train}} {{loop.inner}}"}
    resources: gpu
    outputs: [{uri: "s3://bkt/{{run.id}}/fit/{{loop.train}}-{{loop.inner}}/", schema: fit.v1}]
  judge:
    run: {argv: [echo, j]}
    writesDecision: true
    inputs: [{uri: "s3://bkt/{{run.id}}/fit/", schema: fit.v1}]
    outputs: [{uri: "s3://bkt/{{run.id}}/d.json", schema: x.decision.v1}]
  pick:
    transitions: [{when: promote_checkpoint, goto: publish}, {when: loop_back, goto: second}]
  second:
    transitions: [{when: promote_checkpoint, goto: archive}, {when: loop_back, goto: rejected}]
  archive: {run: {argv: [echo, a]}, next: report}
  publish: {run: {argv: [echo, p]}, next: notify}
  notify: {run: {argv: [echo, n]}, next: report}
  report: {run: {argv: [echo, r]}, terminal: true}
  rejected: {terminal: true}
  forgotten: {run: {argv: [echo, f]}, terminal: true}
"""
"""Gates that rejoin, a router, ends without work, batches, a loop on a leaf, a loop as a loop's last part."""


def gated(loops: int, rounds: int) -> str:
    """Give a spec of gated loops in a row whose every step uses all counters so far."""
    lines = [
        "apiVersion: npa.workflow/v0.0.1",
        "kind: Workflow",
        "metadata: {name: gated}",
        "initial: loop-1",
        "states:",
    ]
    for at in range(1, loops + 1):
        counters = " ".join(f"{{{{loop.loop-{other}}}}}" for other in range(1, at + 1))
        lines += [
            f"  loop-{at}:",
            f"    sequence: [work-{at}]",
            f"    loop: {{max: {rounds}, until: promote_checkpoint}}",
            f"    next: {f'loop-{at + 1}' if at < loops else 'tail'}",
            f"  work-{at}:",
            f"    run: {{shell: 'echo {counters}'}}",
            "    writesDecision: true",
            f"    outputs: [{{uri: 's3://bkt/{{{{run.id}}}}/d{at}.json', schema: decision}}]",
        ]
    counters = " ".join(f"{{{{loop.loop-{other}}}}}" for other in range(1, loops + 1))
    lines += ["  tail:", f"    run: {{shell: 'echo {counters}'}}", "    terminal: true"]
    return "\n".join(lines) + "\n"


def plan_of(
    spec: str | Path,
    *,
    assume: str | None = None,
    decide: Mapping[str, Sequence[str]] | None = None,
) -> Planned:
    """Plan a spec given as text or as a path."""
    if isinstance(spec, Path):
        return planned(spec, run_id="r1", assume=assume, decide=decide)
    return planned("spec.yaml", run_id="r1", assume=assume, decide=decide, data=spec.encode())


def folded(spec: str | Path, **choice: object) -> Drawing:
    """Draw a spec's flow."""
    item = plan_of(spec, **choice)  # type: ignore[arg-type]
    flow = item.checked.unit.flow if item.checked and item.checked.unit else None
    return fold(item.program, LATE, outline(flow), item.path)


def unrolled(spec: str | Path, **choice: object) -> Drawing:
    """Draw a spec's program."""
    item = plan_of(spec, **choice)  # type: ignore[arg-type]
    flow = item.checked.unit.flow if item.checked and item.checked.unit else None
    return unroll(item.program, LATE, outline(flow), item.path)
