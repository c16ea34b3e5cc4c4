"""A step's command as one line of text."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from npac.diagnostics.render.visible import visible
from npac.ir.program import Step
from npac.ir.values import bind, show


def command(step: Step, late: Mapping[str, str]) -> str:
    """Give the command of a step in one line: words quoted for a shell where they must be.

    Of a text with several lines the first that is not empty stands there, and how many more there are.
    Empty for a step that has no command.
    """
    if step.argv:
        return " ".join(shlex.quote(_line(show(bind(word, late)))) for word in step.argv)
    text = step.raw.get("run", "") if step.raw else step.shell
    return (
        ""
        if isinstance(text, (list, dict, bool, int, float)) or text is None
        else _line(show(bind(text, late)))
    )


def _line(text: str) -> str:
    if "\n" not in text:
        return visible(text)
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2:
        return visible("".join(lines).strip())
    more = len(lines) - 1
    return f"{visible(lines[0].strip())} (+{more:,} line{'' if more == 1 else 's'})"
