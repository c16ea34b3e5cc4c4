"""The states of a job, and how a job's state follows from its tasks'.

The words are those of :mod:`npac.launch.ports`; they stand here again because supervisors must not
pay for that module's imports.  A test holds the two together.
"""

from __future__ import annotations

PENDING = "PENDING"
STARTING = "STARTING"
RUNNING = "RUNNING"
CANCELLING = "CANCELLING"
SUCCEEDED = "SUCCEEDED"
FAILED = "FAILED"
FAILED_SETUP = "FAILED_SETUP"
FAILED_CONTROLLER = "FAILED_CONTROLLER"
CANCELLED = "CANCELLED"

TERMINAL = frozenset({SUCCEEDED, FAILED, FAILED_SETUP, FAILED_CONTROLLER, CANCELLED})
HOLDING = (STARTING, RUNNING, CANCELLING)
"""States in which a job holds slots."""


class Outcome:
    """How one task ended.  ``exit_code`` is None when the task was not left to end by itself."""

    __slots__ = ("exit_code", "name", "reason", "status")

    def __init__(self, name: str, status: str, exit_code: int | None = None, reason: str = "") -> None:
        self.name = name
        self.status = status
        self.exit_code = exit_code
        self.reason = reason


def fold(outcomes: list[Outcome]) -> tuple[str, str]:
    """Give a job's terminal status and reason from all its tasks' outcomes, in task order.

    SUCCEEDED only when every task did; CANCELLED when a task was cut short by a cancel; else the
    status of the first task that failed.  The reason names every task that did not succeed.
    """
    bad = [outcome for outcome in outcomes if outcome.status != SUCCEEDED]
    if not bad:
        return SUCCEEDED, ""
    status = CANCELLED if any(outcome.status == CANCELLED for outcome in bad) else bad[0].status
    if len(outcomes) == 1:
        return status, bad[0].reason
    return status, "; ".join(f"task {outcome.name}: {outcome.reason}" for outcome in bad)


def describe_exit(wait_status: int) -> tuple[int, str]:
    """Give exit code and words for a status of ``waitpid``; a signal N is code 128 + N."""
    import os
    import signal

    code = os.waitstatus_to_exitcode(wait_status)
    if code >= 0:
        return code, f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    return 128 - code, f"was ended by signal {-code} ({name})"
