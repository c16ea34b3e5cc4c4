"""Where in a shell text a token stands: bare, in quotes, in a comment, in a here-document.

A scanner of what matters for quoting in POSIX shell and bash.  Command substitutions begin a new,
unquoted text, also inside double quotes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

_HEREDOC = re.compile(r"<<-?[ \t]*(\\|['\"]?)([A-Za-z_][A-Za-z0-9_]*)['\"]?")
_MARK = re.compile(r"""["'`$\\(){}#<\n]""")
_BEFORE_COMMENT = frozenset(" \t\n;&|(")


class Quoting(Enum):
    """How the shell reads what stands at a place."""

    NONE = "none"
    DOUBLE = "double"
    SINGLE = "single"
    ANSI = "ansi"
    """``$'...'``"""
    HEREDOC = "heredoc"
    LITERAL = "literal"
    """A here-document whose word is quoted: nothing in it is expanded."""
    COMMENT = "comment"


def quotings(text: str, tokens: Sequence[tuple[int, int]]) -> list[Quoting]:
    """Give the quoting of each of ``tokens``, stretches of ``text`` (from, up to) in their order."""
    scanner = _Scanner(text, dict(tokens))
    scanner.run()
    return [scanner.found.get(start, Quoting.NONE) for start, _ in tokens]


class _Open(NamedTuple):
    """Something that is open, and what follows from it and from what is open around it.

    ``quote`` and ``tick`` are the places, in the list of what is open, of the innermost ``"`` of this
    command and of the innermost backtick of all; -1 for none.
    """

    mark: str  # one of " ${ $( ( `
    double: bool
    quote: int
    tick: int


_NOTHING = _Open("", False, -1, -1)


class _Scanner:
    """Walks over the text once; every step looks at the innermost of what is open, never at all of it."""

    def __init__(self, text: str, tokens: dict[int, int]) -> None:
        self.text = text
        self.tokens = tokens
        self.starts = sorted(tokens)
        self.found: dict[int, Quoting] = {}
        self.open: list[_Open] = [_NOTHING]
        self.pending: deque[tuple[str, bool]] = deque()
        self.at = 0

    def run(self) -> None:
        size = len(self.text)
        mark = -1  # where the next character stands that means something
        ahead = 0
        while self.at < size:
            end = self.tokens.get(self.at)
            if end is not None:
                self.found[self.at] = Quoting.DOUBLE if self.open[-1].double else Quoting.NONE
                self.at = end
                continue
            if mark < self.at:
                match = _MARK.search(self.text, self.at)
                mark = match.start() if match is not None else size
            while ahead < len(self.starts) and self.starts[ahead] < self.at:
                ahead += 1
            token = self.starts[ahead] if ahead < len(self.starts) else size
            if token < mark or mark == size:
                self.at = min(token, mark)
            else:
                self.at = mark
                self._step(self.text[mark])

    def _step(self, char: str) -> None:
        text, at = self.text, self.at
        top = self.open[-1]
        self.at += 1
        if char == "\\":
            if self.at not in self.tokens:
                self.at += 1
        elif char == '"':
            if top.quote >= 0 and top.mark != "${":
                del self.open[top.quote :]
            else:
                self._enter('"')
        elif char == "`":
            if top.tick >= 0:
                del self.open[top.tick :]
            else:
                self._enter("`")
        elif char == "$":
            if text[self.at : self.at + 1] in ("(", "{"):
                self._enter(text[at : at + 2])
                self.at += 1
        elif char == "}" and top.mark == "${":
            self.open.pop()
        elif top.double:
            return
        elif char == ")":
            if top.mark in ("(", "$("):
                self.open.pop()
        elif char == "(":
            self._enter("(")
        elif char == "'":
            ansi = text[at - 1 : at] == "$"
            self._until_quote(Quoting.ANSI if ansi else Quoting.SINGLE)
        elif char == "#" and (at == 0 or text[at - 1] in _BEFORE_COMMENT):
            self._skip_to(_end(text.find("\n", at), text), Quoting.COMMENT)
        elif char == "<" and text.startswith("<<", at) and not text.startswith("<<<", at):
            match = _HEREDOC.match(text, at)
            if match is not None:
                self.pending.append((match[2], match[1] != ""))
                self.at = match.end()
        elif char == "<" and text.startswith("<<<", at):
            self.at = at + 3
        elif char == "\n" and self.pending:
            self._heredoc(*self.pending.popleft())

    def _enter(self, mark: str) -> None:
        """Open ``mark`` inside what is open; closing it later closes what was never closed inside."""
        top, place = self.open[-1], len(self.open)
        if mark == '"':
            inner = _Open(mark, True, place, top.tick)
        elif mark == "`":
            inner = _Open(mark, False, -1, place)
        elif mark == "$(":
            inner = _Open(mark, False, -1, top.tick)
        else:  # a parameter's default is read as what stands around it
            inner = _Open(mark, mark == "${" and top.double, top.quote, top.tick)
        self.open.append(inner)

    def _until_quote(self, quoting: Quoting) -> None:
        at = self.at
        while at < len(self.text) and self.text[at] != "'":
            end = self.tokens.get(at)
            if end is not None:
                at = end
            elif self.text[at] == "\\" and quoting is Quoting.ANSI and at + 1 not in self.tokens:
                at += 2
            else:
                at += 1
        self._skip_to(at, quoting)
        self.at += 1

    def _heredoc(self, word: str, quoted: bool) -> None:
        """Skip the lines up to the one that is ``word`` alone, or all that is left."""
        text, at = self.text, self.at
        while at < len(text):
            end = _end(text.find("\n", at), text)
            if text[at:end].strip(" \t") == word:
                break
            at = end + 1
        else:
            end = len(text)
        self._skip_to(end, Quoting.LITERAL if quoted else Quoting.HEREDOC)

    def _skip_to(self, end: int, quoting: Quoting) -> None:
        for place in range(bisect_left(self.starts, self.at), bisect_left(self.starts, end)):
            self.found[self.starts[place]] = quoting
        self.at = max(end, self.at)


def _end(found: int, text: str) -> int:
    return found if found >= 0 else len(text)
