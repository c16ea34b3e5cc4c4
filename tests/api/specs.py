"""Texts of specs for the tests of the API and the command line."""

from __future__ import annotations

HEAD = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: sample, executionMode: runtime}
"""

GOOD = (
    HEAD
    + """\
config:
  word: hello
  decision_uri: "s3://bbb/{{run.id}}/decision.json"
states:
  greet: {run: {argv: [echo, "{{config.word}}"]}, next: refine}
  refine: {sequence: [judge], loop: {max: 3, until: promote_checkpoint}, next: done}
  judge:
    run: {argv: [judge, "{{loop.refine}}", "{{run.id}}"]}
    writesDecision: true
    outputs: [{uri: "{{config.decision_uri}}", schema: decision.v1}]
  done: {terminal: true}
"""
)

BROKEN = GOOD.replace("next: refine", "next: refnie")

WARNED = GOOD.replace("  done: {terminal: true}", "  done: {terminal: true}\n  lost: {terminal: true}")
"""Nothing leads to one of its states: a warning."""

RAW = "name: raw-task\nresources: {cloud: kubernetes}\nrun: echo hello\n"

PLAIN = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: plain}
states:
  only: {run: {argv: [echo, hello]}, terminal: true}
"""
"""A spec about which there is nothing to say."""


def running(folder: str) -> str:
    """Give a spec that runs anywhere: its second iteration promotes; artifacts are below ``folder``."""
    return (
        HEAD
        + f"""\
config:
  root: "file://{folder}/{{{{run.id}}}}"
  decision_uri: "{{{{config.root}}}}/decision.json"
states:
  refine: {{sequence: [judge], loop: {{max: 5, until: promote_checkpoint}}, next: done}}
  judge:
    run:
      argv:
        - python3
        - -c
        - |
          import json, pathlib, sys
          place = pathlib.Path(sys.argv[1])
          place.parent.mkdir(parents=True, exist_ok=True)
          word = "promote_checkpoint" if sys.argv[2] == "2" else "loop_back"
          place.write_text(json.dumps({{"decision": word, "iteration": sys.argv[2]}}))
        - "{folder}/{{{{run.id}}}}/decision.json"
        - "{{{{loop.refine}}}}"
    writesDecision: true
    outputs: [{{uri: "{{{{config.decision_uri}}}}", schema: decision.v1}}]
  done: {{terminal: true}}
"""
    )
