"""The identity of a directory: how many entries it has, and a digest over all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from npac.ledger.canonical import canonical_bytes
from npac.ledger.outside import writable
from npac.ledger.ports import ObjectInfo, Observation


def directory(uri: str, entries: Iterable[ObjectInfo]) -> Observation:
    """Observe a directory by its ``entries``, whose keys are relative to it and in order.

    The digest is sha256 over the canonical JSON ``[key, identity]`` of each entry and a line feed.
    """
    digest = hashlib.sha256()
    count = size = 0
    for entry in entries:
        digest.update(canonical_bytes(writable([entry.key, entry.identity])) + b"\n")
        count += 1
        size += entry.size
    return Observation(uri, {"count": count, "sha256": digest.hexdigest()}, size, empty=size == 0)


def in_words(identity: Mapping[str, Any]) -> str:
    """Say what an artifact looked like, for people; equal words do not mean equal identities."""
    if "count" in identity:
        count = identity["count"]
        return f"{count} file{'' if count == 1 else 's'} (sha256 {str(identity.get('sha256', ''))[:12]})"
    parts = []
    if "size" in identity:
        parts.append(f"{identity['size']} bytes")
    if "mtime_ns" in identity:
        seconds, rest = divmod(int(identity["mtime_ns"]), 10**9)
        at = datetime.fromtimestamp(seconds, UTC)
        parts.append(f"written {at:%Y-%m-%dT%H:%M:%S}.{rest:09d}Z")
    if identity.get("last_modified"):
        parts.append(f"written {str(identity['last_modified']).replace('+00:00', 'Z')}")
    if identity.get("etag"):
        parts.append(f"etag {str(identity['etag']).strip(chr(34))}")
    return ", ".join(parts) or "something unknown"
