"""Programs built by hand, and everything a driver needs to run them on the embedded engine."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from npac.backends.skypilot import documents
from npac.engines.local.engine import LocalEngine
from npac.ir.linking import LinkRecord
from npac.ir.program import Artifact, End, Gate, Member, Node, Program, Step, Wave
from npac.ledger.root import LedgerRoot
from npac.ledger.sqlite import SqliteLedger
from npac.ledger.stores import store_for
from npac.runtime import api
from npac.runtime.progress import Silent
from npac.runtime.view import DecisionView, LaunchView, RunView, WaveView


def step(state: str, shell: str, outputs: Iterable[str] = (), **more: Any) -> Step:
    """Give a step that runs ``shell`` and declares ``outputs``; a trailing slash is a directory."""
    artifacts = tuple(Artifact(uri, kind="directory" if uri.endswith("/") else "file") for uri in outputs)
    return Step(state, shell=shell, outputs=artifacts, **more)


def serial(number: int, node: str, at: int, following: str, **more: Any) -> Wave:
    """Give a wave of one step."""
    return Wave(node, number, (Member(at),), ((0,),), following, **more)


def parallel(number: int, group: str, steps: Sequence[int], width: int, following: str, **more: Any) -> Wave:
    """Give a wave of several steps in batches of ``width``."""
    members = tuple(Member(each) for each in steps)
    places = range(len(steps))
    batches = tuple(tuple(places[at : at + width]) for at in range(0, len(steps), width))
    return Wave(group, number, members, batches, following, group=group, max_concurrency=width, **more)


def chain(*steps: Step, workflow: str = "chain") -> Program:
    """Give a program that runs steps one after the other."""
    ids = [s.state for s in steps] + ["end"]
    waves = [serial(at + 1, s.state, at, ids[at + 1]) for at, s in enumerate(steps)]
    return Program(workflow, ids[0], tuple(steps), (*waves, End("end")))


@dataclass
class Watcher(Silent):
    """Takes down what a driver tells."""

    lines: list[str] = field(default_factory=list)
    on_job: Callable[[WaveView, LaunchView], None] | None = None

    def wave_started(self, wave: WaveView) -> None:
        self.lines.append(f"start {wave.node} {wave.last.number}")

    def wave_ended(self, wave: WaveView) -> None:
        self.lines.append(f"end {wave.node} {wave.state}")

    def job_changed(self, wave: WaveView, launch: LaunchView) -> None:
        if self.on_job is not None:
            self.on_job(wave, launch)

    def gate_read(self, decision: DecisionView) -> None:
        self.lines.append(f"gate {decision.node} {decision.decision}")

    def note(self, message: str) -> None:
        self.lines.append(f"note {message}")


@dataclass
class Bench:
    """A folder with a ledger root, an engine and a place for artifacts."""

    root: Path

    @property
    def work(self) -> Path:
        """Where commands write; made when it is first asked for."""
        place = self.root / "work"
        place.mkdir(exist_ok=True)
        return place

    def uri(self, name: str) -> str:
        """Give the URI of an artifact."""
        return f"file://{self.work}/{name}"

    def count(self, name: str) -> str:
        """Give a line of shell that leaves a trace of having been run."""
        return f"echo {name} >> {self.work}/trace"

    def trace(self) -> list[str]:
        """Give the traces that commands have left, in order."""
        place = self.work / "trace"
        return place.read_text().split() if place.exists() else []

    def engine(self) -> LocalEngine:
        """Open the engine."""
        return LocalEngine(self.root / "engine", slots=4)

    def ledgers(self) -> LedgerRoot:
        """Open the ledger root."""
        return LedgerRoot(str(self.root / "ledger"))

    def world(self, program: Program, link: LinkRecord, **more: Any) -> api.World:
        """Give the real world for one program."""
        more.setdefault("engine", self.engine())
        return api.World(store_for=store_for, render=renderer(program, link), **more)

    def start(
        self,
        program: Program,
        options: api.RunOptions | None = None,
        *,
        run_id: str = "run",
        **more: Any,
    ) -> api.RunResult:
        """Start a run."""
        ledger = self.ledgers().create(run_id)
        link = LinkRecord(run_id, run_uid=secrets.token_hex(16))
        try:
            return api.start_run(
                ledger,
                self.world(program, link, **more),
                program,
                link,
                options,
                others=lambda: self.others(run_id),
            )
        finally:
            ledger.close()

    def others(self, run_id: str) -> list[SqliteLedger]:
        """Give the ledgers of all other runs."""
        root = self.ledgers()
        return [root.open(other) for other in root.runs() if other != run_id]

    def resume(
        self, options: api.RunOptions | None = None, *, run_id: str = "run", **more: Any
    ) -> api.RunResult:
        """Go on with a run."""
        ledger = self.ledgers().open(run_id)
        stored = api.load(ledger)
        compare = {key: more.pop(key) for key in ("program", "link") if key in more}
        try:
            world = self.world(stored.program, stored.link, **more)
            return api.resume_run(ledger, world, options, **compare)
        finally:
            ledger.close()

    def view(self, run_id: str = "run") -> RunView:
        """Give the view of a run."""
        return api.run_view(self.ledgers().open(run_id))

    def events(self, kind: str, run_id: str = "run") -> list[Mapping[str, Any]]:
        """Give the data of all events of one type."""
        return [e.data for e in self.ledgers().open(run_id).events() if e.type == kind]


def renderer(program: Program, link: LinkRecord) -> api.Render:
    """Give the real back end as what a driver calls."""

    def render(wave: Wave, members: tuple[int, ...], values: api.LaunchValues) -> list[dict[str, Any]]:
        trees = documents.unlinked(program, replace(wave, batches=(members,)), 0)
        late = documents.LaunchValues(values.attempt, 1, values.launch_id, values.number)
        return documents.link_documents(trees, link, late)

    return render


def gate_loop(bench: Bench, iterations: int, promote_at: int) -> Program:
    """Give a training loop of at most ``iterations`` that promotes in iteration ``promote_at``."""
    decision = bench.uri("decision.json")
    steps: list[Step] = []
    nodes: list[Node] = []
    for turn in range(1, iterations + 1):
        says = "promote_checkpoint" if turn >= promote_at else "loop_back"
        answer = json.dumps({"decision": says})
        steps.append(
            step(
                "train", f"{bench.count(f'train{turn}')}; date +%N > {bench.work}/model", [bench.uri("model")]
            )
        )
        steps.append(
            step(
                "judge",
                f"{bench.count(f'judge{turn}')}; echo '{answer}' > {bench.work}/decision.json",
                [decision],
                writes_decision=True,
                decision_uri=decision,
            )
        )
        at = 2 * turn
        train, judge = f"loop[{turn}]/train", f"loop[{turn}]/judge"
        following = f"loop[{turn + 1}]/train" if turn < iterations else "publish"
        nodes += [
            serial(at - 1, train, at - 2, judge, loops={"loop": turn}),
            serial(at, judge, at - 1, f"loop[{turn}]/gate", loops={"loop": turn}),
            Gate(
                f"loop[{turn}]/gate",
                "loop",
                "until",
                decision,
                "publish",
                following,
                ("judge",),
                loops={"loop": turn},
            ),
        ]
    steps.append(
        step(
            "publish", f"{bench.count('publish')}; cp {bench.work}/model {bench.work}/out", [bench.uri("out")]
        )
    )
    nodes += [serial(2 * iterations + 1, "publish", 2 * iterations, "end"), End("end")]
    return Program("loop", "loop[1]/train", tuple(steps), tuple(nodes))
