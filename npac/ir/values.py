"""Template values: text that may still have holes.

A *value* is plain text (``str``) or a tree with at least one hole in it.  Holes are the late
values of a program (the run id, a wave's number, a launch id); they are filled by linking and by
nothing else.  Nothing is encoded, quoted, cut or hashed before its holes are filled: a transform
of a template stays an :class:`Apply` node.

The constructors :func:`concat` and :func:`apply` keep values in normal form, so that two values
are equal exactly when they would always link to the same text.  In canonical JSON, text is a
string and everything else is an object, so no text can pass for a hole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from npac.ir.errors import LinkError


class _Node:
    """A part of a template: equal by kind and content, never changed, its hash worked out once."""

    __slots__ = ("_hash", "_key")
    _key: tuple[Any, ...]
    _hash: int

    def _seal(self, *key: Any) -> None:
        self._key = key
        self._hash = hash((type(self).__name__, key))

    def __eq__(self, other: object) -> bool:
        """Compare kind and content."""
        return type(other) is type(self) and self._key == other._key

    def __hash__(self) -> int:
        """Give the hash that was worked out at the beginning."""
        return self._hash

    def __repr__(self) -> str:
        """Give the call that makes this part."""
        return f"{type(self).__name__}({', '.join(map(repr, self._key))})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the call that makes this part."""
        return type(self), self._key


class Hole(_Node):
    """The place of one late value, such as ``run.id``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        self._seal(name)


class Concat(_Node):
    """Parts set side by side; at least two, never nested, no two strings in a row, none empty."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Part, ...]) -> None:
        self.parts = parts
        self._seal(parts)


class Apply(_Node):
    """A transform of a value that has holes; it is computed when they are filled."""

    __slots__ = ("transform", "value")

    def __init__(self, transform: str, value: Value) -> None:
        self.transform = transform
        self.value = value
        self._seal(transform, value)


Value: TypeAlias = "str | Hole | Concat | Apply"
Part: TypeAlias = "str | Hole | Apply"

RUN_ID = Hole("run.id")


def _base64(text: str) -> str:
    from base64 import b64encode

    return b64encode(text.encode("utf-8")).decode("ascii")


def _json(text: str) -> str:
    from json import dumps

    return dumps(text, ensure_ascii=False)


def _shell_quote(text: str) -> str:
    from shlex import quote

    return quote(text)


def _urlencode(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


TRANSFORMS: Mapping[str, Callable[[str], str]] = {
    "base64": _base64,
    "json": _json,
    "sh": _shell_quote,
    "urlencode": _urlencode,
}
"""What ``{{ token | NAME }}`` does to a text; each imports what it needs when it is used."""


def concat(parts: Iterable[Value]) -> Value:
    """Join values into one value in normal form; an empty sequence gives ``""``."""
    flat: list[Part] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Concat) else (part,):
            if piece == "":
                continue
            if isinstance(piece, str) and flat and isinstance(flat[-1], str):
                flat[-1] += piece
            else:
                flat.append(piece)
    if not flat:
        return ""
    return flat[0] if len(flat) == 1 else Concat(tuple(flat))


def apply(transform: str, value: Value) -> Value:
    """Apply a transform now if ``value`` is text, else when its holes are filled.

    Raises ``KeyError`` for a transform that does not exist.
    """
    if isinstance(value, str):
        return TRANSFORMS[transform](value)
    if transform not in TRANSFORMS:
        raise KeyError(transform)
    return Apply(transform, value)


def holes(value: Value) -> Iterator[str]:
    """Yield the names of the holes in ``value``, in order, with repeats."""
    stack: list[Value] = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, Hole):
            yield top.name
        elif isinstance(top, Apply):
            stack.append(top.value)
        elif isinstance(top, Concat):
            stack.extend(reversed(top.parts))


def has_hole(value: Value) -> bool:
    """Say whether ``value`` is more than plain text."""
    return not isinstance(value, str)


def link(value: Value, late: Mapping[str, str]) -> str:
    """Fill every hole of ``value`` from ``late`` and give its text.

    What a late value brings in is never scanned again.  Raises :class:`LinkError` when ``late``
    lacks a hole's name.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Hole):
        try:
            return late[value.name]
        except KeyError:
            raise LinkError(f"no value is given for <{value.name}>") from None
    if isinstance(value, Apply):
        return TRANSFORMS[value.transform](link(value.value, late))
    return "".join(link(part, late) for part in value.parts)


def bind(value: Value, late: Mapping[str, str]) -> Value:
    """Fill the holes that ``late`` has and keep the others."""
    if isinstance(value, str):
        return value
    if isinstance(value, Hole):
        return late.get(value.name, value)
    if isinstance(value, Apply):
        return apply(value.transform, bind(value.value, late))
    return concat(bind(part, late) for part in value.parts)


def show(value: Value) -> str:
    """Give ``value`` for people, with ``<name>`` for each hole."""
    if isinstance(value, str):
        return value
    if isinstance(value, Hole):
        return f"<{value.name}>"
    if isinstance(value, Apply):
        return f"<{value.transform}({show(value.value)})>"
    return "".join(show(part) for part in value.parts)


def to_json(value: Value) -> Any:
    """Give the canonical JSON form of ``value``: text as a string, anything else as an object."""
    if isinstance(value, str):
        return value
    if isinstance(value, Hole):
        return {"hole": value.name}
    if isinstance(value, Apply):
        return {"apply": value.transform, "value": to_json(value.value)}
    return {"concat": [to_json(part) for part in value.parts]}


def from_json(data: Any) -> Value:
    """Read the canonical JSON form back.  Raises ``ValueError`` for any other shape."""
    if isinstance(data, str):
        return data
    if isinstance(data, dict):
        if set(data) == {"hole"} and isinstance(data["hole"], str):
            return Hole(data["hole"])
        if set(data) == {"apply", "value"} and data["apply"] in TRANSFORMS:
            return apply(data["apply"], from_json(data["value"]))
        if set(data) == {"concat"} and isinstance(data["concat"], list):
            return concat(from_json(part) for part in data["concat"])
    raise ValueError(f"not a template value: {data!r:.80}")
