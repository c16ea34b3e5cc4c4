"""What every renderer is told besides the findings, and how a code's page is shown."""

from typing import NamedTuple

from npac.text.source import Span

DEFAULT_WIDTH = 120
MANY = 1000
"""Findings that are shown at length; of more, each takes one line."""


def rule_command(code: str) -> str:
    """Give the command that prints the page about ``code`` (``"NPA302"``)."""
    return f"npac explain {code}"


class Options(NamedTuple):
    """How to show findings.

    ``color``: colour the text.  ``checked``: the number of specs that were looked at, for the
    summary; None when it is not known.  ``hidden``: places whose characters must never be shown
    (secrets); the text renderer, the only one that quotes sources, writes ``[hidden]`` instead.
    ``width``: columns of a source line that are shown at most.  ``raw``: how many of the checked
    files are raw SkyPilot YAML, ``silenced`` how many errors were silenced, ``lesser`` how many findings
    are less severe than what is shown; the summary of the text renderer says so.
    ``quiet``: no summary.
    """

    color: bool = False
    checked: int | None = None
    hidden: tuple[Span, ...] = ()
    width: int = DEFAULT_WIDTH
    raw: int = 0
    silenced: int = 0
    lesser: int = 0
    quiet: bool = False
