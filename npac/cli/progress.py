"""Live lines of a run, on standard error."""

from __future__ import annotations

import sys
import time
from datetime import datetime

from npac.api import DecisionView, LaunchView, WaveView
from npac.cli.streams import tell

_ANSWERS = {
    "c": "cancel", "cancel": "cancel", "d": "detach", "detach": "detach",
    "g": "continue", "go": "continue", "go on": "continue",
}  # fmt: skip
_ASKED = 3
"""How often Ctrl-C's question is put before the run is left alone."""

_QUESTION = """
Interrupted. What is to become of the run?
  c  cancel: end its jobs, and the run with them
  d  detach: leave its jobs running, and end only this command
  g  go on: forget the interruption"""


class Lines:
    """Writes one line for each thing that has happened; the clock counts from when the driver began.

    On a terminal a line that says what is running now is shown last, and replaced by the next.
    With ``verbose`` every change of every job gets a line, too.  ``doing`` is what is said of a run
    that is taken up again, instead of "resumed".
    """

    def __init__(self, *, verbose: bool = False, doing: str = "") -> None:
        self._begun = time.monotonic()
        self._verbose = verbose
        self._doing = doing or "resumed"
        self._last = ""
        self._terminal = sys.stderr.isatty()
        self._replaceable = False

    def _say(self, text: str) -> None:
        # Whatever is tried again and again says the same each time; once is enough.
        if text == self._last:
            return
        self._last = text
        self._write(text, "\n")

    def _show(self, text: str) -> None:
        """Show what holds at the moment, where it can be replaced."""
        if self._terminal:
            self._write(text, "")

    def _write(self, text: str, end: str) -> None:
        seconds = int(time.monotonic() - self._begun)
        clock = f"{seconds // 3600:d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        clear = "\r\x1b[K" if self._replaceable else ""
        tell(f"{clock}  {text}", nl=bool(end), before=clear)
        self._replaceable = not end

    def run_started(self, run_id: str, waves: int, resumed: bool) -> None:
        """Tell that the driver has the run."""
        number = f"{waves} wave{'' if waves == 1 else 's'}"
        self._say(f"{self._doing if resumed else 'run'} {run_id} ({number} in the program)")

    def wave_started(self, wave: WaveView) -> None:
        """Tell that an attempt begins."""
        text = f"{_title(wave)}  running{_attempt(wave)}"
        if self._verbose:
            self._say(text)
        else:
            self._show(text)

    def job_changed(self, wave: WaveView, launch: LaunchView) -> None:
        """Tell that a job was attached or has changed its status."""
        if not self._verbose:
            return
        job = launch.job.id if launch.job is not None else launch.job_id
        reason = (
            f": {launch.reason}" if launch.reason and launch.status not in ("SUCCEEDED", "RUNNING") else ""
        )
        self._say(f"  job {job} {launch.status or 'attached'}{reason}")

    def wave_ended(self, wave: WaveView) -> None:
        """Tell that an attempt is over: how, how long it took, and as which jobs."""
        jobs = [launch.job.id for launch in wave.last.launches.values() if launch.job is not None]
        named = f" (job{'' if len(jobs) == 1 else 's'} {', '.join(jobs)})" if jobs else ""
        joint = "after" if wave.word == "cancelled" else "in"
        self._say(f"{_title(wave)}  {wave.word} {joint} {_took(wave)}{named}{_attempt(wave)}")

    def gate_read(self, decision: DecisionView) -> None:
        """Tell what a gate decided."""
        by_hand = " (by hand)" if decision.given else ""
        self._say(f"gate    {decision.node}  {decision.decision}{by_hand}")

    def waiting(self, what: str, polls: int) -> None:
        """Tell that a trigger is not there yet; each text once."""
        self._say(f"waiting for {what}")

    def outage(self, message: str, seconds: float) -> None:
        """Tell that the engine has not answered; on a terminal also for how long, as it goes on."""
        self._show(f"the engine has not answered for {seconds:.0f} s: {message}")
        if not self._terminal:
            self._say(f"the engine does not answer: {message}")

    def note(self, message: str) -> None:
        """Tell anything else."""
        self._say(f"  {message}")

    def ask_interrupt(self) -> str:
        """Ask what Ctrl-C means; without a terminal to ask on, detach."""
        if not sys.stdin.isatty():
            return "detach"
        self._replaceable = False
        tell(_QUESTION)
        for _ in range(_ASKED):
            tell("[c/d/g] ", nl=False)
            answer = sys.stdin.readline()
            if not answer:
                break
            choice = _ANSWERS.get(answer.strip().lower())
            if choice is not None:
                return choice
            tell("that is none of c, d and g")
        tell("no answer was given: detaching")
        return "detach"

    def close(self) -> None:
        """Take away the line that said what is running."""
        if self._replaceable:
            tell("", nl=False, before="\r\x1b[K")
            self._replaceable = False


def _title(wave: WaveView) -> str:
    members = f" ({len(wave.states)} members)" if len(wave.states) > 1 else ""
    return f"wave {wave.number}  {wave.node}{members}"


def _attempt(wave: WaveView) -> str:
    return f", attempt {wave.last.number}" if wave.last.number > 1 else ""


def _took(wave: WaveView) -> str:
    """Say how long an attempt took, by the times in the log."""
    begun, ended = (datetime.fromisoformat(at) for at in (wave.last.started, wave.last.ended))
    seconds = max(0.0, (ended - begun).total_seconds())
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {left:02d} s"
