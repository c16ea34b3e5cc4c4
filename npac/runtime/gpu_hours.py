"""GPU hours: what a run's jobs have used, and the bound that is met before each launch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from npac.ir.program import Program, Wave
from npac.launch.ports import EngineError
from npac.runtime.leaving import Blocked
from npac.runtime.session import Session
from npac.runtime.view import AttemptView, LaunchView
from npac.runtime.world import LaunchValues

SPENT = "GPU_HOURS_SPENT"
_HOUR = 3600.0


def asked(session: Session, program: Program, wave: Wave) -> list[int]:
    """Give how many GPUs each member of a wave asks for, on all its nodes; nothing where none does.

    Taken from the documents that are launched, where accelerators have been replaced as the run says.
    Of alternatives the largest counts.
    """
    steps = [program.steps[member.step] for member in wave.members]
    if not any(step.profile.get("accelerators") or step.raw for step in steps):
        return []
    values = LaunchValues(session.view.run_id, wave.number, 1, "counted", wave.id)
    try:
        documents = session.world.render(wave, tuple(range(len(steps))), values)
    except ValueError:
        return []  # It cannot be launched either, and that says so.
    found = [count(document) for document in (documents if len(steps) == 1 else documents[1:])]
    return found if any(found) else []


def count(document: Mapping[str, Any]) -> int:
    """Give how many GPUs one task asks for on all its nodes."""
    nodes = document.get("num_nodes", 1)
    return _most(document.get("resources")) * (nodes if isinstance(nodes, int) else 1)


def _most(resources: Any) -> int:
    if isinstance(resources, list):
        return max(map(_most, resources), default=0)
    if not isinstance(resources, Mapping):
        return 0
    others = [_most(resources.get(key)) for key in ("any_of", "ordered")]
    return max([_accelerators(resources.get("accelerators")), *others])


def _accelerators(given: Any) -> int:
    if isinstance(given, str):
        count = given.partition(":")[2]
        return _number(count) if count else int(bool(given))
    if isinstance(given, Mapping):
        return max((_number(count) for count in given.values()), default=0)
    if isinstance(given, list):
        return max(map(_accelerators, given), default=0)
    return 0


def _number(given: Any) -> int:
    try:
        # Part of a GPU is a GPU that nobody else has for that time, as far as is known here.
        return math.ceil(float(1 if given is None else given))
    except (ValueError, OverflowError):
        return 1


def demand_left(session: Session, node: str) -> None:
    """Block before a launch when the run has used up its GPU hours."""
    most = session.options.max_gpu_hours
    if not most:
        return
    used = sum(_hours(session))
    if used < most:
        return
    run = session.view.run_id
    raise Blocked(
        f"{node} is not launched: the jobs of this run have used {used:.4g} GPU hours, and --max-gpu-hours "
        f"is {most:g}",
        code=SPENT,
        node=node,
        remedy=f"npac resume {run} --max-gpu-hours {_more(used, most):g} (or any other bound; 0 for none)",
        evidence={"used": used, "most": most},
    )


def _more(used: float, most: float) -> float:
    """Give a bound under which a run that is blocked could go on for as long again."""
    wanted = 2 * max(used, most)
    step = 10.0 ** math.floor(math.log10(wanted))
    return math.ceil(wanted / step) * step


def _hours(session: Session) -> Iterator[float]:
    """Yield the GPU hours of each job that the run has launched, in all attempts that ever began."""
    for wave in session.view.every_wave():
        for attempt in wave.attempts:
            if not attempt.gpus:
                continue
            for launch in attempt.launches.values():
                gpus = sum(attempt.gpus[member] for member in launch.members)
                yield gpus * _seconds(session, attempt, launch) / _HOUR


def _seconds(session: Session, attempt: AttemptView, launch: LaunchView) -> float:
    """Give how long a job ran: as recorded, else by the engine's row of it, else as long as its attempt."""
    if launch.seconds is not None:
        return launch.seconds
    if launch.job is None:
        return 0.0  # There never was a job, or it was another attempt that found it.
    try:
        row = session.world.engine.job(launch.job.id)
    except EngineError:
        row = None
    if row is not None and launch.job.is_of(row):
        if row.ended_at is not None:
            return max(row.ended_at - row.started_at, 0.0) if row.started_at is not None else 0.0
        if row.started_at is None:
            return 0.0
    if not attempt.ended:
        return 0.0
    return max((_moment(attempt.ended) - _moment(attempt.started)).total_seconds(), 0.0)


def _moment(at: str) -> datetime:
    return datetime.fromisoformat(at)
