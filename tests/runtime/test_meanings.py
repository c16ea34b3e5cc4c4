"""``npac why`` explains every code with which a run can be blocked, and ends with what to do."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from npac.runtime import waves
from npac.runtime.meanings import MEANINGS
from npac.runtime.view import BLOCKED, AttemptView, LaunchView, RunView, WaveView
from npac.runtime.why import why

SOURCES = Path(waves.__file__).parent

OTHERWISE = {
    # how a run, or an attempt at a wave, has failed
    "CLAIM_SEALED",
    "DECISION_INVALID",
    "DECLARED_OUTPUT_MISSING",
    "LAUNCH_REJECTED",
    "LINK_FAILED",
    "OUTPUT_FOLDER",
    "TRIGGER_TIMEOUT",
    "TRIGGER_TOO_MANY",
}
"""Codes that never block; whoever adds a code to the source says here, or in MEANINGS, what it is."""


def _codes() -> set[str]:
    """Give all words in the sources of the runtime that are written like a code of two words or more."""
    found = set()
    for path in SOURCES.glob("*.py"):
        if path.name == "meanings.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value} & set(re.findall(r"\A[A-Z]+(?:_[A-Z]+)+\Z", node.value))
    return found


def test_every_code_in_the_source_is_explained_or_is_none_of_a_blocked_run() -> None:
    assert _codes() == OTHERWISE | set(MEANINGS)


@pytest.mark.parametrize("code", sorted(MEANINGS))
def test_the_paragraph_has_a_cause_and_a_command(code: str) -> None:
    attempt = AttemptView(1, (0,), "first", "")
    attempt.launches[1] = LaunchView("id", "r-1-train", 1, (0,), ("train",), "here", posts=1, open=True)
    wave = WaveView("train", 1, "train", "task", {}, ("train",), attempts=[attempt])
    view = RunView(run_id="r", run_uid="u", workflow="w", state=BLOCKED, code=code, reason="this was seen")
    view.node, view.remedy, view.waves = "train", "see to it, then resume", {"train": wave}
    said = why(view)
    assert "\n" not in said
    assert said.startswith(f"Run r of w is blocked ({code}). this was seen. {MEANINGS[code]}")
    assert "POST 1 of r-1-train has no certain outcome." in said
    assert re.search(r" Next: .*npac resume r\b", said)
    assert 40 < len(MEANINGS[code]) < 300 and MEANINGS[code].endswith(".")
