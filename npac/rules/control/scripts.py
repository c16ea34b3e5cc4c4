"""A task begins in an empty folder of its own: a script beside the spec is not in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from npac.diagnostics.codes import finding
from npac.diagnostics.diagnostic import Diagnostic
from npac.flow.flow import Flow
from npac.ir.values import Value

_INTERPRETER = re.compile(
    r"(?:python[0-9.]*|bash|sh|dash|zsh|ksh|node|deno|perl|ruby|lua|julia|Rscript|pwsh)\Z"
)
_SCRIPT = re.compile(r"\.(?:py|sh|bash|js|mjs|cjs|ts|pl|rb|lua|jl|[rR]|ps1)\Z")
_INLINE = re.compile(r"-(?:[A-Za-z]*[cme]|-eval|-command)\Z")
"""Options after which what runs is no file: ``-c``, ``-m``, ``-e``, ``bash -lc``."""
_VALUED = frozenset(("-W", "-X", "-O", "-o", "-r", "--require"))


def check(flow: Flow) -> Iterator[Diagnostic]:
    """Note words of ``run.argv`` that name the script to run by a relative path."""
    for name, state in flow.spec.states.items():
        words = flow.steps.by_state[name].argv
        if state.argv is None or len(words) != len(state.argv):
            continue
        at = _script(words)
        if at is None:
            continue
        script = str(words[at])
        message = (
            f"{name!r} runs {script!r:.160}, and a task begins in an empty folder of its own, "
            "where no such file is"
        )
        plain = script.removeprefix("./")
        help_text = (
            f"give an absolute path, e.g. through config: {{{{config.code}}}}/{plain:.80} and --var code=$PWD"
        )
        yield finding("relative-script", message, state.argv[at].node.span, help_text)


def _script(words: Sequence[Value]) -> int | None:
    """Give the place of the script that a command runs, when it is a relative path."""
    program = words[0] if words else None
    if not isinstance(program, str):
        return None
    if program.startswith(("./", "../")):
        return 0
    if not _INTERPRETER.match(program.rpartition("/")[2]):
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


def _is_relative(word: str) -> bool:
    if word.startswith(("/", "~")) or "://" in word:
        return False
    return word.startswith(("./", "../")) or _SCRIPT.search(word) is not None
