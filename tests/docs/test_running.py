"""The page about running names every end of a run and every option of ``npac run`` that steers a driver."""

from __future__ import annotations

import re

from npac.cli.run import command
from npac.runtime import view
from npac.runtime.options import result_of
from tests.docs.pages import REPOSITORY

PAGE = (REPOSITORY / "docs/running.md").read_text(encoding="utf-8")


def test_the_table_of_ends_holds_every_state_with_its_exit_code() -> None:
    table = PAGE.partition("## How a run ends")[2].partition("\n\n`npac status`")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", table, re.MULTILINE))
    states = (view.SUCCEEDED, view.FAILED, view.BLOCKED, view.CANCELLED, view.RUNNING, view.WAITING)
    assert rows == {state: str(result_of(view.RunView(state=state)).exit_code) for state in states}


def test_options_that_say_how_a_run_is_driven_or_shown_are_named() -> None:
    # What a program is compiled and linked with is the subject of other pages.
    elsewhere = {
        "--config", "--set", "--catalog", "--allow-new-vars", "--max-steps", "--max-nodes", "--pin",
        "--accelerator",
    }  # fmt: skip
    hidden = {opt for param in command.params if getattr(param, "hidden", False) for opt in param.opts}
    options = {opt for param in command.params for opt in param.opts if opt.startswith("--")}
    left = sorted(options - hidden - elsewhere)
    assert [name for name in left if not re.search(rf"{name}\b", PAGE)] == []
