"""The identity of a directory: how many entries it has, and a digest over all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from npac.ledger.canonical import canonical_bytes
from npac.ledger.ports import ObjectInfo, Observation


def directory(uri: str, entries: Iterable[ObjectInfo]) -> Observation:
    """Observe a directory by its ``entries``, whose keys are relative to it and in order.

    The digest is sha256 over the canonical JSON ``[key, identity]`` of each entry and a line feed.
    """
    digest = hashlib.sha256()
    count = size = 0
    for entry in entries:
        digest.update(canonical_bytes([entry.key, entry.identity]) + b"\n")
        count += 1
        size += entry.size
    return Observation(uri, {"count": count, "sha256": digest.hexdigest()}, size, empty=size == 0)
