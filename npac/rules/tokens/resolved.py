"""Whether a text's tokens could all be filled in.

Where one could not, that is a finding of its own, and what is left of the text says nothing about it.
"""

from __future__ import annotations

from npac.flow.flow import Flow
from npac.syntax.ast import Text
from npac.syntax.templates import Template, Token, parse_template
from npac.text.yaml_nodes import Scalar


def is_resolved(flow: Flow, state: str, text: Text) -> bool:
    """Say whether every token of a text of ``state`` has a value, with the state's params before config."""
    return _is_resolved(flow, state, text.template, params=True)


def is_scalar_resolved(flow: Flow, state: str, scalar: Scalar) -> bool:
    """Say the same of a scalar that has not been read as a template."""
    return "{{" not in scalar.value or _is_resolved(flow, state, parse_template(scalar.value), params=True)


def _is_resolved(flow: Flow, state: str, template: Template, *, params: bool) -> bool:
    if template.problems:
        return False
    return all(_has_value(flow, state, token, params) for token in template.tokens)


def _has_value(flow: Flow, state: str, token: Token, params: bool) -> bool:
    path = token.path
    if token.scope == "config":
        param = flow.spec.states[state].params.get(path) if params else None
        if param is not None:  # params see the base config, not each other
            return _is_resolved(flow, state, param.text.template, params=False)
        return path in flow.config.values
    if token.scope == "run":
        return flow.config.run_value(path) is not None
    if token.scope == "loop":
        target = flow.spec.states.get(path)
        return target is not None and target.loop is not None
    name, _, field = path.rpartition(".")
    target = flow.spec.states.get(name)
    if target is None:
        return False
    number = field.removeprefix("output_") if field != "uri" else "1"
    return (
        number.isascii() and number.isdigit() and len(number) < 7 and 1 <= int(number) <= len(target.outputs)
    )
