"""Watching one job by its exact identity, as a pure state machine.

Losing sight of a job is never a reason to end it: an outage is reported and, when it lasts too
long, the driver leaves the job untouched.  A job that a good answer lacks is ``gone``, which is
not a failure of the job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from npac.launch.ports import JobRow


@dataclass(frozen=True, slots=True)
class JobRef:
    """A job for good: an id alone may be another job after an engine was set up anew."""

    instance: str
    id: str
    name: str
    submitted_at: float
    launch_id: str

    def is_of(self, row: JobRow) -> bool:
        """Say whether ``row``, read from the same engine instance, is this very job."""
        return (
            row.id == self.id
            and row.name == self.name
            and row.submitted_at == self.submitted_at
            and row.launch_id in ("", self.launch_id)
        )

    def to_json(self) -> dict[str, Any]:
        """Give the form in which the ledger keeps it."""
        return {
            "instance": self.instance,
            "id": self.id,
            "name": self.name,
            "submitted_at": self.submitted_at,
            "launch_id": self.launch_id,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> JobRef:
        """Read the ledger's form back."""
        return cls(
            instance=str(data["instance"]),
            id=str(data["id"]),
            name=str(data["name"]),
            submitted_at=float(data["submitted_at"]),
            launch_id=str(data["launch_id"]),
        )

    @classmethod
    def of(cls, row: JobRow, instance: str, launch_id: str) -> JobRef:
        """Take down a row that the launch transaction has attached."""
        return cls(instance, row.id, row.name, row.submitted_at, launch_id)


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known of the job so far; times are seconds of one monotonic clock."""

    ref: JobRef
    last: tuple[object, ...] = ()
    """Status and tasks as last seen, to tell transitions from repeats."""
    dark_since: float | None = None
    """When the engine stopped answering."""
    missing: int = 0
    """Good answers in a row that lacked the job."""
    missing_needed: int = 3


@dataclass(frozen=True, slots=True)
class Moved:
    """The job is alive and something about it has changed."""

    row: JobRow
    back: bool
    """An outage has just ended."""


@dataclass(frozen=True, slots=True)
class Same:
    """Nothing new."""

    back: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """The job is over."""

    row: JobRow


@dataclass(frozen=True, slots=True)
class Gone:
    """Good answers, several in a row, do not have the job."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """The id belongs to another job now."""

    row: JobRow


@dataclass(frozen=True, slots=True)
class Dark:
    """The engine does not answer."""

    message: str
    first: bool
    seconds: float
    """How long already."""


Verdict: TypeAlias = "Moved | Same | Ended | Gone | Foreign | Dark"


def look(watch: Watch, answer: JobRow | None | Exception, now: float) -> tuple[Watch, Verdict]:
    """Take in one answer: a row, None for "does not exist", or the error that came instead."""
    if isinstance(answer, Exception):
        first = watch.dark_since is None
        since = now if watch.dark_since is None else watch.dark_since
        return replace(watch, dark_since=since, missing=0), Dark(str(answer), first, now - since)
    back = watch.dark_since is not None
    watch = replace(watch, dark_since=None)
    if answer is None:
        watch = replace(watch, missing=watch.missing + 1)
        return watch, Gone() if watch.missing >= watch.missing_needed else Same(back)
    watch = replace(watch, missing=0)
    if not watch.ref.is_of(answer):
        return watch, Foreign(answer)
    if answer.terminal:
        return watch, Ended(answer)
    seen = (answer.status, tuple((task.name, task.status) for task in answer.tasks))
    if seen == watch.last:
        return watch, Same(back)
    return replace(watch, last=seen), Moved(answer, back)
