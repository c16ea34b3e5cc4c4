"""Another program for the rest of a run: which of the two may differ in what, and what is done anew."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from npac.ir.canonical import canonical_bytes
from npac.ir.codec import NODE, STEP
from npac.ir.program import PROMOTE, Gate, Node, Program, Trigger, Wave
from npac.runtime.needs import walked
from npac.runtime.options import Refused
from npac.runtime.view import RUNNING, SUCCEEDED, RunView, WaveView


@dataclass(frozen=True, slots=True)
class Amend:
    """What somebody wants a run to go on with.

    ``blobs`` are stored with the run as at its start; ``changes`` are the differences from the run's
    program by meaning, as JSON data, and ``text`` tells them to people.
    """

    program: Program
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    target: str = ""
    changes: Sequence[Mapping[str, Any]] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Consequences:
    """What an amendment does to what is on record; see the event ``run-amended``."""

    set_aside: tuple[str, ...]
    untriggered: tuple[tuple[str, str], ...]
    unchecked: tuple[str, ...]
    edges: dict[str, str]


def consequences(view: RunView, old: Program, amend: Amend) -> Consequences:
    """Say what becomes of a run when the rest of it follows another program.

    Raises :class:`Refused` unless every finished wave and gate on the path taken is the same in both,
    but for what follows the last of them and for the numbers of waves, and nothing that is changed is
    under way.
    """
    new = amend.program
    path, _ = walked(view, old)
    before, after = old.index(), new.index()
    if old.workflow != new.workflow:
        raise _refused(view, amend, f"the workflow is called {old.workflow}, and {new.workflow} there")
    for id in path:
        word = "gate" if isinstance(before[id], Gate) else "wave"
        if id not in after:
            raise _refused(view, amend, f"the {word} {id} has finished, and is not in it")
        if content(old, before[id]) != content(new, after[id]):
            again = id if word == "wave" else ""
            raise _refused(view, amend, f"the {word} {id} has finished, and is another one in it", again)
    trodden, frontier = _walked(view, new)
    if trodden != path:
        pairs = zip(path, [*trodden, frontier], strict=False)
        was, now = next((was, now) for was, now in pairs if was != now)
        raise _refused(view, amend, f"{was} has finished, and {now} comes in its place there")
    aside = []
    for id, wave in view.waves.items():
        if id in path or (id == frontier and _goes_on(old, before[id], new, after[id], wave)):
            continue
        if wave.last.in_flight:
            raise in_flight(view, wave, f"npac resume {view.run_id} --amend {_spec(amend)}", "it is changed")
        aside.append(id)
    return Consequences(
        tuple(aside),
        tuple(key for key in view.triggers if key[0] not in path and not _same_trigger(before, after, *key)),
        tuple(sorted(view.checked.difference(path))),
        {
            id: _following(view, node)
            for id in path
            if isinstance(node := after[id], Gate) and _following(view, node) != view.decisions[id].next
        },
    )


def in_flight(view: RunView, wave: WaveView, command: str, why: str) -> Refused:
    """Give what to say of a wave that would have to run anew and has a job that has not ended."""
    jobs = [
        f"job {launch.job.id}" if launch.job is not None else f"the launch of {launch.name}"
        for launch in wave.last.launches.values()
        if launch.in_flight or launch.reaping
    ]
    return Refused(
        f"{wave.node} of run {view.run_id} is under way ({', '.join(jobs)}), and {why}: it must first end, "
        "or be cancelled",
        remedy=f"npac cancel {view.run_id}, and when it has ended: {command}",
    )


def content(program: Program, node: Node) -> bytes:
    """Give all that a node does as bytes, with its steps; what follows it and its number are left out."""
    if isinstance(node, Wave):
        plain = NODE.encode(replace(node, number=0, next=""))
        plain["members"] = [
            [member.iteration, member.loop_label, STEP.encode(program.steps[member.step])]
            for member in node.members
        ]
    elif isinstance(node, Gate):
        plain = NODE.encode(replace(node, promote="", loop_back=""))
    else:
        plain = NODE.encode(node)
    return canonical_bytes(plain)


def _walked(view: RunView, program: Program) -> tuple[list[str], str]:
    """Give the nodes of another program that what has finished leads through, and the first after them."""
    index = program.index()
    path: list[str] = []
    at = program.entry
    while True:
        node = index[at]
        if isinstance(node, Wave) and at in view.waves and view.waves[at].state == SUCCEEDED:
            path.append(at)
            at = node.next
        elif isinstance(node, Gate) and at in view.decisions:
            path.append(at)
            at = _following(view, node)
        else:
            return path, at


def _following(view: RunView, gate: Gate) -> str:
    return gate.promote if view.decisions[gate.id].decision == PROMOTE else gate.loop_back


def _goes_on(old: Program, was: Node, new: Program, now: Node, wave: WaveView) -> bool:
    """Say whether a wave that has begun is the same in both programs, so that it goes on as it is."""
    if content(old, was) != content(new, now):
        return False
    # The number stands in the documents of jobs, and of one attempt all must be alike.
    numbers = {node.number for node in (was, now) if isinstance(node, Wave)}
    return wave.state != RUNNING or len(numbers) == 1


def _same_trigger(before: Mapping[str, Node], after: Mapping[str, Node], id: str, state: str) -> bool:
    was, now = (_trigger(nodes.get(id), state) for nodes in (before, after))
    return was is not None and was == now


def _trigger(node: Node | None, state: str) -> Trigger | None:
    triggers = node.triggers if isinstance(node, Wave) else ()
    return next((trigger for trigger in triggers if trigger.state == state), None)


def _spec(amend: Amend) -> str:
    return shlex.quote(amend.target) if amend.target else "SPEC"


def _refused(view: RunView, amend: Amend, why: str, again: str = "") -> Refused:
    too = ""
    if again:
        command = f"npac resume {view.run_id} --rerun-from {shlex.quote(again)} --amend {_spec(amend)}"
        too = f"run it again with all that followed: {command}; or "
    told = f"\n{amend.text.rstrip()}" if amend.text else ""
    return Refused(
        f"run {view.run_id} cannot go on with {amend.target or 'this program'}: {why}{told}",
        remedy=f"Change only what has not finished; or {too}begin anew: npac run {_spec(amend)}",
    )
