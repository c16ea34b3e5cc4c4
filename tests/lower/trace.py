"""What a walk of a program does, in the words of the naive interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from npac.ir.program import Artifact, Gate, GroupOutputs, Program, Wave
from npac.ir.values import link
from npac.ir.walk import walk
from tests.lower.interpreter import Batched, Checked, Event, Opened, Ran, Read, Waited


def trace(program: Program, decide: Callable[[Gate], str], run_id: str) -> list[Event]:
    """Walk ``program`` and give what happens, linked for ``run_id``."""
    late = {"run.id": run_id}
    events: list[Event] = []
    for node in walk(program, decide):
        events += _groups(Checked, node.checks, late)
        if isinstance(node, Wave):
            events += _groups(Opened, node.opens, late)
            events += _wave(program, node, late)
        elif isinstance(node, Gate):
            events.append(Read(node.state, node.role, link(node.uri, late), None))
    return events


def settled(events: Sequence[Event]) -> list[Event]:
    """Bring a trace into the form in which two can be compared.

    Groups that end stand before the next wave or gate, groups that begin before the next wave; one
    that ends with nothing run in it has not begun.  Who has written a decision is left out (it is
    compared by itself).
    """
    result: list[Event] = []
    opened: list[Opened] = []
    checked: list[Checked] = []
    for event in events:
        if isinstance(event, Opened):
            opened.append(event)
        elif isinstance(event, Checked):
            if opened and opened[-1].group == event.group:
                opened.pop()
            checked.append(event)
        else:
            result += checked
            checked = []
            if isinstance(event, Read):
                result.append(Read(event.state, event.role, event.uri, None))
            else:
                result += opened
                opened = []
                result.append(event)
    return result + checked


def _groups(
    kind: type[Opened] | type[Checked], groups: Sequence[GroupOutputs], late: Mapping[str, str]
) -> list[Event]:
    return [kind(item.group, _uris(item.outputs, late)) for item in groups]


def _uris(artifacts: Sequence[Artifact], late: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(link(item.uri, late) for item in artifacts)


def _wave(program: Program, wave: Wave, late: Mapping[str, str]) -> list[Event]:
    events: list[Event] = [
        Waited(item.state, link(item.uri, late), (item.poll_seconds, item.max_polls, item.min_objects))
        for item in wave.triggers
    ]
    states = [program.steps[member.step].state for member in wave.members]
    for member in wave.members:
        step = program.steps[member.step]
        region = step.profile.get("region", "")
        assert not isinstance(region, bool | int | float | list | dict) and region is not None
        events.append(
            Ran(
                state=step.state,
                argv=tuple(link(word, late) for word in step.argv),
                shell=link(step.shell, late),
                inputs=_uris(step.inputs, late),
                outputs=_uris(step.outputs, late),
                region=link(region, late),
                iteration=member.iteration,
                container=member.loop_label,
                loops=tuple(wave.loops.items()),
            )
        )
    if wave.group:
        cuts = tuple(tuple(states[index] for index in batch) for batch in wave.batches)
        events.append(Batched(wave.group, cuts, _uris(wave.outputs, late)))
    return events
