"""Params of a state that nothing of it reads: often a config key that was meant to be replaced, misspelt."""

from __future__ import annotations

from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Related, Severity
from npac.flow.flow import Flow
from npac.syntax.ast import State

CODES = (("NPA224", "unused-param", Severity.NOTE, "nothing of a state reads one of its params"),)
"""What this rule reports: code, name, severity and a summary."""


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Note params that are not read; warn where the state reads a config key spelt nearly like one.

    What several states give by one key that none of them reads is noted once.
    """
    lacking = {name for names in flow.steps.evaluator.lacking.values() for name in names}
    notes: dict[str, list[tuple[Diagnostic, str]]] = {}
    profiles: dict[str, frozenset[str]] = {}
    for state in flow.spec.states.values():
        if not state.params or state.is_group:
            continue  # params on a group are an error of their own
        tool = flow.catalog.get(state.tool_ref.value) if state.tool_ref is not None else None
        if state.tool_ref is not None and tool is None:
            continue  # what an unknown tool reads is not known
        from npac.flow.reads import keys_read, unread_params

        unread = unread_params(flow.spec, state, tool, profiles)
        if not unread:
            continue
        for item in _unread(flow, state, unread, keys_read(flow.spec, state, tool, profiles)):
            # where a key is missing, that finding says which of the params may have been meant
            if item.severity > Severity.NOTE:
                yield item
            elif state.name.value not in lacking:
                words = item.message.replace(repr(state.name.value), "", 1)
                notes.setdefault(words, []).append((item, state.name.value))
    for (first, _), *others in notes.values():
        if others:
            from npac.rules.shared import listed

            names = listed(list(dict.fromkeys(name for _, name in others)))
            first = first._replace(message=f"{first.message}; the same holds for {names}")
        yield first


def _unread(flow: Flow, state: State, unread: list[str], read: set[str]) -> Iterator[Diagnostic]:
    from npac.syntax.nearest import Names, is_slip

    name = state.name.value
    # what the state reads of the base config; a key that nobody declares is an error of its own
    base = Names(sorted(key for key in read if key not in state.params and key in flow.config.entries))
    for key in unread:
        at = state.params[key].key
        message = f"nothing of {name!r} reads its param {key!r:.120}"
        near = base.nearest(key, 1)
        if near and is_slip(key, near[0]):
            where = flow.config.entries[near[0]].key
            related = () if where.aliased else (Related("the command gets this one", where.span),)
            message += f", and it reads config.{near[0]:.120}, which stays as config gives it"
            help_text = f"did you mean {near[0]!r:.120}?"
            yield finding(
                "unused-param", message, at.span, help_text, related=related, severity=Severity.WARNING
            )
        elif _decides(state, key):
            message += ": loop.max and if read config itself, whatever params say"
            yield finding("unused-param", message, at.span, f"give {key:.80} in config, or remove it here")
        elif _in_config(flow, key, read):
            help_text = (
                f"config values are put together before any params: name config.{key:.80} in the state itself"
            )
            yield finding("unused-param", f"{message}, only other config values do", at.span, help_text)
        else:
            help_text = "remove it, or name it x-... if it is a remark; params hold for this state only"
            yield finding("unused-param", message, at.span, help_text)


def _decides(state: State, key: str) -> bool:
    """Say whether a key is read by the state's loop or one of its conditions, which see no params."""
    from npac.syntax.conditions import Condition, parse_condition

    if state.loop is not None and state.loop.max is not None and state.loop.max.key == key:
        return True
    parsed = (parse_condition(item.condition.value) for item in state.transitions if item.condition)
    return any(isinstance(item, Condition) and item.key == key for item in parsed)


def _in_config(flow: Flow, key: str, read: set[str]) -> bool:
    """Say whether a config value that the state reads is put together from a key, at any depth."""
    from npac.syntax.templates import parse_template
    from npac.text.yaml_nodes import Scalar

    seen = set(read)
    stack = list(read)
    while stack:
        entry = flow.config.entries.get(stack.pop())
        if entry is None or not isinstance(entry.node, Scalar) or "{{" not in entry.node.value:
            continue
        for token in parse_template(entry.node.value).tokens:
            if token.scope == "config" and token.path not in seen:
                seen.add(token.path)
                stack.append(token.path)
                if token.path == key:
                    return True
    return False
