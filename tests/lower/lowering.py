"""Texts of specs for the lowering's tests, and how they are lowered."""

from __future__ import annotations

from npac.catalog import load_catalog
from npac.diagnostics.diagnostic import Severity
from npac.ir.program import Gate, Program, Wave, successors
from npac.pipeline import MAX_NODES, Settings, Unit, run_passes
from npac.text.source import SourceFile

HEAD = """\
apiVersion: npa.workflow/v0.0.1
kind: Workflow
metadata: {name: shape}
config: {decision_uri: "s3://bbb/{{run.id}}/decision.json", "on": true, "off": false}
"""


WRITER = 'writesDecision: true, outputs: [{uri: "{{config.decision_uri}}"}]'
"""Keys of a leaf that writes the decision of the head's config."""


def run(states: str, *, initial: str = "", max_nodes: int = MAX_NODES) -> Unit:
    """Run the passes up to lowering over ``states``, which is indented by two blanks."""
    first = f"initial: {initial}\n" if initial else ""
    source = SourceFile("shape.yaml", f"{HEAD}{first}states:\n{states}")
    return run_passes(source, Settings(load_catalog(), max_nodes=max_nodes), until="lower")


def errors(unit: Unit) -> list[str]:
    """Give the messages of what is wrong."""
    return [item.message for item in unit.findings if item.severity is Severity.ERROR]


def lower(states: str, *, initial: str = "") -> Program:
    """Lower ``states``, which has no errors."""
    unit = run(states, initial=initial)
    assert errors(unit) == []
    assert unit.program is not None
    return unit.program


def gate(program: Program, name: str) -> Gate:
    """Give a gate by its id."""
    found = program.index()[name]
    assert isinstance(found, Gate)
    return found


def wave(program: Program, name: str) -> Wave:
    """Give a wave by its id."""
    found = program.index()[name]
    assert isinstance(found, Wave)
    return found


def demand_sound(program: Program) -> None:
    """Assert what holds for the nodes of every program: order, ids, numbers, edges."""
    ids = [node.id for node in program.nodes]
    assert len(set(ids)) == len(ids)
    assert ids[0] == program.entry
    place = {name: at for at, name in enumerate(ids)}
    waves = program.waves()
    assert [wave.number for wave in waves] == list(range(1, len(waves) + 1))
    # the largest wave number on any path to a node
    before = dict.fromkeys(ids, 0)
    for node in program.nodes:
        number = before[node.id]
        if isinstance(node, Wave):
            assert node.number > number
            number = node.number
        for follow in successors(node):
            assert place[follow] > place[node.id]
            before[follow] = max(before[follow], number)
