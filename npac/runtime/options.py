"""What a user may choose about a run, and what a run gives back."""

from __future__ import annotations

from dataclasses import dataclass

from npac.runtime.advice import next_step
from npac.runtime.view import BLOCKED, CANCELLED, FAILED, SUCCEEDED, RunView

EXIT_SUCCEEDED = 0
EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_BLOCKED = 3
EXIT_CANCELLED = 4
EXIT_INTERRUPTED = 130

_EXITS = {
    SUCCEEDED: EXIT_SUCCEEDED,
    FAILED: EXIT_FAILED,
    BLOCKED: EXIT_BLOCKED,
    CANCELLED: EXIT_CANCELLED,
}


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the driver behaves; nothing here changes what is run.

    Times are seconds; 0 means no bound where a bound is meant.
    """

    retries: int = 0
    """Payload failures forgiven, per wave."""
    max_infrastructure_recoveries: int = 1
    """Infrastructure failures forgiven, per wave."""
    poll_seconds: float = 1.0
    """Longest pause between two looks at a job; the first looks are much closer together."""
    max_wait: float = 0.0
    """Bound of one attempt at a wave, counted from when this driver took it up."""
    on_timeout: str = "cancel"
    """``cancel``, or ``detach`` to leave the job to be taken up by a later driver."""
    on_interrupt: str = "ask"
    """What the first Ctrl-C does: ``cancel``, ``detach`` or ``ask``."""
    max_status_outage: float = 900.0
    """How long an engine may be silent before the driver leaves, its jobs untouched."""
    launch_quiet: float = 60.0
    """How long an uncertain POST may stay invisible."""
    engine_moved: bool = False
    """The user has seen that no job is left where the run was; what is in flight there is given up.

    Holds for one driver only: a later one does not take it over.
    """
    max_gpu_hours: float | None = None
    """GPU hours of all jobs of the run after which nothing more is launched; 0 for no bound.

    None leaves it as the last driver had it, which is no bound for a new run.
    """
    allow_shared_outputs: bool = False
    """Run although an unfinished run declares an overlapping output."""

    def __post_init__(self) -> None:
        """Refuse values that mean nothing, with ``ValueError``."""
        if self.on_interrupt not in ("ask", "cancel", "detach"):
            raise ValueError(f"on_interrupt is 'ask', 'cancel' or 'detach', not {self.on_interrupt!r}")
        if self.on_timeout not in ("cancel", "detach"):
            raise ValueError(f"on_timeout is 'cancel' or 'detach', not {self.on_timeout!r}")
        budgets = ("retries", "max_infrastructure_recoveries")
        for name in (*budgets, "max_wait", "max_status_outage", "launch_quiet"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is not negative")
        if self.max_gpu_hours is not None and not self.max_gpu_hours >= 0:
            raise ValueError("max_gpu_hours is not negative")
        if self.poll_seconds <= 0:
            raise ValueError("poll_seconds is more than 0")


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a driver left its run."""

    run_id: str
    state: str
    exit_code: int
    reason: str = ""
    remedy: str = ""
    """The one thing to do next; empty when nothing is needed."""


def result_of(view: RunView, driver: str = "none") -> RunResult:
    """Give the result that belongs to a view; a run that still goes on counts as interrupted.

    ``driver`` is what is known of the run's driver: ``none``, ``dead``, ``alive`` or ``unknown``.
    """
    return RunResult(
        run_id=view.run_id,
        state=view.state,
        exit_code=_EXITS.get(view.state, EXIT_INTERRUPTED),
        reason=view.reason or view.detached,
        remedy=next_step(view, driver),
    )


class Refused(Exception):
    """The run was refused before anything was launched; the exit code is 2.

    ``remedy`` is one sentence that says what to do.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class Driven(Refused):
    """Another driver holds the run, and is or may be alive."""
