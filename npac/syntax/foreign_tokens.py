"""Tokens as other tools write them, which npac leaves as text: what each was meant to read here.

Double braces are text unless their inside begins with a scope of npac, so that templates of other tools
can stand in a command.  Those that name a section of a spec, or what workflow tools for clusters and
continuous integration name, are nearly always meant for npac.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_NAME = r"[A-Za-z0-9_.\[\]'\"-]+"
_SCOPES = r"config|run|state|loop"
_WORDS = (
    r"params|parameters|secrets|env|envs|metadata|resources|inputs|outputs|steps|tasks|jobs|needs"
    r"|workflow|workflows|pipeline|matrix|github|vars|runner"
)
_FOREIGN = re.compile(
    rf"(?P<dollar>\$)\{{\{{[ \t]*(?:{_SCOPES})\.{_NAME}[ \t]*(?:\|[ \t]*\w+[ \t]*)?\}}\}}"
    rf"|\$\{{[ \t]*(?P<shell>{_SCOPES}|params|secrets)\.(?P<shell_path>{_NAME})[ \t]*\}}"
    rf"|\$?(?<!\{{)\{{\{{(?!\{{)-?[ \t]*(?P<word>{_WORDS})\.(?P<path>{_NAME})[ \t]*-?\}}\}}"
)
_LITERAL = "to keep the braces as text, write `{{{{` for `{{`"


class ForeignToken(NamedTuple):
    """A token of another tool: where it stands in the text, what is wrong with it, and what to write."""

    start: int
    end: int
    message: str
    help: str


def foreign_tokens(text: str) -> Iterator[ForeignToken]:
    """Give the tokens of other tools in ``text``, from left to right."""
    for match in _FOREIGN.finditer(text):
        whole = match[0] if len(match[0]) <= 80 else f"{match[0][:77]}..."
        if match["dollar"]:
            token = whole[1:]
            message = f"the `$` of `{whole}` stays before the value: a token of npac has none"
            yield ForeignToken(match.start(), match.start() + 1, message, f"write `{token}`")
        elif match["shell"]:
            message = f"`{whole}` is no token: those of npac have double braces and no `$`"
            help_text = _advice(match["shell"], match["shell_path"])
            yield ForeignToken(*match.span(), message, help_text)
        else:
            message = f"`{whole}` is left as text: `{match['word']}` is no scope of npac"
            help_text = f"{_advice(match['word'], match['path'])}; {_LITERAL}"
            yield ForeignToken(*match.span(), message, help_text)


def _advice(word: str, path: str) -> str:
    """Say how npac reads what another tool reads by ``word.path``."""
    name = re.split(r"[.\[]", path)[-1].strip("]'\"") or "KEY"
    name = name if len(name) <= 60 else "KEY"
    if word in ("config", "run", "state", "loop"):
        return f"write `{{{{{word}.{path if len(path) <= 60 else 'KEY'}}}}}`"
    if word in ("params", "parameters", "inputs", "vars", "matrix") and (
        word != "inputs" or path.startswith("parameters")
    ):
        return f"write `{{{{config.{name}}}}}`, which the params of a state override for it"
    if word == "secrets":
        return f"name it in the state's secrets: [{name}], and read ${name} in run.shell"
    if word in ("env", "envs"):
        return f"read ${name} in run.shell; a value of the spec is `{{{{config.KEY}}}}`"
    if word in ("inputs", "outputs", "steps", "tasks", "jobs", "needs"):
        return "where a state's first output is: `{{state.NAME.uri}}`; a value of the spec: `{{config.KEY}}`"
    if word in ("metadata", "workflow", "workflows"):
        return "`{{run.id}}` is the run's id, `{{run.prefix}}` the workflow's name and the id"
    return "tokens read config, run, state and loop: put the value into config, and write `{{config.KEY}}`"
