"""Canonical bytes and digests (RFC 8785)."""

from __future__ import annotations

import hashlib
from typing import Any

from npac.ir.codec import program_to_json
from npac.ir.program import Program


class CanonicalError(ValueError):
    """Data that has no canonical form: an unpaired surrogate, a number out of range, another type."""


def canonical_bytes(data: Any) -> bytes:
    """Give the RFC 8785 bytes of JSON data.  Raises :class:`CanonicalError` where there are none."""
    import rfc8785

    try:
        return rfc8785.dumps(data)
    except (rfc8785.CanonicalizationError, UnicodeError) as error:
        raise CanonicalError(f"this data has no canonical JSON form: {error}") from error


def digest_bytes(data: bytes) -> str:
    """Give the sha256 of ``data`` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def digest_data(data: Any) -> str:
    """Give the sha256 (hex) of the canonical bytes of JSON data."""
    return digest_bytes(canonical_bytes(data))


def program_bytes(program: Program) -> bytes:
    """Give the canonical bytes of a program."""
    return canonical_bytes(program_to_json(program))


def digest(program: Program) -> str:
    """Give the identity of a program: sha256 (hex) of its canonical bytes."""
    return digest_bytes(program_bytes(program))
