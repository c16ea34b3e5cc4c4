"""Config keys that only some of the states lack which share a text, and what these may have meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npac.catalog.model import Catalog
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.reads import unread_params
from npac.syntax.ast import Spec, State
from npac.syntax.nearest import nearest
from npac.text.source import Span

_MOST = 5
"""States that are named."""
_SEARCHED = 100
"""States that are asked whether one of their params was meant."""


def name_states(
    spec: Spec, catalog: Catalog, lacking: Mapping[tuple[Span, str], Sequence[str]], report: list[Diagnostic]
) -> None:
    """Say in the findings about unknown config keys which states lack them, where others may not.

    ``lacking`` gives these states by place and key.  A state's own params that nothing reads are what was
    most likely meant, then the params of states that do give the key.
    """
    keys: dict[Span, list[str]] = {}
    for span, key in lacking:
        keys.setdefault(span, []).append(key)
    namer = _Namer(spec, catalog)
    for index, item in enumerate(report):
        if item.code.name != "unknown-config-key":
            continue
        for key in keys.get(item.span, ()):
            if item.message.endswith(f"there is no config key {key!r}"):
                report[index] = namer.named(item, key, lacking[item.span, key])
                break


class _Namer:
    def __init__(self, spec: Spec, catalog: Catalog) -> None:
        self.spec = spec
        self.catalog = catalog
        self.givers = {key: state.name.value for state in spec.states.values() for key in state.params}
        """By config key: a state whose params give it."""
        self._unread: dict[str, list[str]] = {}
        self._profiles: dict[str, frozenset[str]] = {}

    def named(self, item: Diagnostic, key: str, states: Sequence[str]) -> Diagnostic:
        """Give a finding with the states that it is about, and what may have been meant."""
        giver = self.givers.get(key)
        first = self.spec.states[states[0]]
        if key in first.params:
            return item  # params that name each other, which is said
        guess = giver is not None or not item.help.startswith("did you mean")
        meant = self._meant(key, states, guess=guess)
        if giver is None and meant is None and len(states) == 1 and _holds(first, item.span):
            return item
        help_text = item.help
        if meant is not None:
            state, param = meant
            help_text = (
                f"the params of {state} give {param!r}, which nothing of it reads: should that be {key!r}?"
            )
        elif giver is not None:
            name = first.name.value
            help_text = f"give {key} by the params of {name}, as {giver} does, or declare it in config"
        return item._replace(message=f"{item.message} for {_listed(states)}", help=help_text)

    def _meant(self, key: str, states: Sequence[str], *, guess: bool) -> tuple[str, str] | None:
        """Give the first of the states that has an unread param like the key; with ``guess`` its only one."""
        for name in states[:_SEARCHED]:
            unread = self._of(name)
            near = nearest(key, unread, 1) if unread else []
            if near or (guess and len(unread) == 1):
                return name, (near or unread)[0]
        return None

    def _of(self, name: str) -> list[str]:
        found = self._unread.get(name)
        if found is None:
            state = self.spec.states[name]
            tool = self.catalog.get(state.tool_ref.value) if state.tool_ref is not None else None
            known = state.tool_ref is None or tool is not None
            found = self._unread[name] = (
                unread_params(self.spec, state, tool, self._profiles) if known else []
            )
        return found


def _holds(state: State, span: Span) -> bool:
    """Say whether a place is in the definition of a state itself."""
    return state.span.source is span.source and state.span.start <= span.start < state.span.end


def _listed(states: Sequence[str]) -> str:
    names = list(dict.fromkeys(states))
    if len(names) == 1:
        return f"the state {names[0]!r}"
    shown = names if len(names) <= _MOST + 1 else names[:_MOST]
    quoted = [repr(name) for name in shown]
    last = f"{len(names) - _MOST:,} more" if len(shown) < len(names) else quoted.pop()
    return f"the states {', '.join(quoted)} and {last}"
