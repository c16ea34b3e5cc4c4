"""What one good survey of an engine says about one launch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from npac.launch.messages import Rows
from npac.launch.ports import SUCCEEDED, ActiveRequest, JobRow
from npac.launch.state import DECIDE, Goal, Launch


@dataclass(frozen=True, slots=True)
class Evidence:
    """Rows and requests that concern one launch, sorted by what they can mean.

    A row stands in one of the tuples.  Jobs that were reaped, and those that did not end when they
    were reaped, stand in none.
    """

    strange: tuple[JobRow, ...] = ()
    """Our launch id under another name."""
    stale: tuple[JobRow, ...] = ()
    """Not ended, and of a sealed POST: they never start user code."""
    over: tuple[JobRow, ...] = ()
    """Ended, and of a sealed POST that the row does not name."""
    astray: tuple[JobRow, ...] = ()
    """Not failed, and of a POST that was held to be absent, or of one that is not on record."""
    lively: tuple[JobRow, ...] = ()
    lifeless: tuple[JobRow, ...] = ()
    """Not ended, without any sign of life: young, or phantoms."""
    ended: tuple[JobRow, ...] = ()
    """Ended otherwise than by success."""
    coming: tuple[ActiveRequest, ...] = ()
    """Active requests for this launch: a row may come of each."""
    opaque: bool = False
    """There are active requests of which the engine does not say what they are for."""

    @property
    def viable(self) -> tuple[JobRow, ...]:
        """Give the rows of which the launch's job may be one."""
        return (*self.lively, *self.lifeless)


def ours(goal: Goal, row: JobRow) -> bool:
    """Say whether a row is a job of this launch.

    The name must be equal, and the launch id too where the engine can tell it.
    """
    return row.name == goal.name and row.launch_id in ("", goal.launch_id)


def certain(goal: Goal, row: JobRow) -> bool:
    """Say whether a row is proven to be a job of this launch; only such a one is ever reaped."""
    return row.name == goal.name and row.launch_id == goal.launch_id


def viable(row: JobRow) -> bool:
    """Say whether a job may still do, or has done, what it is for."""
    return not row.terminal or row.status == SUCCEEDED


def coming(goal: Goal, requests: Iterable[ActiveRequest]) -> tuple[ActiveRequest, ...]:
    """Give the active requests that are for this launch."""
    return tuple(
        request
        for request in requests
        if request.launch_id == goal.launch_id or (not request.launch_id and request.name == goal.name)
    )


def read(state: Launch, survey: Rows) -> Evidence:
    """Sort what a survey of the recorded engine instance says about a launch."""
    goal = state.goal
    strange, stale, over, astray, lively, lifeless, ended = [], [], [], [], [], [], []
    for row in survey.rows:
        if row.launch_id == goal.launch_id and row.name != goal.name:
            strange.append(row)
        elif not ours(goal, row) or row.id in state.reaped or row.id in state.left:
            continue
        elif _stale(state, row):
            if row.status == SUCCEEDED:
                # No job of a sealed POST can: something is not as it should be.
                astray.append(row)
            elif not row.terminal:
                stale.append(row)
            elif not row.post:
                over.append(row)
        elif _astray(state, row):
            if viable(row):
                astray.append(row)
        elif not viable(row):
            ended.append(row)
        elif row.lively or row.terminal:
            lively.append(row)
        else:
            lifeless.append(row)
    return Evidence(
        tuple(strange),
        tuple(stale),
        tuple(over),
        tuple(astray),
        tuple(lively),
        tuple(lifeless),
        tuple(ended),
        coming(goal, survey.requests),
        any(not request.launch_id and not request.name for request in survey.requests),
    )


def _stale(state: Launch, row: JobRow) -> bool:
    if state.goal.unique_key or not state.sealed:
        return False
    if row.post:
        return row.post in state.sealed
    # Of which POST the row is cannot be told.  While another POST is out, the register decides.
    return state.phase != DECIDE and not state.loose


def _astray(state: Launch, row: JobRow) -> bool:
    if state.goal.unique_key:
        return False
    if state.posts == 0:
        return False
    if row.post:
        # Before the next POST, a late row of an earlier one is the one job that there is.
        return row.post > state.posts or (state.phase == DECIDE and row.post != state.posts)
    return bool(state.sealed and state.loose)
