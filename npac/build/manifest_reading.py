"""Reading a manifest: JSON from outside, validated by pydantic into the records of the manifest.

Importing pydantic takes as long as a small command; only what reads a manifest imports this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from npac.build.manifest import HEX_DIGITS, HEX_OR_NOTHING, KIND, PLAIN_PATH, Manifest
from npac.ir.forms import FormError

SHOWN = 3
"""Faults that are named, when there are more."""
_SENTENCES = {each.pattern: each.sentence for each in (HEX_DIGITS, HEX_OR_NOTHING, KIND, PLAIN_PATH)}
_KINDS = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "dataclass_type": "must be a mapping",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _File(Manifest):
    """A manifest as it stands in its file, under the name of its version."""

    schema: Literal["npac.manifest/v1"]


_ADAPTER = TypeAdapter(_File)


def read(data: bytes) -> Manifest:
    """Read the bytes of a manifest.

    Raises :class:`FormError` with the place and the fault of the first few parts that are not as they
    must be; a manifest of another version is named as such, and nothing more is said of it.
    """
    try:
        file = _ADAPTER.validate_json(data)
    except ValidationError as error:
        raise _refusal(error) from None
    return Manifest(**{each.name: getattr(file, each.name) for each in fields(Manifest)})


def _refusal(error: ValidationError) -> FormError:
    found = error.errors(include_url=False)
    faults = [_fault(each) for each in found if each["loc"] == ("schema",)] or [
        _fault(each) for each in found
    ]
    (where, sentence), *others = faults
    told = [sentence, *(str(FormError(*each)) for each in others[: SHOWN - 1])]
    if len(faults) > SHOWN:
        told.append(f"and {len(faults) - SHOWN:,} more")
    return FormError(where, "; ".join(told))


def _fault(error: Mapping[str, Any]) -> tuple[str, str]:
    """Give the place and the sentence of one fault that pydantic found."""
    kind, place, context = error["type"], error["loc"], error.get("ctx", {})
    if kind == "json_invalid":
        return "", f"this is no JSON: {context['error']}"
    if kind == "missing":
        return _where(place[:-1]), f"lacks {place[-1]!r}"
    if kind == "unexpected_keyword_argument":
        return _where(place[:-1]), f"has an unknown entry {place[-1]!r:.60}"
    if kind == "literal_error":
        wanted = f"must be {context['expected']}"
    elif kind == "string_pattern_mismatch":
        wanted = _SENTENCES[context["pattern"]]
    else:
        wanted = _KINDS.get(kind) or error["msg"]
    return _where(place), f"{wanted}, not {error['input']!r:.80}"


def _where(place: Sequence[int | str]) -> str:
    return "/".join(map(str, place))
