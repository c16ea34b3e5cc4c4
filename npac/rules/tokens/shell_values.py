"""Config values that can change the shape of a shell command."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.flow import Flow
from npac.ir.values import Value
from npac.syntax.ast import State, Text
from npac.syntax.templates import Token

_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./-]+\Z")
_HEREDOC = re.compile(r"<<-?[ \t]*(\\|['\"]?)([A-Za-z_][A-Za-z0-9_]*)['\"]?")
_DOUBLE_QUOTED = frozenset('"$\\`')


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Report config tokens in ``run.shell`` whose values do not stay one word there."""
    for name, state in flow.spec.states.items():
        if state.shell is None or not state.shell.template.tokens:
            continue
        contexts = _contexts(state.shell)
        for token in state.shell.template.tokens:
            if token.scope not in ("config", "run") or token.transform is not None:
                continue
            value = flow.steps.by_state[name].params.get(token.path) if token.scope == "config" else None
            if value is None:
                known = flow.config.values.get(token.path) if token.scope == "config" else flow.config.run_value(token.path)
                value = known
            if value is None:
                continue
            why = _danger(value, contexts[token.start])
            if why is not None:
                yield _finding(state, token, why, state.shell)


def _finding(state: State, token: Token, why: str, text: Text) -> Diagnostic:
    message = f"the value of {token.scope}.{token.path} {why}, and can change what this command means"
    help_text = f"write {{{{{token.scope}.{token.path} | sh}}}} without quotes around it, or use run.argv"
    return finding("shell-injection", message, text.node.inner(token.start, token.end), help_text)


def _danger(value: Value, context: str) -> str | None:
    texts = [value] if isinstance(value, str) else [part for part in getattr(value, "parts", ()) if isinstance(part, str)]
    joined = "".join(texts)
    if context == "literal":
        return None
    if context == "'":
        return "holds a single quote" if "'" in joined else None
    if context in ('"', "heredoc"):
        bad = sorted(set(joined) & (_DOUBLE_QUOTED if context == '"' else _DOUBLE_QUOTED - {'"'}))
        return f"holds {' '.join(bad)} inside double quotes" if bad else None
    if joined == "" and isinstance(value, str):
        return "is empty and unquoted"
    if joined and not _SAFE.match(joined):
        bad = next(char for char in joined if not _SAFE.match(char))
        return f"holds {'a blank' if bad == ' ' else repr(bad)} and is unquoted"
    return None


def _contexts(text: Text) -> dict[int, str]:
    """Give the quoting in which each token of a shell text stands, by the token's start."""
    source = text.node.value
    starts = {token.start: token for token in text.template.tokens}
    found: dict[int, str] = {}
    quote = ""
    at = 0
    pending: list[tuple[str, bool]] = []
    while at < len(source):
        token = starts.get(at)
        if token is not None:
            found[at] = quote
            at = token.end
            continue
        char = source[at]
        if quote == "'":
            if char == "'":
                quote = ""
        elif char == "\\":
            at += 1
        elif char == '"':
            quote = "" if quote == '"' else '"'
        elif quote == '"':
            pass
        elif char == "'":
            quote = "'"
        elif char == "#" and (at == 0 or source[at - 1] in " \t\n;"):
            at = _comment(source, at, starts, found)
            continue
        elif char == "<" and source.startswith("<<", at) and not source.startswith("<<<", at):
            match = _HEREDOC.match(source, at)
            if match is not None:
                pending.append((match[2], match[1] != ""))
                at = match.end()
                continue
        elif char == "\n" and pending:
            at = _heredoc(source, at + 1, pending.pop(0), starts, found)
            continue
        at += 1
    return found


def _comment(source: str, at: int, starts: dict[int, Token], found: dict[int, str]) -> int:
    end = source.find("\n", at)
    end = len(source) if end < 0 else end
    for start in starts:
        if at <= start < end:
            found[start] = "literal"
    return end


def _heredoc(
    source: str, at: int, heredoc: tuple[str, bool], starts: dict[int, Token], found: dict[int, str]
) -> int:
    word, quoted = heredoc
    end = re.compile(rf"^[ \t]*{re.escape(word)}[ \t]*$", re.MULTILINE).search(source, at)
    stop = end.end() if end is not None else len(source)
    for start in starts:
        if at <= start < stop:
            found[start] = "literal" if quoted else "heredoc"
    return stop
