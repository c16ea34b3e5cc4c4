"""A task begins in an empty folder of its own: a script beside the spec is not in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic, Severity
from npac.flow.flow import Flow
from npac.flow.symbolic import MAX_ARGUMENT
from npac.ir.values import TRANSFORMS, Value
from npac.rules.tokens.resolved import is_resolved
from npac.rules.tokens.shell_values import brought_in
from npac.syntax.ast import State, Text
from npac.syntax.templates import Token
from npac.text.source import Span

CODES = (("NPA331", "relative-script", Severity.NOTE, "a script is named by a relative path"),)
"""What this rule reports: code, name, severity and a summary."""

_INTERPRETER = re.compile(
    r"(?:python[0-9.]*|bash|sh|dash|zsh|ksh|node|deno|perl|ruby|lua|julia|Rscript|pwsh)\Z"
)
_SUFFIX = r"\.(?:py|sh|bash|js|mjs|cjs|ts|pl|rb|lua|jl|[rR]|ps1)"
_SCRIPT = re.compile(rf"{_SUFFIX}\Z")
_INLINE = re.compile(r"-(?:[A-Za-z]*[cme]|-eval|-command)\Z")
"""Options after which what runs is no file: ``-c``, ``-m``, ``-e``, ``bash -lc``."""
_VALUED = frozenset(("-W", "-X", "-O", "-o", "-r", "--require"))
_LAUNCHERS = frozenset(("torchrun", "deepspeed"))
_NO_SCRIPT = frozenset(("-m", "--module", "--no-python", "--no_python"))

_HARMLESS = frozenset(
    (
        ":", "[", "date", "echo", "export", "hash", "mkdir", "nvidia-smi", "printf", "set", "shopt", "sleep",
        "test", "true", "ulimit", "umask", "unset", "which",
    )
)  # fmt: skip
"""Commands of a shell text after which the folder is the same, and no script is in it."""
_BEFORE = frozenset(("exec", "time", "nohup", "env"))
_ASSIGNMENT = r"[A-Za-z_][A-Za-z0-9_]*="


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Note the word of a command that names the script to run by a relative path."""
    for name, state in flow.spec.states.items():
        if state.argv is not None:
            words = flow.steps.by_state[name].argv
            at = _script(words) if len(words) == len(state.argv) else None
            # of a word with a token that cannot be filled in, nobody knows what it is
            if at is not None and is_resolved(flow, name, state.argv[at]):
                yield _finding(flow, name, str(words[at]), state.argv[at].node.span, "")
        if state.shell is not None:
            yield from _shell(flow, name, state)


def _finding(flow: Flow, name: str, script: str, at: Span, transform: str) -> Diagnostic:
    message = (
        f"{name!r} runs {script!r:.160}, and a task begins in an empty folder of its own, "
        "where no such file is"
    )
    code = f"{{{{config.code{transform}}}}}"
    plain = script.removeprefix("./")
    declare = "" if "code" in flow.config.entries else 'declare code: "" in config, '
    help_text = (
        f"give an absolute path, or the folder when the run is started: {declare}write {code}/{plain:.80}, "
        "and run with --var code=$PWD"
    )
    return finding("relative-script", message, at, help_text)


def _shell(flow: Flow, name: str, state: State) -> Iterator[Diagnostic]:
    """Look at the first command of a shell text that may change the folder or what is in it."""
    assert state.shell is not None
    text = state.shell.node.value
    if len(text) > MAX_ARGUMENT or not re.search(rf"\.{{1,2}}/|{_SUFFIX}\b|\{{\{{", text):
        return
    from npac.rules.control.shell_words import first_commands

    values = {token.start: (token.end, _known(flow, name, token)) for token in state.shell.template.tokens}
    for command in first_commands(text, values):
        words = command.words
        while words and words[0].text is not None:
            if words[0].text not in _BEFORE and not re.match(_ASSIGNMENT, words[0].text):
                break
            words = words[1:]
        program = words[0].text if words else None
        if not words or (program in _HARMLESS and not command.open):
            continue
        if program in ("source", "."):
            words = words[1:2]  # a path without a slash is looked for in PATH
        at = _script([word.text for word in words])
        if at is not None and not _is_malformed(state.shell, words[at].start, words[at].end):
            span = state.shell.node.inner(words[at].start, words[at].end)
            yield _finding(flow, name, words[at].text or "", span, " | sh")
        return


def _is_malformed(text: Text, start: int, end: int) -> bool:
    """Say whether something in a stretch of a text is meant as a token and is none."""
    return any(problem.start < end and start < problem.end for problem in text.template.problems)


def _known(flow: Flow, state: str, token: Token) -> str | None:
    """Give the text that a token brings into a command, if that is known beforehand."""
    value = brought_in(flow, state, token)
    if not isinstance(value, str):
        return None
    return TRANSFORMS[token.transform](value) if token.transform else value


def _script(words: Sequence[Value | None]) -> int | None:
    """Give the place of the script that a command runs, when it is a relative path."""
    program = words[0] if words else None
    if not isinstance(program, str):
        return None
    if program.startswith(("./", "../")):
        return 0
    name = program.rpartition("/")[2]
    if name in _LAUNCHERS:
        return _launched(words)
    if not _INTERPRETER.match(name):
        return None
    place = 1
    while place < len(words):
        word = words[place]
        if not isinstance(word, str) or _INLINE.match(word) or word == "-":
            return None
        if not word.startswith("-"):
            return place if _is_relative(word) else None
        place += 2 if word in _VALUED else 1
    return None


def _launched(words: Sequence[Value | None]) -> int | None:
    """Give the place of the script that a launcher of many processes starts: the first word like one."""
    for place, word in enumerate(words):
        if place == 0 or not isinstance(word, str):
            continue
        if word in _NO_SCRIPT:
            return None
        if not word.startswith("-") and _SCRIPT.search(word):
            return place if _is_relative(word) else None
    return None


def _is_relative(word: str) -> bool:
    if word.startswith(("/", "~")) or "://" in word:
        return False
    return word.startswith(("./", "../")) or _SCRIPT.search(word) is not None
