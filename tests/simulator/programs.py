"""What is run in the simulated world: programs, how their jobs behave, and how such a run must end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from npac.ir.program import Artifact, End, Gate, Node, Program, Step, Trigger, Wave
from npac.runtime.options import RunOptions
from npac.runtime.world import LaunchValues
from tests.runtime.programs import chain, parallel, serial, step

BUCKET = "s3://sim/run"


def uri(name: str) -> str:
    """Give the URI of an artifact."""
    return f"{BUCKET}/{name}"


def always(how: str) -> Callable[[str, int, int], str]:
    """Let every job behave in one way."""
    return lambda node, member, attempt: how


@dataclass(frozen=True)
class Play:
    """One program and the world that it meets."""

    program: Program
    ends: str
    """The state in which a run ends that meets no fault, or only drivers that are killed."""
    behaviour: Callable[[str, int, int], str] = field(default_factory=lambda: always("ok"))
    """(node, member, attempt) to what its job does: ``ok``, ``long`` (the same, in an hour or so), ``fail``,
    ``silent`` (succeeds and writes nothing), ``empty``, ``infra``, ``infra-after-writing``, ``hang``."""
    options: RunOptions = field(default_factory=lambda: RunOptions(poll_seconds=5.0))
    decisions: Mapping[str, str] = field(default_factory=dict)
    """Node to the decision that its job writes."""
    before: Sequence[str] = ()
    """URIs that hold something old when the run begins."""
    arrivals: Sequence[tuple[float, str]] = ()
    """When objects come from elsewhere, in seconds, and their URIs."""

    def render(self, wave: Wave, members: tuple[int, ...], values: LaunchValues) -> list[dict[str, Any]]:
        """Give documents of one launch, which say what its simulated job is to write."""
        tasks = []
        for member in members:
            made = self.program.steps[wave.members[member].step]
            writes = []
            for artifact in made.outputs:
                place = str(artifact.uri) + ("part-0" if artifact.kind == "directory" else "")
                says = json.dumps({"decision": self.decisions.get(wave.id, "")})
                writes.append((place, says.encode() if made.writes_decision else wave.id.encode()))
            tasks.append(
                {
                    "name": f"{made.state}-{member}",
                    "envs": {"NPA_WORKFLOW_ATTEMPT_ID": values.launch_id},
                    "sim": {
                        "node": wave.id,
                        "member": member,
                        "attempt": values.attempt,
                        "writes": writes,
                    },
                }
            )
        return tasks if len(tasks) == 1 else [{"name": values.name, "execution": "parallel"}, *tasks]


def _one(**more: Any) -> Program:
    return chain(step("train", "true", [uri("model")], **more), workflow="one")


def _three() -> Program:
    return chain(
        step("fetch", "true", [uri("raw")]),
        step("train", "true", [uri("model"), uri("logs/")], inputs=(Artifact(uri("raw")),)),
        step("eval", "true", [uri("report")], inputs=(Artifact(uri("model")),)),
        workflow="three",
    )


def _loop(iterations: int) -> Program:
    """Give a loop that writes to the same URIs in each iteration, and a last wave."""
    steps: list[Step] = []
    nodes: list[Node] = []
    for turn in range(1, iterations + 1):
        at = 2 * turn
        decision = uri("decision.json")
        steps += [
            step("train", "true", [uri("model")]),
            step("judge", "true", [decision], writes_decision=True, decision_uri=decision),
        ]
        following = f"loop[{turn + 1}]/train" if turn < iterations else "publish"
        loops = {"loop": turn}
        nodes += [
            serial(at - 1, f"loop[{turn}]/train", at - 2, f"loop[{turn}]/judge", loops=loops),
            serial(at, f"loop[{turn}]/judge", at - 1, f"loop[{turn}]/gate", loops=loops),
            Gate(
                f"loop[{turn}]/gate",
                "loop",
                "until",
                decision,
                "publish",
                following,
                ("judge",),
                loops=loops,
            ),
        ]
    steps.append(step("publish", "true", [uri("published")]))
    nodes += [serial(2 * iterations + 1, "publish", 2 * iterations, "end"), End("end")]
    return Program("loop", "loop[1]/train", tuple(steps), tuple(nodes))


def _group(*, retry_all: bool = False) -> Program:
    """Give a group of three members in two batches, and a wave after it."""
    steps = (
        *(step(name, "true", [uri(f"group/{name}")]) for name in ("north", "east", "west")),
        step("merge", "true", [uri("merged")]),
    )
    wave = parallel(1, "sweep", [0, 1, 2], 2, "merge", group_retry_all=retry_all)
    return Program("group", "sweep", steps, (wave, serial(2, "merge", 3, "end"), End("end")))


def _trigger() -> Program:
    """Give a wave that waits for two objects, and one behind it."""
    steps = (step("ingest", "true", [uri("table")]), step("eval", "true", [uri("report")]))
    awaited = Trigger("ingest", uri("inbox/"), poll_seconds=20, min_objects=2)
    nodes = (serial(1, "ingest", 0, "eval", triggers=(awaited,)), serial(2, "eval", 1, "end"), End("end"))
    return Program("trigger", "ingest", steps, nodes)


def _first_time(how: str, *nodes: str) -> Callable[[str, int, int], str]:
    """Let the jobs of some nodes behave in one way the first time, and well afterwards."""
    return lambda node, member, attempt: how if attempt == 1 and node in nodes else "ok"


def _options(**more: Any) -> RunOptions:
    return RunOptions(**{"poll_seconds": 5.0, **more})


PLAYS: dict[str, Play] = {
    "one": Play(_one(), "succeeded"),
    "long": Play(_one(), "succeeded", always("long"), _options(poll_seconds=30.0)),
    "old": Play(_one(), "succeeded", before=(uri("model"),)),
    "silent": Play(_one(), "failed", always("silent"), before=(uri("model"),)),
    "empty": Play(_one(), "failed", always("empty")),
    "fails": Play(_one(), "failed", always("fail"), _options(retries=1)),
    "flaky": Play(_one(), "succeeded", _first_time("fail", "train"), _options(retries=1)),
    "infra": Play(_one(), "succeeded", _first_time("infra", "train")),
    "touched": Play(_one(), "blocked", _first_time("infra-after-writing", "train")),
    "hangs": Play(_one(), "failed", always("hang"), _options(max_wait=120.0)),
    "three": Play(_three(), "succeeded", before=(uri("raw"), uri("report"))),
    "loop": Play(
        _loop(3),
        "succeeded",
        decisions={"loop[1]/judge": "loop_back", "loop[2]/judge": "promote_checkpoint"},
        before=(uri("decision.json"),),
    ),
    "lazy-judge": Play(
        _loop(3),
        "failed",
        lambda node, member, attempt: "silent" if node == "loop[2]/judge" else "ok",
        decisions={"loop[1]/judge": "loop_back"},
    ),
    "garbled": Play(_loop(2), "failed", decisions={"loop[1]/judge": "perhaps"}),
    "group": Play(
        _group(),
        "succeeded",
        lambda node, member, attempt: "fail" if (node, member, attempt) == ("sweep", 1, 1) else "ok",
        _options(retries=1),
    ),
    "all-again": Play(
        _group(retry_all=True),
        "succeeded",
        lambda node, member, attempt: "fail" if (node, member, attempt) == ("sweep", 2, 1) else "ok",
        _options(retries=1),
    ),
    "trigger": Play(_trigger(), "succeeded", arrivals=((30.0, uri("inbox/a")), (170.0, uri("inbox/b")))),
}
