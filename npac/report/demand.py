"""What a step and a wave hold while they run: accelerators, machines, members."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from npac.ir.program import Program, Step, Tree, Wave


@dataclass(frozen=True, slots=True)
class Demand:
    """What is held at one time.

    ``accelerators`` maps a name (``A or B`` where either will do) to how many; ``members`` are the
    steps that run at once, ``machines`` their nodes.
    """

    members: int = 0
    machines: int = 0
    accelerators: Mapping[str, int] = field(default_factory=dict)

    @property
    def gpus(self) -> int:
        """Give the number of accelerators of all kinds."""
        return sum(self.accelerators.values())


def accelerator_text(step: Step) -> str:
    """Give a step's accelerators per node as they are written, ``NAME:N``; empty for none."""
    name, count = _accelerator(_profile(step).get("accelerators"))
    return f"{name}:{count}" if count else ""


def step_demand(step: Step) -> Demand:
    """Give what one step holds: its accelerators on each of its nodes."""
    name, count = _accelerator(_profile(step).get("accelerators"))
    held = {name: count * step.num_nodes} if count else {}
    return Demand(1, step.num_nodes, held)


def wave_demand(wave: Wave, program: Program) -> Demand:
    """Give the most that a wave holds at once: its largest batch, by accelerators, machines, members."""
    best = Demand()
    for batch in wave.batches:
        total: Counter[str] = Counter()
        machines = 0
        for place in batch:
            one = step_demand(program.steps[wave.members[place].step])
            total.update(one.accelerators)
            machines += one.machines
        here = Demand(len(batch), machines, dict(sorted(total.items())))
        if (here.gpus, here.machines, here.members) > (best.gpus, best.machines, best.members):
            best = here
    return best


def _profile(step: Step) -> Mapping[str, Tree]:
    if not step.raw:
        return step.profile
    resources = step.raw.get("resources")
    return resources if isinstance(resources, dict) else {}


def _accelerator(tree: Tree) -> tuple[str, int]:
    """Read ``NAME``, ``NAME:N``, ``{NAME: N}`` or a list of these; of alternatives the largest counts."""
    if isinstance(tree, str):
        name, colon, count = tree.partition(":")
        return name.strip(), _whole(count) if colon else 1
    if isinstance(tree, dict):
        found = [(name, _whole(count)) for name, count in sorted(tree.items())]
    elif isinstance(tree, list):
        found = [_accelerator(item) for item in tree]
    else:
        return "", 0
    if not found:
        return "", 0
    return " or ".join(name for name, _ in found), max(count for _, count in found)


def _whole(tree: Tree) -> int:
    """Give a count as a whole number; a share of a device (``0.5``) holds one."""
    if tree is None:
        return 1
    try:
        return max(0, math.ceil(float(str(tree))))
    except (ValueError, OverflowError):
        return 1
