"""The page of state machines says what the code does."""

from __future__ import annotations

import os

from tests.docs.machines import page
from tests.docs.pages import REPOSITORY

PAGE = REPOSITORY / "docs" / "state-machines.md"


def test_the_golden_page_is_what_the_machines_answer() -> None:
    wanted = page()
    if os.environ.get("NPAC_UPDATE_GOLDEN") == "1":
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted, "`make golden` writes the page anew"


def test_every_phase_of_the_launch_and_each_of_its_ends_is_shown() -> None:
    text = page()
    for phase in ("reconcile", "intent", "posting", "decide", "done"):
        assert f"| {phase} |" in text
    for end in ("attached", "rejected", "undecided", "moved"):
        assert f"**end: {end}**" in text
