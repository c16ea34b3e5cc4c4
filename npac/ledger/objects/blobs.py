"""Content-addressed bytes as objects."""

from __future__ import annotations

import hashlib

from npac.ledger.blobs import demand_digest
from npac.ledger.objects import layout
from npac.ledger.objects.client import Objects
from npac.ledger.objects.records import RESTORE
from npac.ledger.ports import LedgerCorrupt, LedgerError


class BlobObjects:
    """The blobs of a run.  Writing one twice writes the same bytes, so writes may be repeated."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def put(self, data: bytes) -> str:
        """Store ``data`` and give its sha256 (hex); raises :class:`LedgerError`."""
        digest = hashlib.sha256(data).hexdigest()
        self._objects.put(layout.blob(digest), data)
        return digest

    def get(self, digest: str) -> bytes:
        """Read bytes back and verify them; raises :class:`LedgerError` when they cannot be had."""
        demand_digest(digest)
        key = layout.blob(digest)
        data = self._objects.get(key)
        if data is None:
            raise LedgerError(f"the blob {self._objects.uri(key)} is missing", remedy=RESTORE)
        if hashlib.sha256(data).hexdigest() != digest:
            raise LedgerCorrupt(
                f"the blob {self._objects.uri(key)} does not hash to its name", remedy=RESTORE
            )
        return data
