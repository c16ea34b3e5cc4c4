"""Where in a shell text a token stands: bare, in quotes, in a comment, in a here-document.

A scanner of what matters for quoting in POSIX shell and bash.  Command substitutions begin a new,
unquoted text, also inside double quotes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from enum import Enum

_HEREDOC = re.compile(r"<<-?[ \t]*(\\|['\"]?)([A-Za-z_][A-Za-z0-9_]*)['\"]?")
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


class _Scanner:
    """Walks over the text; ``open`` holds what is open: ``"``, ``${``, ``$(``, ``(`` or a backtick."""

    def __init__(self, text: str, tokens: dict[int, int]) -> None:
        self.text = text
        self.tokens = tokens
        self.starts = sorted(tokens)
        self.found: dict[int, Quoting] = {}
        self.open: list[str] = []
        self.pending: list[tuple[str, bool]] = []
        self.at = 0

    def run(self) -> None:
        while self.at < len(self.text):
            end = self.tokens.get(self.at)
            if end is not None:
                self.found[self.at] = self._quoting()
                self.at = end
            else:
                self._step(self.text[self.at])

    def _quoting(self) -> Quoting:
        for mark in reversed(self.open):
            if mark != "${":  # a parameter's default is read as what stands around it
                return Quoting.DOUBLE if mark == '"' else Quoting.NONE
        return Quoting.NONE

    def _step(self, char: str) -> None:
        text, at = self.text, self.at
        double = self._quoting() is Quoting.DOUBLE
        self.at += 1
        if char == "\\":
            if self.at not in self.tokens:
                self.at += 1
        elif char == '"':
            self._toggle('"')
        elif char == "`":
            self._toggle("`")
        elif char == "$" and text[at + 1 : at + 2] in ("(", "{"):
            self.open.append(text[at : at + 2])
            self.at += 1
        elif char == "}" and self.open[-1:] == ["${"]:
            self.open.pop()
        elif double:
            return
        elif char == ")":
            if self.open[-1:] in (["("], ["$("]):
                self.open.pop()
        elif char == "(":
            self.open.append("(")
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
            self._heredoc(*self.pending.pop(0))

    def _toggle(self, mark: str) -> None:
        """Close what ``mark`` opened, with all that was opened inside and never closed, or open it."""
        inner = max((place for place, other in enumerate(self.open) if other in ("$(", "`")), default=-1)
        if mark == "`" and "`" in self.open:
            del self.open[len(self.open) - 1 - self.open[::-1].index("`") :]
        elif mark == '"' and '"' in self.open[inner + 1 :] and self.open[-1] != "${":
            del self.open[len(self.open) - 1 - self.open[::-1].index('"') :]
        else:
            self.open.append(mark)

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
        end = re.compile(rf"^[ \t]*{re.escape(word)}[ \t]*$", re.MULTILINE).search(self.text, self.at)
        stop = end.end() if end is not None else len(self.text)
        self._skip_to(stop, Quoting.LITERAL if quoted else Quoting.HEREDOC)

    def _skip_to(self, end: int, quoting: Quoting) -> None:
        for place in range(bisect_left(self.starts, self.at), bisect_left(self.starts, end)):
            self.found[self.starts[place]] = quoting
        self.at = max(end, self.at)


def _end(found: int, text: str) -> int:
    return found if found >= 0 else len(text)
