"""From the text of a catalog file to checked, plain entries.

Each kind of value has one reader; the tables at the end of the file say which key is read by which.
A reader gives plain data (text, lists, dicts), so that two files that say the same give equal entries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from npac.catalog.errors import CatalogError
from npac.catalog.model import nearest
from npac.catalog.words import find_bad_token
from npac.text.source import SourceFile, Span
from npac.text.yaml_nodes import Map, Node, Scalar, Seq, parse_yaml

VERSION = "npac.catalog/v1"

Entry: TypeAlias = dict[str, Any]
Reader: TypeAlias = Callable[[Node, str], Any]

_TOOL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_IMAGE_KEY = re.compile(r"[a-z0-9][a-z0-9._-]{0,95}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONFIG_KEY = re.compile(r"[A-Za-z0-9_.-]+")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REPOSITORY = re.compile(r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*")
_IMAGE = re.compile(
    r"[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)


@dataclass(slots=True)
class CatalogFile:
    """One file's entries, and where in it the names stand that other files may have to answer for."""

    path: str
    images: dict[str, str] = field(default_factory=dict)
    eulas: dict[str, Entry] = field(default_factory=dict)
    tools: dict[str, Entry] = field(default_factory=dict)
    places: dict[tuple[str, str], Span] = field(default_factory=dict)


def read_catalog(source: SourceFile) -> CatalogFile:
    """Read the catalog that stands in ``source``.

    Raises CatalogError at the first fault: the YAML, a key, a value's shape, a token in a command.
    """
    root, problems = parse_yaml(source)
    if problems:
        problem = problems[0]
        if problem.kind == "several-documents":
            fail(
                problem.span,
                "a second YAML document begins here.",
                "Put the second catalog into a file of its own.",
            )
        fail(problem.span, f"{problem.message}.", _sentence(problem.help))
    if root is None or (isinstance(root, Scalar) and root.is_null):
        fail(source.span(0, 0), "the file is empty.", f"Begin it with `catalog: {VERSION}`.")
    entries = _fields(root, "the catalog", {"catalog": _version, **_SECTIONS}, required=("catalog",))
    result = CatalogFile(
        source.path,
        images=entries.get("images", {}),
        eulas=entries.get("eulas", {}),
        tools=entries.get("tools", {}),
    )
    assert isinstance(root, Map)
    tools = root.get("tools")
    if isinstance(tools, Map):
        for name, (_, tool) in tools.entries.items():
            for key in ("image", "eula"):
                value = tool.get(key) if isinstance(tool, Map) else None
                if value is not None:
                    result.places[name, key] = value.span
    return result


def fail(span: Span, message: str, remedy: str = "") -> NoReturn:
    """Raise a CatalogError at ``span``."""
    line, column = span.source.position(span.start)
    raise CatalogError(message, span.source.path, line, column, remedy)


def did_you_mean(word: str, known: Mapping[str, Any]) -> str:
    """Give a sentence with the nearest known words, or with all of them when none is near."""
    close = nearest(word, known)
    if close:
        return f"Did you mean {' or '.join(close)}?"
    return f"Known are {', '.join(sorted(known))}." if known else ""


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


# --- readers of one value -----------------------------------------------------------------------


def _mapping(node: Node, what: str) -> dict[str, tuple[Scalar, Node]]:
    if not isinstance(node, Map):
        fail(node.span, f"{what} must be a mapping, not a {node.kind}.")
    return node.entries


def _fields(node: Node, what: str, readers: Mapping[str, Reader], required: tuple[str, ...] = ()) -> Entry:
    """Read a mapping whose keys are known.

    What is empty is left out, and so is a key that begins with ``x-``, which is the author's own.
    """
    result: Entry = {}
    for key, (key_node, value) in _mapping(node, what).items():
        if key.startswith("x-"):
            continue
        reader = readers.get(key)
        if reader is None:
            fail(key_node.span, f"{what} has no key `{key}`.", did_you_mean(key, readers))
        read = reader(value, f"`{key}` of {what}")
        if read:
            result[key] = read
    for key in required:
        if key not in result:
            fail(node.span, f"{what} lacks `{key}`.", f"Add `{key}:`.")
    return result


def _named(pattern: re.Pattern[str], kind: str, reader: Reader) -> Reader:
    """Give the reader of a mapping from names that match ``pattern`` to what ``reader`` reads."""

    def read(node: Node, what: str) -> Entry:
        result: Entry = {}
        for name, (key, value) in _mapping(node, what).items():
            if not pattern.fullmatch(name):
                fail(key.span, f"{name!r} is no {kind} name.", f"A name matches {pattern.pattern}.")
            result[name] = reader(value, f"{kind} `{name}`")
        return result

    return read


def _text(node: Node, what: str) -> str:
    if not isinstance(node, Scalar):
        fail(node.span, f"{what} must be text, not a {node.kind}.")
    if node.is_null:
        fail(node.span, f"{what} has no value.", 'Write "" for an empty text, or remove the key.')
    return node.value


def _matching(pattern: re.Pattern[str], shape: str) -> Reader:
    def read(node: Node, what: str) -> str:
        text = _text(node, what)
        if not pattern.fullmatch(text):
            fail(node.span, f"{what} is {text!r}, which is no {shape}.", f"It must match {pattern.pattern}.")
        return text

    return read


def _list_of(reader: Reader) -> Reader:
    def read(node: Node, what: str) -> list[Any]:
        if not isinstance(node, Seq):
            fail(node.span, f"{what} must be a list, not a {node.kind}.")
        return [reader(item, f"item {number} of {what}") for number, item in enumerate(node.items, 1)]

    return read


def _set_of(reader: Reader) -> Reader:
    """Read a list whose order means nothing: sorted, and an item that stands twice is a fault."""
    read_list = _list_of(reader)

    def read(node: Node, what: str) -> list[Any]:
        values = read_list(node, what)
        for number, value in enumerate(values):
            if value in values[:number] and isinstance(node, Seq):
                fail(node.items[number].span, f"{what} names {value!r} twice.", "Remove one of the two.")
        return sorted(values)

    return read


def _word(node: Node, what: str) -> str:
    text = _text(node, what)
    bad = find_bad_token(text)
    if bad is not None:
        start, end, suggestion = bad
        span = node.inner(start, end) if isinstance(node, Scalar) else node.span
        fail(span, f"{what} holds {text[start:end]!r}, which is no token.", suggestion)
    return text


def _command(node: Node, what: str) -> list[str]:
    words: list[str] = _list_of(_word)(node, what)
    if not words or not words[0]:
        fail(node.span, f"{what} is empty.", "Begin with the program to run.")
    return words


def _absolute(node: Node, what: str) -> str:
    path = _text(node, what)
    if not path.startswith("/"):
        fail(
            node.span,
            f"{what} is {path!r}, which is not absolute.",
            "Give the path inside the image, from /.",
        )
    return path


def _filled(node: Node, what: str) -> str:
    text = _text(node, what)
    if not text.strip():
        fail(node.span, f"{what} is empty.", "Fill it in, or remove the entry.")
    return text


def _choice(*allowed: str) -> Reader:
    def read(node: Node, what: str) -> str:
        text = _text(node, what)
        if text not in allowed:
            fail(node.span, f"{what} is {text!r}.", f"It must be {' or '.join(allowed)}.")
        return text

    return read


def _requirement(node: Node, what: str) -> Entry:
    return _fields(node, what, {"probe": _filled, "install": _filled}, required=("probe", "install"))


def _nodes(node: Node, what: str) -> Entry:
    return _fields(node, what, _NODE_FIELDS, required=("mode",))


def _tool(node: Node, what: str) -> Entry:
    entry = _fields(node, what, _TOOL_FIELDS, required=("command",))
    words = dict.fromkeys(entry["command"])
    for flag in entry.get("omit_when_empty", ()):
        if flag not in words:
            assert isinstance(node, Map)
            place = node.get("omit_when_empty") or node
            flags = {word: None for word in words if word.startswith("-")}
            fail(
                place.span,
                f"{what} omits {flag!r}, which its command does not have.",
                did_you_mean(flag, flags),
            )
    return entry


def _eula(node: Node, what: str) -> Entry:
    return _fields(node, what, _EULA_FIELDS, required=("env",))


# --- which key is read by which reader ----------------------------------------------------------

_config_key = _matching(_CONFIG_KEY, "config key")
_environment = _named(_ENV_NAME, "environment variable", _text)
_version = _choice(VERSION)

_NODE_FIELDS: dict[str, Reader] = {
    "mode": _choice("sharded"),
    "activation_key": _config_key,
    "output_key": _config_key,
    "variants_key": _config_key,
}
_TOOL_FIELDS: dict[str, Reader] = {
    "command": _command,
    "image": _matching(_IMAGE_KEY, "image key"),
    "eula": _matching(_LABEL, "name of licence terms"),
    "secrets": _list_of(_matching(_ENV_NAME, "environment name")),
    "env": _environment,
    "interpreters": _list_of(_absolute),
    "requires": _list_of(_requirement),
    "pip_extra": _matching(_LABEL, "name of an extra"),
    "omit_when_empty": _set_of(_filled),
    "config_defaults": _named(_CONFIG_KEY, "config key", _text),
    "contract": _matching(_LABEL, "name of a contract"),
    "nodes": _nodes,
}
_EULA_FIELDS: dict[str, Reader] = {
    "env": _environment,
    "repositories": _set_of(_matching(_REPOSITORY, "last part of an image repository")),
    "pod_env_prefixes": _set_of(_matching(_ENV_NAME, "beginning of an environment name")),
}
_SECTIONS: dict[str, Reader] = {
    "images": _named(_IMAGE_KEY, "image", _matching(_IMAGE, "image reference")),
    "eulas": _named(_LABEL, "eula", _eula),
    "tools": _named(_TOOL_NAME, "tool", _tool),
}
