"""One paragraph that says how a run is, on what evidence, and what to do next."""

from __future__ import annotations

import shlex

from npac.runtime.advice import next_step
from npac.runtime.meanings import MEANINGS
from npac.runtime.view import (
    BLOCKED,
    CANCELLED,
    FAILED,
    PLANNED,
    RUNNING,
    SUCCEEDED,
    WAITING,
    LaunchView,
    RunView,
    WaveView,
)


def why(view: RunView, wave: str = "") -> str:
    """Explain a run, or one of its waves by node id, label or number.

    Everything in the text is in the log; whether a driver is alive is not, and is not said.
    Raises ``KeyError`` when there is no such wave.
    """
    if wave:
        return _wave(view, _find(view, wave))
    if view.state == PLANNED:
        return f"Run {view.run_id} has not begun. Nothing of it is on record, so nothing was launched."
    said = [f"Run {view.run_id or '(not begun)'} of {view.workflow or 'an unknown workflow'} {_state(view)}."]
    if view.reason and view.state not in (SUCCEEDED, RUNNING):
        said.append(_sentence(view.reason))
    if view.state == BLOCKED:
        said.append(MEANINGS.get(view.code, ""))
    done = sum(each.state == SUCCEEDED for each in view.waves.values())
    counted = "1 wave has succeeded" if done == 1 else f"{done} waves have succeeded"
    last = view.waves.get(view.node)
    at = "" if view.state == SUCCEEDED or last is None else f"; it was last at {last.label}"
    said.append(f"{counted}{at}.")
    current = view.waves.get(view.node)
    if current is not None and view.state != SUCCEEDED:
        said.append(_evidence(current, view.reason))
        if current.state == FAILED and any(launch.job for launch in current.last.launches.values()):
            said.append(f"Its log: npac logs {view.run_id} {shlex.quote(current.label)}.")
    if view.dark:
        said.append(f"The engine does not answer: {_sentence(view.dark)}")
    if view.detached:
        said.append(f"Its last driver left ({view.detached}); its jobs go on.")
    said += _turns(view)
    # Whether a run that goes on has a driver is not known here, and so not what is to be done.
    if view.detached or view.state not in (RUNNING, WAITING):
        said.append(_next(view))
    return " ".join(part for part in said if part)


def _turns(view: RunView) -> list[str]:
    """Tell of amendments, and of waves that were run again by order."""
    said = []
    if view.amendments:
        last = view.amendments[-1]
        times = "once" if len(view.amendments) == 1 else f"{len(view.amendments)} times, the last"
        given = f" by {last.target}" if last.target else ""
        said.append(f"Its program was amended {times} at {last.at}{given}.")
    if view.rewinds:
        back = view.rewinds[-1]
        said.append(f"It went back to {back.node} at {back.at}; what followed ran, or runs, again.")
    return said


def _state(view: RunView) -> str:
    if view.state in (SUCCEEDED, FAILED):
        return f"has {view.state}"
    if view.state == CANCELLED:
        return "was cancelled"
    return f"is {view.state}" + (f" ({view.code})" if view.code else "")


def _find(view: RunView, wave: str) -> WaveView:
    if wave in view.waves:
        return view.waves[wave]
    found = [w for w in view.waves.values() if wave == w.label or wave == str(w.number) or wave in w.states]
    if not found:
        raise KeyError(wave)
    return found[-1]


def _wave(view: RunView, wave: WaveView) -> str:
    last = wave.last
    verb = {RUNNING: "is running", CANCELLED: "was cancelled"}.get(wave.word, f"has {wave.word}")
    said = [f"Wave {wave.number} ({wave.node}) {verb} in attempt {last.number}.", _evidence(wave)]
    earlier = [a for a in wave.attempts[:-1] if a.reason]
    if earlier:
        listed = "; ".join(f"attempt {a.number}: {a.reason}" for a in earlier)
        said.append(f"Before that, {_sentence(listed)}")
    records = [r.uri for r in view.records.values() if r.node == wave.node]
    if records:
        more = f" and {len(records) - 5} more" if len(records) > 5 else ""
        said.append(f"It is on record as the writer of {', '.join(records[:5])}{more}.")
    if wave.state == FAILED and wave.node == view.node and view.state not in (RUNNING, WAITING):
        said.append(_next(view))
    return " ".join(part for part in said if part)


def _evidence(wave: WaveView, told: str = "") -> str:
    """Give what the log holds about a wave's last attempt; a reason that was ``told`` already is left out."""
    last = wave.last
    said = []
    if last.reason:
        reason = "" if last.reason in told else f": {last.reason}"
        word = "was cancelled" if wave.word == CANCELLED else f"failed ({last.code})"
        said.append(_sentence(f"Attempt {last.number} of {wave.label} {word}{reason}"))
    for launch in last.launches.values():
        if launch.ended and all(result.ok for result in launch.results):
            continue
        if launch.job is not None:
            said.append(
                f"Its job is {launch.job.id} ({launch.name}), last seen {launch.status or 'submitted'}."
            )
        elif launch.open:
            said.append(f"POST {launch.posts} of {launch.name} has no certain outcome.")
        elif launch.accepted:
            by = f" (request {launch.request_id})" if launch.request_id else ""
            said.append(f"The launch of {launch.name} was accepted{by}, and no job was seen yet.")
        if launch.job is None:
            said += _settled(launch)
    return " ".join(said)


def _settled(launch: LaunchView) -> list[str]:
    """Tell of POSTs that have made no job, and of jobs that were ended without being adopted."""
    said = []
    if launch.sealed:
        said.append(f"No job of POST {_numbers(launch.sealed)} will ever start: its register is sealed.")
    if launch.loose:
        said.append(f"Nothing was seen of POST {_numbers(launch.loose)}, which is held to have made no job.")
    for job, reason in launch.reaping.items():
        said.append(f"Job {job} is to be ended ({reason}) and was not seen to end.")
    return said


def _numbers(posts: set[int]) -> str:
    return ", ".join(map(str, sorted(posts)))


def _next(view: RunView) -> str:
    remedy = next_step(view)
    return f"Next: {remedy}" if remedy else ""


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else text + "."
