"""Specs that the schema must refuse, each with the place of the fault and the word that tells it."""

from __future__ import annotations

from typing import Any

HEAD: dict[str, Any] = {
    "apiVersion": "npa.workflow/v0.0.1",
    "kind": "Workflow",
    "metadata": {"name": "example"},
}
WORK: dict[str, Any] = {"run": {"argv": ["echo", "hello"]}}


def spec(states: Any = None, **more: Any) -> dict[str, Any]:
    """Give a spec as data: sound but for what is given."""
    given = {"only": {**WORK, "terminal": True}} if states is None else states
    return {**HEAD, "states": given, **more}


def one(**keys: Any) -> dict[str, Any]:
    """Give a spec whose only state has these keys."""
    return spec({"only": {**keys, "terminal": True}})


def profile(**keys: Any) -> dict[str, Any]:
    """Give a spec whose only state runs on a profile with these keys."""
    return spec({"only": {**WORK, "resources": "box", "terminal": True}}, resources={"box": keys})


def without(key: str) -> dict[str, Any]:
    """Give a sound spec without one of its top-level keys."""
    return {name: value for name, value in spec().items() if name != key}


PAIR = {"a": WORK, "b": WORK}

BAD: dict[str, dict[str, Any]] = {
    "no apiVersion": without("apiVersion"),
    "no kind": without("kind"),
    "no metadata": without("metadata"),
    "no states": without("states"),
    "another language": spec(apiVersion="argoproj.io/v1alpha1"),
    "another kind": spec(kind="Job"),
    "an unknown key at the top": spec(stages={}),
    "no name": spec(metadata={}),
    "a name that leaves its folder": spec(metadata={"name": "../other"}),
    "a token in the name": spec(metadata={"name": "{{config.name}}"}),
    "a misspelt key of metadata": spec(metadata={"name": "x", "descripton": "y"}),
    "another execution mode": spec(metadata={"name": "x", "executionMode": "fast"}),
    "labels as a list": spec(metadata={"name": "x", "labels": ["a"]}),
    "config as a list": spec(config=["a"]),
    "a switch that is neither": spec(config={"require_baked_npa": "maybe"}),
    "a reserved run key": spec(run={"id": "mine"}),
    "a token in run": spec(run={"team": "{{config.team}}"}),
    "states empty": spec({}),
    "states as an empty list": spec([]),
    "a listed state without a name": spec([{**WORK, "terminal": True}]),
    "a listed state with an unknown key": spec([{"name": "a", **WORK, "terminal": True, "retries": 3}]),
    "a listed state with two commands": spec([{"name": "a", **WORK, "toolRef": "t", "terminal": True}]),
    "a state that is nothing": spec({"a": None, "b": {"terminal": True}}),
    "a state's name with a blank": spec({"a b": {**WORK, "terminal": True}}),
    "a misspelt key": one(**WORK, resource="gpu"),
    "a key in another case": spec({"a": {**WORK, "Terminal": True}}),
    "two commands": one(**WORK, toolRef="workbench.tool"),
    "two commands, one in the old spelling": one(**WORK, tool_ref="workbench.tool"),
    "both spellings": one(toolRef="workbench.tool", tool_ref="workbench.tool"),
    "shell and argv": one(run={"shell": "echo", "argv": ["echo"]}),
    "no command": one(run={}),
    "an empty script": one(run={"shell": "  "}),
    "argv as text": one(run={"argv": "echo hello"}),
    "argv empty": one(run={"argv": []}),
    "argv with a null": one(run={"argv": ["echo", None]}),
    "nothing to do": spec({"a": {"description": "does nothing"}, "b": {"terminal": True}}),
    "inputs without work": spec({"a": {"inputs": [{"uri": "s3://bkt/x"}], "terminal": True}}),
    "a trigger without work": spec({"a": {"trigger": {"uri": "s3://bkt/x"}, "terminal": True}}),
    "a sequence that runs": spec({"g": {"sequence": ["a"], **WORK, "terminal": True}, "a": WORK}),
    "a sequence with inputs": spec({"g": {"sequence": ["a"], "inputs": [], "terminal": True}, "a": WORK}),
    "a sequence that is empty": spec({"g": {"sequence": [], "terminal": True}}),
    "a sequence with a member twice": spec({"g": {"sequence": ["a", "a"], "terminal": True}, "a": WORK}),
    "two kinds of group": spec({"g": {"sequence": ["a"], "parallel": ["a", "b"], "terminal": True}, **PAIR}),
    "a group of one": spec({"g": {"parallel": ["a"], "next": "e"}, "a": WORK, "e": {"terminal": True}}),
    "a terminal parallel group": spec({"g": {"parallel": ["a", "b"], "terminal": True}, **PAIR}),
    "a loop on a parallel group": spec(
        {"g": {"parallel": ["a", "b"], "loop": {"max": 2}, "next": "e"}, **PAIR, "e": {"terminal": True}}
    ),
    "too many at one time": spec(
        {"g": {"parallel": ["a", "b"], "maxConcurrency": 65, "next": "e"}, **PAIR, "e": {"terminal": True}}
    ),
    "a parallel key on a leaf": one(**WORK, maxConcurrency=2),
    "a loop without max": one(**WORK, loop={"until": "promote_checkpoint"}),
    "a loop of none": one(**WORK, loop={"max": 0}),
    "a loop of minus one": one(**WORK, loop={"max": -1}),
    "a loop of a half": one(**WORK, loop={"max": 1.5}),
    "a loop of words": one(**WORK, loop={"max": "three"}),
    "an unknown decision": one(**WORK, loop={"max": 2, "until": "promote_checkpont"}),
    "a transition to nowhere": spec(
        {"a": {**WORK, "transitions": [{"when": "loop_back"}], "next": "e"}, "e": {"terminal": True}}
    ),
    "a transition with an expression": spec(
        {"a": {**WORK, "transitions": [{"if": "x == 1", "goto": "e"}], "next": "e"}, "e": {"terminal": True}}
    ),
    "a terminal with next": spec({"a": {**WORK, "terminal": True, "next": "b"}, "b": {"terminal": True}}),
    "a terminal with transitions": spec(
        {"a": {**WORK, "terminal": True, "transitions": [{"goto": "b"}]}, "b": {"terminal": True}}
    ),
    "terminal as text": spec({"a": {**WORK, "terminal": "false"}, "b": {"terminal": True}}),
    "needs as text": one(**WORK, needs="ab"),
    "a token in needs": one(**WORK, needs=["{{config.x}}"]),
    "outputs as a mapping": one(**WORK, outputs={"uri": "s3://bkt/x"}),
    "an output as text": one(**WORK, outputs=["s3://bkt/x"]),
    "an output without uri": one(**WORK, outputs=[{"schema": "a.v1"}]),
    "an output of another kind": one(**WORK, outputs=[{"uri": "s3://bkt/x", "kind": "folder"}]),
    "a trigger without uri": one(**WORK, trigger={"minObjects": 2}),
    "a trigger that never waits": one(**WORK, trigger={"uri": "s3://bkt/x", "pollSeconds": 0}),
    "a param that is a list": one(**WORK, params={"x": [1]}),
    "a secret with its value": one(**WORK, secrets={"TOKEN": "x"}),
    "a secret that is no variable": one(**WORK, secrets=["hf-token"]),
    "another mode of nodes": one(**WORK, multiNodeMode="shared"),
    "a misspelt key of a profile": profile(acclerators="H100"),
    "a count without its colon": profile(accelerators="H100 8"),
    "no accelerators at all": profile(accelerators={"H100": 0}),
    "negative cpus": profile(cpus=-4),
    "memory in words": profile(memory="lots"),
    "too many nodes": profile(num_nodes=33),
    "spot as text": profile(use_spot="sometimes"),
    "a shell variable": profile(region="${REGION}"),
    "a misspelt key of kubernetes": profile(kubernetes={"pod_configs": {}}),
    "a pod as text": profile(kubernetes={"pod_config": "spec"}),
}

GOOD: dict[str, dict[str, Any]] = {
    "the shortest": spec(),
    "states as a list": spec([{"name": "a", **WORK, "next": "b"}, {"name": "b", "terminal": True}]),
    "names that look like numbers": spec({"1": {**WORK, "next": 2}, "2": {"terminal": True}}),
    "the author's own keys": spec(
        {"a": {**WORK, "terminal": True, "x-why": [1]}}, **{"x-anchors": {"any": ["thing"]}}
    ),
    "an empty next": spec({"a": {**WORK, "next": ""}, "b": {"terminal": True}}, initial="b"),
    "an old spelling": one(
        **WORK, outputs=[{"uri": "s3://bkt/d", "schema": "a.decision.v1"}], writes_decision=True
    ),
    "counts from config": spec(
        {
            "g": {"parallel": ["a", "b"], "maxConcurrency": "{{ config.n }}", "next": "e"},
            **PAIR,
            "e": {**WORK, "loop": {"max": "config.n"}, "terminal": True},
        },
        config={"n": "2"},
    ),
    "an empty config": spec(config=None),
    "a profile with everything": profile(
        cloud="kubernetes",
        region="{{config.region}}",
        accelerators={"H100": 8},
        cpus="16+",
        memory="64Gi",
        disk_size=256,
        use_spot=False,
        image="docker.io/library/python:3.12",
        num_nodes=1,
        kubernetes={"pod_config": {"spec": {}}, "provision_timeout": 600},
    )
    | {"config": {"region": "here"}},
    "a group and its members": spec(
        {
            "g": {
                "sequence": ["a", "p"],
                "loop": {"max": 2},
                "outputs": [{"uri": "s3://bkt/o"}],
                "next": "e",
            },
            "a": WORK,
            "p": {"parallel": ["m", "n"], "parallelCount": 2, "groupRetry": "all"},
            "m": WORK,
            "n": WORK,
            "e": {"terminal": True},
        }
    ),
}
