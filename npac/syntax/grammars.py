"""Lark grammars, read late, and the problem that every small parser reports.

Importing this module imports no lark: a spec whose scalars are all well formed never needs it.
"""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from npac.resources import grammar_text

if TYPE_CHECKING:
    from lark import Lark, Tree
    from lark.lexer import Token as Leaf

MAX_DIGITS = 15
"""Longer digit strings are refused before they become integers: no quantity of a spec needs them."""

MAX_GUESSED = 256
"""In longer texts nobody's slip is looked for; the problem says only where the grammar stopped."""


class Problem(NamedTuple):
    """What is wrong with a small text.

    ``start`` and ``end`` are offsets in that text, the end exclusive.  ``suggestion``, when there
    is one, is what could stand in place of ``text[start:end]``; it is advice and may change what
    the text means.  ``message`` quotes names and single characters only: free text might hold a secret.
    """

    kind: str
    message: str
    start: int
    end: int
    help: str
    suggestion: str | None = None
    mark: tuple[int, int] | None = None
    """Offsets of the part of ``text[start:end]`` that is wrong; None for all of it."""


class Stop:
    """Where a grammar could not go on: the offset, and the terminals that could have come next."""

    __slots__ = ("at", "expected")

    def __init__(self, at: int, expected: frozenset[str]) -> None:
        self.at = at
        self.expected = expected


def read(grammar: str, start: str, text: str) -> "Tree[Leaf] | Stop":
    """Parse ``text`` from the rule ``start`` of the grammar file ``grammar``.

    Gives the tree, whose leaves carry offsets (``start_pos``, ``end_pos``), or where it stopped.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

    try:
        return _parser(grammar, start).parse(text)
    except UnexpectedToken as error:
        at = len(text) if error.token.type == "$END" else int(error.pos_in_stream or 0)
        return Stop(at, frozenset(error.expected))
    except UnexpectedCharacters as error:
        return Stop(int(error.pos_in_stream or 0), frozenset(error.allowed or ()))
    except UnexpectedInput as error:
        return Stop(int(error.pos_in_stream or 0), frozenset())


@cache
def _parser(grammar: str, start: str) -> "Lark":
    from lark import Lark

    return Lark(grammar_text(grammar), start=start, parser="lalr", import_paths=[_import_grammar])


def _import_grammar(base: object, path: str) -> tuple[str, str]:
    """Find an imported grammar where all grammars are, installed or in a checkout."""
    return path, grammar_text(path)


def show_char(text: str, at: int) -> str:
    """Name the character at ``at`` so that one that cannot be seen can still be told; "the end" past it."""
    if at >= len(text):
        return "the end"
    char = text[at]
    if char in "\r\n":
        return "a line end"
    if char == " ":
        return "a blank"
    if char == "`":
        return "a backtick"
    return f"`{char}`" if char.isprintable() and not char.isspace() else f"the character U+{ord(char):04X}"
