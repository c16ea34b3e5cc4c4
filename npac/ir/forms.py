"""Forms: how one kind of data stands in JSON, said once for writing, reading and schema.

A :class:`Form` pairs an encoder with a strict decoder and the JSON Schema of what they exchange.
:func:`record` derives a form from a dataclass and a table of its fields.  A field that is equal to
its default is left out, so that a field that is added later does not change the bytes of data that
does not use it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from npac.ir.values import TRANSFORMS, Value, from_json, to_json

SAFE_INTEGER = 2**53 - 1
"""The largest integer that canonical JSON can hold as a number."""


class FormError(ValueError):
    """Data that does not have the form it must have; ``where`` is its place (``nodes/3/next``)."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where or 'the document'}: {message}")
        self.where = where


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of data: its encoder, its decoder (given data and place) and its JSON Schema."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any, str], Any]
    schema: Mapping[str, Any]


def _same(value: Any) -> Any:
    return value


def _scalar(kind: type, word: str, schema: str) -> Form:
    def decode(data: Any, where: str) -> Any:
        if type(data) is not kind:
            raise FormError(where, f"must be {word}, not {data!r:.60}")
        return data

    return Form(_same, decode, {"type": schema})


TEXT = _scalar(str, "text", "string")
FLAG = _scalar(bool, "true or false", "boolean")
NUMBER = _scalar(int, "a whole number", "integer")


def choice(*allowed: str) -> Form:
    """Text that is one of a closed set."""

    def decode(data: Any, where: str) -> Any:
        if data not in allowed or not isinstance(data, str):
            raise FormError(where, f"must be one of {', '.join(map(repr, allowed))}, not {data!r:.60}")
        return data

    return Form(_same, decode, {"enum": list(allowed)})


def _read_value(data: Any, where: str) -> Value:
    try:
        return from_json(data)
    except ValueError as error:
        raise FormError(where, str(error)) from None


VALUE_SCHEMA: Mapping[str, Any] = {
    "description": "Text, or a template with holes.",
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"hole": {"type": "string"}},
            "required": ["hole"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"apply": {"enum": sorted(TRANSFORMS)}, "value": {"$ref": "#/$defs/value"}},
            "required": ["apply", "value"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"concat": {"type": "array", "items": {"$ref": "#/$defs/value"}}},
            "required": ["concat"],
            "additionalProperties": False,
        },
    ],
}

VALUE = Form(to_json, _read_value, {"$ref": "#/$defs/value"})


def sequence(item: Form) -> Form:
    """A tuple of ``item``."""

    def encode(values: Any) -> Any:
        return [item.encode(value) for value in values]

    def decode(data: Any, where: str) -> Any:
        if not isinstance(data, list):
            raise FormError(where, f"must be a list, not {data!r:.60}")
        return tuple(item.decode(element, f"{where}/{at}") for at, element in enumerate(data))

    return Form(encode, decode, {"type": "array", "items": item.schema})


def table(item: Form) -> Form:
    """A mapping from text to ``item`` whose order means nothing."""

    def encode(values: Any) -> Any:
        return {key: item.encode(value) for key, value in values.items()}

    def decode(data: Any, where: str) -> Any:
        if not isinstance(data, dict):
            raise FormError(where, f"must be a mapping, not {data!r:.60}")
        return {_key(key, where): item.decode(value, f"{where}/{key}") for key, value in data.items()}

    return Form(encode, decode, {"type": "object", "additionalProperties": item.schema})


def ordered_table(item: Form) -> Form:
    """A mapping whose order matters: a list of pairs in JSON."""

    def encode(values: Any) -> Any:
        return [[key, item.encode(value)] for key, value in values.items()]

    def decode(data: Any, where: str) -> Any:
        if not isinstance(data, list):
            raise FormError(where, f"must be a list of pairs, not {data!r:.60}")
        result: dict[str, Any] = {}
        for at, pair in enumerate(data):
            if not isinstance(pair, list) or len(pair) != 2:
                raise FormError(f"{where}/{at}", f"must be a pair, not {pair!r:.60}")
            key = _key(pair[0], f"{where}/{at}")
            if key in result:
                raise FormError(f"{where}/{at}", f"{key!r} stands there twice")
            result[key] = item.decode(pair[1], f"{where}/{at}/1")
        return result

    pair_schema = {
        "type": "array",
        "prefixItems": [{"type": "string"}, item.schema],
        "minItems": 2,
        "maxItems": 2,
    }
    return Form(encode, decode, {"type": "array", "items": pair_schema})


def pair(first: Form, second: Form) -> Form:
    """A tuple of two."""

    def encode(value: Any) -> Any:
        return [first.encode(value[0]), second.encode(value[1])]

    def decode(data: Any, where: str) -> Any:
        if not isinstance(data, list) or len(data) != 2:
            raise FormError(where, f"must be a pair, not {data!r:.60}")
        return (first.decode(data[0], f"{where}/0"), second.decode(data[1], f"{where}/1"))

    schema = {"type": "array", "prefixItems": [first.schema, second.schema], "minItems": 2, "maxItems": 2}
    return Form(encode, decode, schema)


def optional(item: Form) -> Form:
    """``item`` or None."""

    def encode(value: Any) -> Any:
        return None if value is None else item.encode(value)

    def decode(data: Any, where: str) -> Any:
        return None if data is None else item.decode(data, where)

    return Form(encode, decode, {"anyOf": [{"type": "null"}, item.schema]})


def record(cls: type, fields: Mapping[str, Form], *, tag: Mapping[str, str] | None = None) -> Form:
    """A dataclass, field by field; ``tag`` adds constant entries that say what the record is.

    ``fields`` must name every field of ``cls``; one that is forgotten raises ``TypeError`` here and
    not later as lost data.
    """
    declared = {field.name: field for field in dataclasses.fields(cls)}
    if set(declared) != set(fields):
        raise TypeError(f"{cls.__name__}: the table names {sorted(set(declared) ^ set(fields))} differently")
    tags = dict(tag or {})
    defaults: dict[str, Any] = {}
    for name, field in declared.items():
        if field.default is not dataclasses.MISSING:
            defaults[name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            defaults[name] = field.default_factory()
    required = [name for name in fields if name not in defaults]

    def encode(value: Any) -> Any:
        out: dict[str, Any] = dict(tags)
        for name, form in fields.items():
            entry = getattr(value, name)
            if name in defaults and entry == defaults[name]:
                continue
            out[name] = form.encode(entry)
        return out

    def decode(data: Any, where: str) -> Any:
        if not isinstance(data, dict):
            raise FormError(where, f"must be a mapping, not {data!r:.60}")
        for name, expected in tags.items():
            if data.get(name) != expected:
                raise FormError(where, f"{name} must be {expected!r}, not {data.get(name)!r:.60}")
        for name in data:
            if name not in fields and name not in tags:
                raise FormError(where, f"has an unknown entry {name!r:.60}")
        for name in required:
            if name not in data:
                raise FormError(where, f"lacks {name!r}")
        prefix = f"{where}/" if where else ""
        return cls(
            **{
                name: form.decode(data[name], f"{prefix}{name}")
                for name, form in fields.items()
                if name in data
            }
        )

    schema = {
        "type": "object",
        "properties": {
            **{name: {"const": value} for name, value in tags.items()},
            **{name: form.schema for name, form in fields.items()},
        },
        "required": [*tags, *required],
        "additionalProperties": False,
    }
    return Form(encode, decode, schema)


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise FormError(where, f"has a key that is not text: {key!r:.60}")
    return key
