"""What a text that could not be read may have been: which key, and what it may have named."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from npac.syntax.ast import State
from npac.text.yaml_nodes import Map, Node, Scalar, Seq

_LOOKED_AT = 100
"""Scalars of a value that are looked at."""
_DEEPEST = 16
"""Dots of a name that are looked behind."""
_WORD = r"[A-Za-z0-9_.-]+"


def may_be(value: Node, state: State, states: Collection[str], profiles: Collection[str]) -> set[str]:
    """Give the keys of the language that a key which nobody knows may stand for, by its value.

    Those that the state has are none of them.  ``states`` and ``profiles`` are the names of the spec.
    """
    texts = list(_texts(value))
    found: set[str] = set()
    if any(text in states for text in texts):
        found |= {"next", "transitions", "needs", "sequence", "parallel"}
    if any("://" in text for text in texts):
        found |= {"inputs", "outputs", "trigger"}
    if isinstance(value, Scalar):
        found |= {"terminal", "writesDecision"} if value.boolean is not None else {"toolRef"}
        found |= {"multiNodeMode"}
        if value.value in profiles:
            found.add("resources")
    elif isinstance(value, Map):
        found |= {"run", "params", "loop", "trigger"}
    else:
        found |= {"inputs", "outputs"}
    if state.works or state.is_group:
        found -= {"run", "toolRef", "sequence", "parallel"}
    return found.difference(state.keys)


def words(text: str) -> Iterator[str]:
    """Give the names that a text may hold: of ``config.a.b`` that as it stands, ``a.b`` and ``b``."""
    for word in re.findall(_WORD, text):
        yield word
        for _ in range(_DEEPEST):
            _, dot, word = word.partition(".")
            if not dot:
                break
            yield word


def suggested(help_text: str) -> Iterator[str]:
    """Give the names that a help line suggests to have been meant."""
    if "did you mean" in help_text:
        yield from words(help_text.partition("did you mean")[2])


def _texts(value: Node) -> Iterator[str]:
    stack: list[Node] = [value]
    left = _LOOKED_AT
    while stack and left:
        top = stack.pop()
        left -= 1
        if isinstance(top, Seq):
            stack.extend(reversed(top.items[:_LOOKED_AT]))
        elif isinstance(top, Map):
            stack.extend(item for _, item in list(top.entries.values())[:_LOOKED_AT])
        else:
            yield top.value
