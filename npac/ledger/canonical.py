"""Canonical JSON (RFC 8785): equal values have equal bytes, so digests can be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from npac.ledger.outside import SAFE_INTEGER


def canonical_bytes(value: Any) -> bytes:
    """Give the canonical JSON of plain data (mappings, sequences, text, numbers, bools, None).

    Raises :class:`ValueError` for anything that has no canonical JSON: other types, keys that are
    not text, text that is not Unicode, NaN, and integers beyond 2**53 - 1 (write those as text).
    """
    import rfc8785

    try:
        return rfc8785.dumps(_plain(value))
    except RecursionError:
        raise ValueError("the value is nested too deeply to be written as JSON") from None
    except ValueError as error:
        raise ValueError(f"the value cannot be written as canonical JSON: {error}") from error


def parse(data: bytes) -> Any:
    """Read canonical JSON back so that writing the result gives the same bytes.

    Raises :class:`ValueError` when the bytes are not JSON.
    """
    return _READER.decode(data.decode("utf-8", "surrogatepass"))


def _integer(digits: str) -> int | float:
    # A float such as 1e20 is written without an exponent; only floats can be that large.
    number = int(digits)
    return number if -SAFE_INTEGER <= number <= SAFE_INTEGER else float(digits)


# Made once: json.loads would make one for every event of a log.
_READER = json.JSONDecoder(parse_int=_integer)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
