"""YAML text from data.

The text reads back unchanged with any YAML 1.1 or 1.2 reader: a string that any of them would take
for something else is quoted, scripts stand as literal blocks, nothing is anchored or folded.

Nearly every document is made of mappings, lists, text and whole numbers.  These few forms are written
here, and every text that is not plain is read back in the form that it got; PyYAML's writer takes
fifteen times as long.  Whatever else a document holds goes through that writer, to the same bytes
where both can write it, and is read back as a whole.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import yaml

from npac.backends.errors import BackendError

_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# Letters first, then nothing that a scanner could take for a mark; words that YAML 1.1 retypes excluded.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+@-]*(?:[:,=][A-Za-z0-9_./+@-]+)*")
_WORDS = re.compile(r"y|n|yes|no|on|off|true|false|null|nan|inf", re.IGNORECASE)
_BLOCK = re.compile(r"(?![\n ])[^\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]+\n")
_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"})
_WIDTH = 1 << 20
"""Where PyYAML would break a line; texts that could come near it are left to it."""
_LONG_KEY = 100
_OFTEN = 1 << 14
"""Texts up to this many characters are worth remembering, since a setup script is that of many tasks."""


class _DocumentDumper(_Dumper):  # type: ignore[misc]
    """PyYAML's safe dumper with this module's way of writing strings, and without aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write equal objects out every time: a reader of one task should see all of it."""
        return True

    def represent_text(self, text: str) -> yaml.Node:
        """Give the node of one string."""
        style: str | None = '"'
        if _plain(text):
            style = None
        elif _block(text):
            style = "|"
        node: yaml.Node = self.represent_scalar("tag:yaml.org,2002:str", text, style=style)
        return node

    def refuse(self, data: Any) -> yaml.Node:
        """Refuse a type that YAML has and a SkyPilot document has not."""
        raise yaml.representer.RepresenterError(f"{type(data).__name__} cannot stand in a document")


for _type in (set, tuple, bytes, datetime.date, datetime.datetime):
    _DocumentDumper.add_representer(_type, _DocumentDumper.refuse)
_DocumentDumper.add_representer(str, _DocumentDumper.represent_text)


def to_yaml(documents: Sequence[Mapping[str, Any]]) -> str:
    """Give one YAML text for all ``documents``, in their key order, ``---`` between them.

    What could come out as something else is read back before it is given away; :class:`BackendError`
    when it would not come out as it went in, or when a value has no YAML form.
    """
    plain = [dict(document) for document in documents]
    try:
        return _written(plain)
    except _Unusual:
        return _dumped(plain)


def _dumped(plain: list[dict[str, Any]]) -> str:
    """Give the text by PyYAML's writer, read back as a whole."""
    try:
        text = _dump_all(plain, explicit_start=len(plain) > 1)
        back = list(yaml.load_all(text, Loader=_Loader))
    except (yaml.YAMLError, UnicodeError) as error:
        raise BackendError(f"a document cannot be written as YAML: {error}") from error
    if repr(back) != repr(plain):
        raise BackendError("a document does not survive being written as YAML; please report its spec")
    return text


def _dump_all(documents: list[Any], *, explicit_start: bool) -> str:
    text: str = yaml.dump_all(
        documents,
        Dumper=_DocumentDumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        explicit_start=explicit_start,
        width=_WIDTH,
    )
    return text


class _Unusual(Exception):
    """A document holds something that is left to PyYAML's writer."""


def _written(documents: list[dict[str, Any]]) -> str:
    """Give the text of documents of the usual forms.  Raises :class:`_Unusual` for any other."""
    lines: list[str] = []
    for document in documents:
        if not document:
            raise _Unusual
        if len(documents) > 1:
            lines.append("---\n")
        _mapping(document, "", "", lines)
    return "".join(lines)


def _mapping(mapping: dict[str, Any], first: str, margin: str, lines: list[str]) -> None:
    """Write a mapping whose lines begin with ``margin``, the first of them with ``first``."""
    for key, value in mapping.items():
        if type(key) is not str or not 0 < len(key) <= _LONG_KEY or not (key.isascii() and key.isprintable()):
            raise _Unusual
        lines.append(f"{first}{_often(key, '')}:")
        first = margin
        _value(value, margin, lines)


def _value(value: Any, margin: str, lines: list[str]) -> None:
    """Write what follows a key, or the mark of a list's item, in a mapping at ``margin``."""
    kind = type(value)
    if kind is str:
        lines.append(f" {_text(value, margin)}\n")
    elif kind is dict and value:
        lines.append("\n")
        _mapping(value, f"{margin}  ", f"{margin}  ", lines)
    elif kind is list and value:
        lines.append("\n")
        _sequence(value, margin, lines)
    else:
        lines.append(f" {_constant(value)}\n")


def _sequence(items: list[Any], margin: str, lines: list[str]) -> None:
    """Write a list: its items stand as far in as the key that it belongs to."""
    for item in items:
        kind = type(item)
        if kind is dict and item:
            _mapping(item, f"{margin}- ", f"{margin}  ", lines)
        elif kind is list and item:
            raise _Unusual
        else:
            lines.append(f"{margin}-")
            _value(item, margin, lines)


def _constant(value: Any) -> str:
    if value is None:
        return "null"
    kind = type(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is dict:
        return "{}"
    if kind is list:
        return "[]"
    raise _Unusual


def _text(text: str, margin: str) -> str:
    """Give a text as it stands behind a key at ``margin``, or behind the mark of an item there."""
    if len(text) <= _OFTEN:
        return _often(text, margin)
    if len(text) >= _WIDTH >> 1:
        raise _Unusual
    return _form(text, margin)


@lru_cache(maxsize=512)
def _often(text: str, margin: str) -> str:
    return _form(text, margin)


def _form(text: str, margin: str) -> str:
    if "\n" not in text:
        return _inline(text)
    if not text.isascii():  # whether a block can hold it is for PyYAML to say
        form = _by_library(text)
        block = form.startswith("|\n")
    else:
        block = _block(text)
        form = "|\n" + re.sub(r"^(?=.)", "  ", text[:-1], flags=re.MULTILINE) if block else _quoted(text)
    _prove(form, text)
    if not block or not margin:
        return form
    return re.sub(r"^(?=.)", margin, form, flags=re.MULTILINE)[len(margin) :]


def _inline(text: str) -> str:
    """Give a text in one line."""
    if _plain(text):
        return text
    form = _quoted(text) if text.isascii() else _by_library(text)
    if "\n" in form:
        raise _Unusual
    _prove(form, text)
    return form


def _quoted(text: str) -> str:
    if not text.replace("\n", "").replace("\t", "").isprintable():
        return _by_library(text)
    return f'"{text.translate(_ESCAPED)}"'


def _by_library(text: str) -> str:
    """Give the form that PyYAML gives a text, as it stands behind a key at the margin."""
    try:
        return _dump_all([{"k": text}], explicit_start=False)[len("k: ") : -1]
    except (yaml.YAMLError, UnicodeError) as error:
        raise BackendError(f"a document cannot be written as YAML: {error}") from error


def _prove(form: str, text: str) -> None:
    """See that a form is read as the text that it stands for."""
    try:
        back = yaml.load(f"k: {form}\n", Loader=_Loader)
    except (yaml.YAMLError, UnicodeError) as error:
        raise BackendError(f"a document cannot be written as YAML: {error}") from error
    if back != {"k": text}:
        raise BackendError("a document does not survive being written as YAML; please report its spec")


def _plain(text: str) -> bool:
    return _PLAIN.fullmatch(text) is not None and _WORDS.fullmatch(text) is None


def _block(text: str) -> bool:
    return _BLOCK.fullmatch(text) is not None and " \n" not in text and not text.endswith("\n\n")
