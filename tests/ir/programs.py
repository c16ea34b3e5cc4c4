"""Programs made by hand for tests."""

from __future__ import annotations

from typing import Any

from npac.ir.program import (
    Artifact,
    Baked,
    End,
    Gate,
    GroupOutputs,
    Member,
    Program,
    Step,
    ToolSetup,
    Trigger,
    Wave,
)
from npac.ir.values import RUN_ID, Value, apply, concat

DIGEST = "sha256:" + "ab" * 32
BAKED_IMAGE = f"registry.example/team/baked@{DIGEST}"
SOURCE_SHA = "0123456789abcdef0123456789abcdef01234567"


def at(*parts: str) -> Value:
    """Give ``s3://bucket/<run.id>/part/part``."""
    return concat(["s3://bucket/", RUN_ID, "".join(f"/{part}" for part in parts)])


def single(**changes: Any) -> Program:
    """Give a program of one wave of one step; ``changes`` go to the step."""
    values: dict[str, Any] = {"state": "only", "argv": ("true",), **changes}
    wave = Wave("only", 1, (Member(0),), ((0,),), "end")
    return Program("single", "only", (Step(**values),), (wave, End("end")))


def chain(*steps: Step, workflow: str = "chain") -> Program:
    """Give a program that runs ``steps`` one after the other."""
    waves = tuple(
        Wave(step.state, place + 1, (Member(place),), ((0,),), following)
        for place, (step, following) in enumerate(
            zip(steps, [*(step.state for step in steps[1:]), "end"], strict=True)
        )
    )
    return Program(workflow, steps[0].state, steps, (*waves, End("end")))


def group(*steps: Step, size: int = 0, name: str = "fan") -> Program:
    """Give a program of one parallel group, cut into batches of ``size``."""
    size = size or len(steps)
    everyone = range(len(steps))
    batches = tuple(tuple(everyone[start : start + size]) for start in range(0, len(steps), size))
    members = tuple(Member(place, loop_label=name) for place in everyone)
    wave = Wave(name, 1, members, batches, "end", group=name, max_concurrency=size)
    return Program("grouped", name, steps, (wave, End("end")))


def everything() -> Program:
    """Give a program with every feature that a program has, holes wherever they may stand."""
    prepare = Step(
        state="prepare",
        argv=("python3", "prepare.py", "--out", at("data"), concat(["x", apply("base64", RUN_ID)])),
        resources="cpu",
        profile={"cloud": "kubernetes", "cpus": 2, "memory": "4Gi", "disk_size": 512},
        outputs=(Artifact(at("data/"), "dataset", "directory"),),
    )
    shards = tuple(
        Step(
            state=f"shard-{index}",
            shell=concat(["echo ", apply("sh", RUN_ID), f" {index} > out"]),
            resources="gpu",
            profile={
                "cloud": "kubernetes",
                "accelerators": "H100:2",
                "cpus": "16",
                "memory": "64Gi",
                "kubernetes": {
                    "provision_timeout": 2400,
                    "pod_config": {
                        "metadata": {"labels": {"team/run": concat(["r-", RUN_ID])}},
                        "spec": {
                            "containers": [
                                {"name": "ray-node", "env": [{"name": "XDG_CACHE_HOME", "value": "/c"}]}
                            ],
                            "weight": 1.0,
                            "hole": "run.id",
                        },
                    },
                },
            },
            image="registry.example/team/sim:1",
            inputs=(Artifact(at("data/"), "dataset", "directory", "directory"),),
            outputs=(Artifact(at("shards", f"{index}.json")),),
            secrets=("HF_TOKEN",),
            env={"ACCEPT_EULA": "Y", "OUT": at("shards")},
        )
        for index in range(5)
    )
    train = Step(
        state="train",
        argv=("npa", "train"),
        tool_ref="workbench.sim.train",
        profile={"cloud": "aws", "region": "eu-north-1", "cpus": "8.5", "memory": "32G", "disk_size": 100},
        num_nodes=4,
        image="registry.example/team/train:2",
        outputs=(Artifact(at("model")),),
        setup=ToolSetup(
            ("/opt/tool/bin/python",), "viz", (("python:av", "av>=12"), ("ffmpeg", "static-ffmpeg"))
        ),
    )
    judge = Step(
        state="judge",
        argv=("python3", "-m", "npa.judge"),
        profile={"cloud": "kubernetes", "use_spot": True},
        image=BAKED_IMAGE,
        outputs=(Artifact(at("decision.json"), "decision"),),
        writes_decision=True,
        decision_uri=at("decision.json"),
        baked=Baked(SOURCE_SHA, "npa.judge"),
    )
    report = Step(
        state="report",
        shell="report",
        image="registry.example/team/report:3",
        outputs=(Artifact(at("report.html")),),
        source_overlay=True,
    )
    steps = (prepare, *shards, train, judge, report)
    nodes: list[Wave | Gate | End] = [
        Wave(
            "prepare",
            1,
            (Member(0),),
            ((0,),),
            "fan",
            triggers=(Trigger("prepare", at("inbox/"), 5, 10, 2),),
        ),
        Wave(
            "fan",
            2,
            tuple(Member(1 + index, loop_label="fan") for index in range(5)),
            ((0, 1), (2, 3), (4,)),
            "loop[1]/train",
            group="fan",
            max_concurrency=2,
            outputs=(Artifact(at("shards/"), kind="directory"),),
            group_retry_all=True,
        ),
    ]
    for iteration in (1, 2):
        last = iteration == 2
        loops = {"loop": iteration, "a-inner": 1}
        nodes += [
            Wave(
                f"loop[{iteration}]/train",
                1 + 2 * iteration,
                (Member(6, loop_label="loop"),),
                ((0,),),
                f"loop[{iteration}]/judge",
                loops=loops,
                opens=(GroupOutputs("loop", (Artifact(at("model")),)),),
            ),
            Wave(
                f"loop[{iteration}]/judge",
                2 + 2 * iteration,
                (Member(7, iteration=iteration, loop_label="loop"),),
                ((0,),),
                f"loop[{iteration}]/gate",
                loops=loops,
            ),
            Gate(
                f"loop[{iteration}]/gate",
                "loop",
                "until",
                at("decision.json"),
                "report",
                "report" if last else "loop[2]/train",
                ("judge",),
                loops=loops,
                checks=(GroupOutputs("loop", (Artifact(at("model")),)),),
            ),
        ]
    nodes += [Wave("report", 7, (Member(8),), ((0,),), "end"), End("end")]
    return Program(
        "everything", "prepare", steps, tuple(nodes), execution_mode="runtime", default_assumption="loop_back"
    )
