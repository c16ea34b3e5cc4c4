"""A spec with decisions says whether only real ones may route."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow

CODES = (
    (
        "NPA405",
        "undeclared-runtime-mode",
        Severity.NOTE,
        "a spec with decisions declares no executionMode",
    ),
)
"""What this rule reports: code, name, severity and a summary."""

_DECISIONS = ("promote", "promote_checkpoint", "loop_back", "loop_back_to_inner_loop")


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Note a spec that reads decisions and does not declare ``executionMode: runtime``.

    ``config.plan_assume_decision``, which previews go by, must be a decision.
    """
    yield from _assumed(flow)
    spec = flow.spec
    if spec.runtime_mode:
        return
    decides = any(exits.decides for exits in flow.structure.exits.values()) or any(
        state.loop is not None and state.loop.until is not None for state in spec.states.values()
    )
    metadata = spec.top.key("metadata")
    if decides and metadata is not None:
        message = "this spec reads decisions and does not say that only real ones may route"
        help_text = "add executionMode: runtime to metadata"
        yield finding("undeclared-runtime-mode", message, metadata.span, help_text)


def _assumed(flow: Flow) -> Iterator[Diagnostic]:
    text = flow.config.text("plan_assume_decision")
    if text and text not in _DECISIONS:
        message = f"plan_assume_decision is {text!r:.80}, and there is no such decision"
        at = flow.config.entries["plan_assume_decision"].node.span
        yield finding(
            "unknown-predicate", message, at, "write promote_checkpoint or loop_back, or leave it empty"
        )
