"""Config values that can change the shape of a shell command."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.credentials import credentials
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.flow.symbolic import MAX_ARGUMENT
from npac.ir.values import TRANSFORMS, Value
from npac.rules.tokens.here_documents import with_plain_words
from npac.rules.tokens.shell_quoting import Quoting, quotings
from npac.syntax.ast import State
from npac.syntax.templates import Token

CODES = (
    ("NPA221", "shell-injection", Severity.WARNING, "a config value can change the shape of a shell command"),
)
"""What this rule reports: code, name, severity and a summary."""

_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./-]+\Z")
_ACTIVE = {
    Quoting.DOUBLE: ('"$\\`', "inside double quotes"),
    Quoting.HEREDOC: ("$\\`", "inside a here-document"),
    Quoting.SINGLE: ("'", "inside single quotes"),
    Quoting.ANSI: ("'\\", "inside $'...'"),
    Quoting.COMMENT: ("\n", "inside a comment"),
    Quoting.LITERAL: ("", ""),
}
# what is said of a value that is never shown, nor a character of it
_UNSAID = {
    quoting: f"holds a character that the shell reads {where}" for quoting, (_, where) in _ACTIVE.items()
} | {Quoting.NONE: "holds a character that the shell reads, and is unquoted"}


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report config and run tokens in ``run.shell`` whose values do not stay what they are there."""
    known: dict[tuple[Value, str | None, Quoting], str | None] = {}  # one value may stand in many places
    for name, state in flow.spec.states.items():
        if state.shell is None or not state.shell.template.tokens:
            continue
        tokens = state.shell.template.tokens
        written = sum(len(part) for part in state.shell.template.parts if isinstance(part, str))
        if written > MAX_ARGUMENT:
            continue  # that is an error of its own, and no shell will read it
        where = quotings(
            with_plain_words(state.shell.node.value), [(token.start, token.end) for token in tokens]
        )
        for token, quoting in zip(tokens, where, strict=True):
            value = brought_in(flow, name, token)
            if value is None:
                continue
            use = (value, token.transform, quoting)
            if use not in known:
                why = _danger(*use)
                known[use] = _UNSAID[quoting] if why is not None and _is_hidden(flow, value) else why
            why = known[use]
            if why is not None:
                yield _finding(state, token, why)


def brought_in(flow: Flow, state: str, token: Token) -> Value | None:
    """Give the value of a config or run token in the command of a state; None for others and for none."""
    if token.scope == "run":
        return flow.config.run_value(token.path)
    if token.scope != "config":
        return None
    params = flow.steps.by_state[state].params
    return params[token.path] if token.path in params else flow.config.values.get(token.path)


def _is_hidden(flow: Flow, value: Value) -> bool:
    """Say whether a value holds a secret that was found before."""
    text = _text(value, None)
    return (
        any(secret in text for secret in flow.secrets if secret) or next(credentials(text), None) is not None
    )


def _finding(state: State, token: Token, why: str) -> Diagnostic:
    assert state.shell is not None
    message = f"the value of {token.scope}.{token.path} {why}, and can change what this command means"
    help_text = f"write {{{{{token.scope}.{token.path} | sh}}}} without quotes around it, or use run.argv"
    return finding("shell-injection", message, state.shell.node.inner(token.start, token.end), help_text)


def _danger(value: Value, transform: str | None, quoting: Quoting) -> str | None:
    if quoting is Quoting.NONE and transform == "sh":
        return None
    text = _text(value, transform)
    if quoting is not Quoting.NONE:
        active, where = _ACTIVE[quoting]
        bad = [char for char in active if char in text]
        return f"holds {' '.join(map(_shown, bad))} {where}" if bad else None
    if text == "" and isinstance(value, str):
        return "is empty and unquoted"
    if text and not _SAFE.match(text):
        return f"holds {_shown(next(char for char in text if not _SAFE.match(char)))} and is unquoted"
    return None


def _shown(char: str) -> str:
    return {" ": "a blank", "\n": "a line break", "\t": "a tab"}.get(char, char)


def _text(value: Value, transform: str | None) -> str:
    """Give the text that a token brings in; of a value that depends on the run, what is known of it."""
    if isinstance(value, str):
        return TRANSFORMS[transform](value) if transform else value
    known = "".join(part for part in getattr(value, "parts", ()) if isinstance(part, str))
    return TRANSFORMS[transform](known) if transform and known else known
