"""Several nodes run one command only when that command shares its work out."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related, Severity
from npac.flow.flow import Flow
from npac.flow.steps import SymbolicStep
from npac.ir.values import Apply, Concat, Hole, Value, has_hole
from npac.syntax.language import MAX_NODES
from npac.text.source import Span

CODES = (
    ("NPA505", "not-sharded", Severity.ERROR, "several nodes run a command that is not sharded"),
    ("NPA506", "shard-contract", Severity.ERROR, "a tool's rules for several nodes are not kept"),
)
"""What this rule reports: code, name, severity and a summary."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report multi-node states that are not sharded, and tools whose contract for shards is not kept."""
    for name, step in flow.steps.by_state.items():
        if not step.state.works:
            continue
        given = step.profile.get("num_nodes")
        text = ""
        if isinstance(given, (Hole, Concat, Apply)):
            text = flow.late.text(given)  # as many as the last iteration asks for
        elif isinstance(given, (int, str)) and not isinstance(given, bool):
            text = str(given)
        nodes = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 1
        if not 1 < nodes <= MAX_NODES:
            continue  # too many is an error of its own
        profile = flow.spec.profiles[step.profile_name]
        node = profile.node.get("num_nodes")
        related = (Related("the profile asks for several nodes here", node.span),) if node is not None else ()
        at = step.state.key_span("resources")
        sharded = step.state.multi_node_mode is not None or (
            step.tool is not None and step.tool.multi_node_mode == "sharded"
        )
        if not sharded:
            message = f"{name!r} would run the same command on {nodes} nodes"
            help_text = "add multiNodeMode: sharded if the command shares its work out by SKYPILOT_NODE_RANK"
            yield finding("not-sharded", message, at, help_text, related=related)
        elif step.tool is not None:
            yield from _contract(flow, step, nodes, at, related)


def _contract(
    flow: Flow, step: SymbolicStep, nodes: int, at: Span, related: tuple[Related, ...]
) -> Iterator[Diagnostic]:
    tool = step.tool
    assert tool is not None

    def value(key: str) -> Value | None:
        return step.params[key] if key in step.params else flow.config.values.get(key)

    if tool.shard_activation and value(tool.shard_activation) in (None, ""):
        message = (
            f"on {nodes} nodes, {tool.name} needs the config key {tool.shard_activation!r}, which is empty"
        )
        yield finding("shard-contract", message, at, f"set {tool.shard_activation}", related=related)
    if tool.shard_output:
        output = value(tool.shard_output)
        begin = output if isinstance(output, str) or output is None else getattr(output, "parts", ("",))[0]
        if not isinstance(begin, str) or not begin.startswith("s3://"):
            message = (
                f"on {nodes} nodes, {tool.name} needs an s3:// URI in the config key {tool.shard_output!r}"
            )
            yield finding(
                "shard-contract", message, at, f"set {tool.shard_output} to s3://...", related=related
            )
    if tool.variant_count:
        count = value(tool.variant_count)
        if (
            isinstance(count, str)
            and not has_hole(count)
            and count.isascii()
            and count.isdigit()
            and int(count) < nodes
        ):
            message = (
                f"{tool.name} makes {count} variants ({tool.variant_count}), fewer than its {nodes} nodes"
            )
            yield finding("shard-contract", message, at, "use fewer nodes or more variants", related=related)
