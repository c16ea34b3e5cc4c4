"""What a driver tells those who watch it.  Nothing depends on anyone listening."""

from __future__ import annotations

from typing import Protocol

from npac.runtime.view import DecisionView, LaunchView, WaveView


class Progress(Protocol):
    """Live lines of a run.  Calls come from the driver's thread and must not block for long."""

    def run_started(self, run_id: str, waves: int, resumed: bool) -> None:
        """Tell that the driver has the run; ``waves`` is how many the program has in all."""
        ...

    def wave_started(self, wave: WaveView) -> None:
        """Tell that an attempt begins."""
        ...

    def job_changed(self, wave: WaveView, launch: LaunchView) -> None:
        """Tell that a job was attached or has changed its status."""
        ...

    def wave_ended(self, wave: WaveView) -> None:
        """Tell that an attempt is over, either way."""
        ...

    def gate_read(self, decision: DecisionView) -> None:
        """Tell what a gate decided."""
        ...

    def waiting(self, what: str, polls: int) -> None:
        """Tell that a trigger is not there yet."""
        ...

    def outage(self, message: str, seconds: float) -> None:
        """Tell that the engine has not answered for so long."""
        ...

    def note(self, message: str) -> None:
        """Tell anything else worth a line."""
        ...

    def ask_interrupt(self) -> str:
        """Ask what Ctrl-C means: ``cancel``, ``detach`` or ``continue``."""
        ...


class Silent:
    """Tells nobody; Ctrl-C detaches."""

    def run_started(self, run_id: str, waves: int, resumed: bool) -> None:
        """Do nothing."""

    def wave_started(self, wave: WaveView) -> None:
        """Do nothing."""

    def job_changed(self, wave: WaveView, launch: LaunchView) -> None:
        """Do nothing."""

    def wave_ended(self, wave: WaveView) -> None:
        """Do nothing."""

    def gate_read(self, decision: DecisionView) -> None:
        """Do nothing."""

    def waiting(self, what: str, polls: int) -> None:
        """Do nothing."""

    def outage(self, message: str, seconds: float) -> None:
        """Do nothing."""

    def note(self, message: str) -> None:
        """Do nothing."""

    def ask_interrupt(self) -> str:
        """Leave the run to a later driver."""
        return "detach"
