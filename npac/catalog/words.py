"""Tokens in the words of a command.

A catalog is checked before any spec is read, and only for form: whether a key exists is for the
spec that uses the tool.
"""

from __future__ import annotations

import re

from npac.catalog.model import nearest

_SCOPES = ("config", "run", "state", "loop")
_TOKEN = re.compile(r"\{\{\s*(?:config|run|state|loop)\.[A-Za-z0-9_.-]+\s*(?:\|\s*[A-Za-z0-9_]+\s*)?\}\}")
_HEAD = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)(?=[.\[\s])")
_LITERAL = "{{{{"


def find_bad_token(word: str) -> tuple[int, int, str] | None:
    """Find the first thing in ``word`` that means to be a token and is none.

    Gives where it begins and ends and a sentence that says what a token looks like; None when all
    is well.  Braces that begin with no scope's name, or nearly one, are plain text.
    """
    at = word.find("{{")
    while at >= 0:
        if word.startswith(_LITERAL, at):
            at = word.find("{{", at + len(_LITERAL))
            continue
        token = _TOKEN.match(word, at)
        if token:
            at = word.find("{{", token.end())
            continue
        head = _HEAD.match(word, at)
        if head:
            scope = head[1]
            meant = scope if scope in _SCOPES else next(iter(nearest(scope, _SCOPES, 1)), "")
            if meant:
                end = word.find("}}", at)
                return at, len(word) if end < 0 else end + 2, f"A token is written {{{{{meant}.NAME}}}}."
        at = word.find("{{", at + 2)
    return None
