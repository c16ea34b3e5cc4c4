"""No program can be given a NUL character, in its command or in its environment."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.ir.values import Value
from npac.text.source import Span

CODES = (("NPA332", "nul-character", Severity.ERROR, "a command holds a NUL character"),)
"""What this rule reports: code, name, severity and a summary."""

_HELP = (
    "a NUL is written \\0 or \\x00 in double quotes: take it out, or encode it, as {{config.KEY|base64}} does"
)


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report commands that hold a NUL, which can come from an escape in the spec or in an overlay."""
    if not _may_hold_nul(flow):
        return
    for name, step in flow.steps.by_state.items():
        state = step.state
        if state.argv is not None:
            for word, value in zip(state.argv, step.argv, strict=True):
                yield from _text(f"a word of the command of {name!r}", value, word.node.span)
        elif step.tool is not None and state.tool_ref is not None:
            values: list[Value] = [*step.argv, *step.tool.env.values()]
            bad = next((value for value in values if _holds_nul(value)), "")
            yield from _text(f"the command of {name!r}", bad, state.tool_ref.span)
        if state.shell is not None:
            yield from _text(f"the command of {name!r}", step.shell, state.shell.node.span)


def _may_hold_nul(flow: Flow) -> bool:
    """Say whether anything could bring in a NUL: an escape in a text of the spec, or a tool of a catalog."""
    if "\\" in flow.spec.source.text or any("\\" in given.node.source.text for given in flow.config.given):
        return True
    tools = {step.tool.name: step.tool for step in flow.steps.by_state.values() if step.tool is not None}
    return any(
        "\0" in text
        for tool in tools.values()
        for text in (*tool.argv, *tool.env.values(), *tool.config_defaults.values())
    )


def _text(what: str, value: Value, at: Span) -> Iterator[Diagnostic]:
    if _holds_nul(value):
        yield finding("nul-character", f"{what} holds a NUL, which no program can be given", at, _HELP)


def _holds_nul(value: Value) -> bool:
    parts = (value,) if isinstance(value, str) else getattr(value, "parts", ())
    return any(isinstance(part, str) and "\0" in part for part in parts)
