"""What to do next with a run: said in one place, for its end, ``resume``, ``status`` and ``why`` alike."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from npac.launch import classify
from npac.runtime.view import BLOCKED, CANCELLED, ENDED, FAILED, PLANNED, SUCCEEDED, RunView, WaveView

MAX_WAIT = "MAX_WAIT"
"""Code of an attempt that was not done within ``--max-wait``."""

SPEC_ONLY = frozenset({"TRIGGER_TOO_MANY"})
"""Codes of failures that no further attempt with the same program can get over."""

OUTPUT_LOST = "OUTPUT_LOST"
_LISTED = 3
_RESUME = re.compile(r"(?:,? then|,? and) resume\.?$")


def next_step(view: RunView, driver: str = "none") -> str:
    """Give what to do next, with whole commands; empty when nothing is to be done.

    ``driver`` is what is known of the run's driver: ``none``, ``dead``, ``alive`` or ``unknown``.
    """
    if view.state == SUCCEEDED:
        return ""
    if view.state == FAILED:
        return _failed(view)
    if view.state == CANCELLED:
        return f"npac retry {view.run_id}"
    if driver not in ("none", "dead"):
        return view.remedy
    if view.state == PLANNED:
        return f"give the same npac run command again: npac run SPEC --run-id {view.run_id}"
    if view.state == BLOCKED:
        return _blocked(view)
    return f"npac resume {view.run_id} (or, to end its jobs: npac cancel {view.run_id})"


def has_ended(view: RunView, purpose: str) -> str:
    """Say that a run has ended and that there is nothing to do what ``purpose`` names (a verb)."""
    assert view.state in ENDED, "only of a run that has ended"
    return f"run {view.run_id} has ended ({view.state}): there is nothing to {purpose}"


def _failed(view: RunView) -> str:
    retry = f"npac retry {view.run_id}"
    if view.code in SPEC_ONLY:
        return _then(view.remedy or "mend the cause", _anew(view))
    if view.code == MAX_WAIT:
        bound = float(view.options.get("max_wait") or 0)
        longer = f"{retry} --max-wait {2 * bound:g}; or " if bound else ""
        return f"{longer}{retry} (without --max-wait it waits for as long as it takes)"
    wave = view.waves.get(view.node)
    cause = _cause(view, wave)
    said = cause if f"{retry}," in cause else _then(cause, retry + _members(wave))
    amend = f"npac resume {view.run_id} --amend {shlex.quote(view.target) if view.target else 'SPEC'}"
    return f"{said}; if the spec, a --var or a code path has to change: {amend}; or, anew: {_anew(view)}"


def _cause(view: RunView, wave: WaveView | None) -> str:
    """Say what is to be mended; empty when it was the machine's fault and another attempt may do."""
    if wave is None or wave.state != FAILED:
        return _noted(view.remedy) or f"mend the cause ({view.reason})"
    if _noted(wave.last.remedy):
        return wave.last.remedy
    if wave.last.family == classify.INFRASTRUCTURE:
        return ""
    bad = [
        result
        for launch in wave.last.launches.values()
        for result in launch.results
        if not result.ok and result.family == wave.last.family
    ]
    if bad and all(result.missing for result in bad):
        uris = [each["uri"] for result in bad for each in result.missing]
        return f"have {_listed(wave.states[r.member] for r in bad)} write {_listed(uris)}"
    if bad:
        return f"mend what made {_listed(wave.states[r.member] for r in bad)} fail"
    return f"mend the cause ({wave.last.reason})"


def _noted(remedy: str) -> str:
    """Give a remedy that was put on record; what only names a command says nothing about the cause."""
    return "" if remedy.startswith("npac ") else remedy


def _members(wave: WaveView | None) -> str:
    """Say which members of a group another attempt runs."""
    if wave is None or wave.state != FAILED or len(wave.states) < 2 or wave.retry_all is None:
        return ""
    left = [name for number, name in enumerate(wave.states) if number not in wave.done()]
    if wave.retry_all or not left:
        return f" (runs all {len(wave.states)} members again)"
    if len(left) == len(wave.states):
        return ""
    return f" (runs only {_listed(left)} again)"


def _blocked(view: RunView) -> str:
    again = f"npac resume {view.run_id}"
    said = _RESUME.sub("", view.remedy.strip())
    commanded = re.search(rf"npac [\w ]+ {re.escape(view.run_id)}\b", said)
    if view.code == OUTPUT_LOST:
        return f"{said if commanded else _then(said, again)}; or begin anew: {_anew(view)}"
    if commanded:
        return said
    return _then(said, again)


def _anew(view: RunView) -> str:
    return f"npac run {shlex.quote(view.target)}" if view.target else "npac run SPEC"


def _then(first: str, command: str) -> str:
    if not first:
        return command
    if first[:1].isupper():
        return f"{first.rstrip('. ')}. Then: {command}"
    return f"{first.rstrip('. ')}, then: {command}"


def _listed(names: Iterable[str]) -> str:
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return ", ".join(found[:_LISTED]) + more
