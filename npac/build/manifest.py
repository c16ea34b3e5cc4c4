"""The manifest of a build: what it was made from, and every file that belongs to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from npac.ir.forms import NUMBER, TEXT, Form, FormError, choice, record, sequence

SCHEMA = "npac.manifest/v1"
FILE = "manifest.json"
KINDS = ("documents", "link", "program", "spec")


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """One batch of one wave: the unit of launch."""

    node: str
    number: int
    label: str
    object: str
    """Digest of its documents, before linking; equal iterations share one."""
    view: str
    """The readable file of these documents, seen from the build's folder."""
    batch: int = 0
    """Number of the batch, from 1, where the wave has several; else 0."""


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    """One object of the store; ``size`` in bytes."""

    digest: str
    kind: str
    size: int


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """One readable file; it can be made again from the objects."""

    path: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """All that determines a build, and all that is in it.  Digests are sha256, 64 hex digits."""

    compiler: str
    """Version of npac."""
    workflow: str
    spec: str
    program: str
    catalogs: tuple[str, ...]
    waves: tuple[BatchEntry, ...]
    objects: tuple[ObjectEntry, ...]
    views: tuple[ViewEntry, ...]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Compile options that change the output."""
    link: str = ""
    """Digest of the link record of a linked build; empty for an unlinked one."""


def _json(data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise FormError(where, "must be a mapping")
    return data


_DIGEST_SCHEMA = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def _digest(data: Any, where: str) -> Any:
    if not isinstance(data, str) or len(data) != 64 or set(data) - set("0123456789abcdef"):
        raise FormError(where, f"must be 64 hex digits, not {data!r:.80}")
    return data


def _path(data: Any, where: str) -> Any:
    parts = data.split("/") if isinstance(data, str) else [""]
    if any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
        raise FormError(where, f"must be a plain path inside the build, not {data!r:.80}")
    return data


DIGEST = Form(lambda value: value, _digest, _DIGEST_SCHEMA)
OPTIONAL_DIGEST = Form(
    lambda value: value,
    lambda data, where: data if data == "" else _digest(data, where),
    {"type": "string", "pattern": "^([0-9a-f]{64})?$"},
)
PATH = Form(lambda value: value, _path, {"type": "string", "pattern": "^[^/\\\\]+(/[^/\\\\]+)*$"})
JSON_MAPPING = Form(dict, _json, {"type": "object"})

_MANIFEST = record(
    Manifest,
    {
        "compiler": TEXT,
        "workflow": TEXT,
        "spec": DIGEST,
        "program": DIGEST,
        "catalogs": sequence(DIGEST),
        "waves": sequence(
            record(
                BatchEntry,
                {
                    "node": TEXT,
                    "number": NUMBER,
                    "label": TEXT,
                    "object": DIGEST,
                    "view": PATH,
                    "batch": NUMBER,
                },
            )
        ),
        "objects": sequence(record(ObjectEntry, {"digest": DIGEST, "kind": choice(*KINDS), "size": NUMBER})),
        "views": sequence(record(ViewEntry, {"path": PATH, "digest": DIGEST, "size": NUMBER})),
        "overrides": JSON_MAPPING,
        "options": JSON_MAPPING,
        "link": OPTIONAL_DIGEST,
    },
    tag={"schema": SCHEMA},
)


def manifest_bytes(manifest: Manifest) -> bytes:
    """Give the bytes of ``manifest.json``: sorted keys, indented by two, one line feed at the end."""
    return pretty(_MANIFEST.encode(manifest))


def pretty(data: Any) -> bytes:
    """Give JSON data for people: sorted keys, indented by two, UTF-8, one line feed at the end.

    Raises ``TypeError`` or ``ValueError`` for what JSON cannot hold.
    """
    text = json.dumps(data, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def manifest_from_bytes(data: bytes) -> Manifest:
    """Read ``manifest.json``.  Raises ``ValueError`` when it is none of this version."""
    try:
        decoded = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormError("", f"this is no JSON: {error}") from None
    manifest: Manifest = _MANIFEST.decode(decoded, "")
    return manifest


def manifest_schema() -> dict[str, Any]:
    """Give the JSON Schema of a manifest, as it ships in ``schemas/npac.manifest.schema.json``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The manifest of an npac build",
        **_MANIFEST.schema,
    }
