"""Live lines of a run, on standard error."""

from __future__ import annotations

import sys
import time

import click

from npac.runtime.view import DecisionView, LaunchView, WaveView


class Lines:
    """Writes one line for each thing that happens; the clock counts from when the driver began."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._last_wait = ""

    def _say(self, text: str) -> None:
        seconds = int(time.monotonic() - self._begun)
        clock = f"{seconds // 3600:d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        click.echo(f"{clock}  {text}", err=True)

    def run_started(self, run_id: str, waves: int, resumed: bool) -> None:
        """Tell that the driver has the run."""
        self._say(f"{'resumed' if resumed else 'run'} {run_id} ({waves} waves in the program)")

    def wave_started(self, wave: WaveView) -> None:
        """Tell that an attempt begins."""
        attempt = f", attempt {wave.last.number}" if wave.last.number > 1 else ""
        members = f" ({len(wave.states)} members)" if len(wave.states) > 1 else ""
        self._say(f"wave {wave.number} {wave.node}{members}{attempt}")

    def job_changed(self, wave: WaveView, launch: LaunchView) -> None:
        """Tell that a job was attached or has changed its status."""
        job = launch.job.id if launch.job is not None else launch.job_id
        reason = (
            f": {launch.reason}" if launch.reason and launch.status not in ("SUCCEEDED", "RUNNING") else ""
        )
        self._say(f"  job {job} {launch.status or 'attached'}{reason}")

    def wave_ended(self, wave: WaveView) -> None:
        """Tell that an attempt is over."""
        reason = f": {wave.last.reason}" if wave.last.reason else ""
        self._say(f"  wave {wave.number} {wave.state}{reason}")

    def gate_read(self, decision: DecisionView) -> None:
        """Tell what a gate decided."""
        self._say(f"gate {decision.node}: {decision.decision}")

    def waiting(self, what: str, polls: int) -> None:
        """Tell that a trigger is not there yet; each text once."""
        if what != self._last_wait:
            self._last_wait = what
            self._say(f"  waiting for {what}")

    def outage(self, message: str, seconds: float) -> None:
        """Tell that the engine has not answered."""
        self._say(f"  the engine has not answered for {seconds:.0f} s: {message}")

    def note(self, message: str) -> None:
        """Tell anything else."""
        self._say(f"  {message}")

    def ask_interrupt(self) -> str:
        """Ask what Ctrl-C means; without a terminal to ask on, detach."""
        if not sys.stdin.isatty():
            return "detach"
        click.echo(
            "\nCancel the run's jobs, detach and leave them running, or go on? [c/d/g] ", err=True, nl=False
        )
        answer = sys.stdin.readline().strip().lower()[:1]
        return {"c": "cancel", "g": "continue"}.get(answer, "detach")
