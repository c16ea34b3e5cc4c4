"""Every document of a program is shown to its engine before the first of them is launched."""

from __future__ import annotations

from collections.abc import Mapping

from npac.ir.program import Program
from npac.launch.ports import Engine, EngineError, Prechecking
from npac.runtime.options import Refused
from npac.runtime.world import LaunchValues, Render

_SHOWN = 3


def demand_launchable(
    program: Program, engine: Engine, render: Render, run_id: str, secrets: Mapping[str, str]
) -> None:
    """Refuse a program of which the engine would refuse a wave, also one that is far from the first.

    ``secrets`` holds values by name.  Raises :class:`Refused` that tells what is wrong with up to
    three waves; an engine that does not say beforehand what it takes is not asked.
    """
    if not isinstance(engine, Prechecking):
        return
    asked: set[tuple[str, tuple[int, ...]]] = set()
    refusals: dict[str, str] = {}
    for wave in program.waves():
        for batch in wave.batches:
            steps = tuple(wave.members[member].step for member in batch)
            # Iterations of a loop give the same documents but for numbers.
            if (wave.group, steps) in asked:
                continue
            asked.add((wave.group, steps))
            documents = render(wave, batch, LaunchValues(run_id, wave.number, 1, "precheck", wave.id))
            needed = {name for step in steps for name in program.steps[step].secrets}
            try:
                engine.precheck(documents, wave.id, {name: secrets[name] for name in needed & set(secrets)})
            except EngineError as error:
                refusals.setdefault(str(error).rstrip("."), error.remedy)
    if refusals:
        more = f" (and {len(refusals) - _SHOWN} more)" if len(refusals) > _SHOWN else ""
        remedies = dict.fromkeys(list(refusals.values())[:_SHOWN])
        raise Refused(f"{'; '.join(list(refusals)[:_SHOWN])}{more}", remedy=" ".join(remedies))
