"""Texts keep their bounds also with the longest run id and in the last iteration of every loop."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.config import MAX_VALUE
from npac.flow.fields import Field, own_fields, profile_fields
from npac.flow.flow import Flow
from npac.flow.late import LONGEST_RUN_ID
from npac.flow.steps import SymbolicStep
from npac.flow.symbolic import MAX_ARGUMENT, hole_names, token_name, too_long
from npac.ir.values import Value
from npac.syntax.templates import parse_template
from npac.text.yaml_nodes import Scalar


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report texts that late values could make longer than they may be."""
    late = flow.late
    seen: set[tuple[int, int]] = set()
    profiles: set[int] = set()
    for key, value in flow.config.values.items():
        if not isinstance(value, str) and late.most(value) > MAX_VALUE:
            entry = flow.config.entries[key]
            written = entry.node.value if isinstance(entry.node, Scalar) else ""
            yield too_long(MAX_VALUE, parse_template(written), entry.key.span, _because(value))
    for step in flow.steps.by_state.values():
        long = any(not isinstance(value, str) and late.most(value) > MAX_ARGUMENT for value in _values(step))
        texts: Iterator[Field] = own_fields(step) if long else iter(())
        if id(step.profile) not in profiles:
            profiles.add(id(step.profile))
            texts = chain(texts, profile_fields(flow, step))
        for item in texts:
            if isinstance(item.value, str) or late.most(item.value) <= item.limit:
                continue
            at = (item.span.start, item.span.end)
            if at not in seen:
                seen.add(at)
                yield too_long(item.limit, parse_template(item.written), item.span, _because(item.value))


def _values(step: SymbolicStep) -> Iterator[Value]:
    """Give the values of :func:`own_fields` without saying where they stand: nearly all are short."""
    yield from step.argv
    yield step.shell
    for item in (*step.inputs, *step.outputs):
        yield item.uri
    if step.trigger is not None:
        yield step.trigger.uri
    yield from step.params.values()


def _because(value: Value) -> str:
    names: set[str] = set()
    hole_names(value, names)
    said = [
        f"a run id of {LONGEST_RUN_ID} characters" if name == "run.id" else token_name(name)
        for name in sorted(names)
    ]
    return f" with {' and '.join(said[:3])}"
