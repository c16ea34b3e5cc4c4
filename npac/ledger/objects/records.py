"""An event as an object of the log: canonical JSON that tells whose write it is.

``event`` holds the fields that the hash chain covers and ``digest`` their sha256.  ``nonce`` is random for
each write, so that equal bytes mean one and the same write; ``sent_ms`` is when it was sent, on the boot
clock of the driver.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from npac.ledger.canonical import canonical_bytes, parse
from npac.ledger.events import corrupt, decode
from npac.ledger.ports import Event, LedgerCorrupt

LIMIT = 64 * 1024
"""Longest object of the log, in bytes."""

RESTORE = "Restore the run's folder from a copy."


class Record(NamedTuple):
    """One object of the log, verified by itself."""

    event: Event
    sent_ms: int
    body: bytes


def encode_record(event: bytes, digest: str, nonce: str, sent_ms: int) -> bytes:
    """Give the bytes of an object of the log; ``event`` is the event's canonical JSON."""
    head = b'{"digest":"%s","event":%s,' % (digest.encode(), event)
    return head + b'"nonce":"%s","sent_ms":%d}' % (nonce.encode(), sent_ms)


def decode_record(body: bytes, number: int) -> Record:
    """Read an object of the log; raises :class:`LedgerCorrupt` that names ``number``."""
    try:
        fields = parse(body)
        whole = canonical_bytes(fields) == body
    except (ValueError, RecursionError):
        raise corrupt(number, "it is not JSON") from None
    if not whole or not isinstance(fields, dict) or sorted(fields) != ["digest", "event", "nonce", "sent_ms"]:
        raise corrupt(number, "it is not as npac writes it")
    digest, sent_ms = fields["digest"], fields["sent_ms"]
    if type(digest) is not str or type(sent_ms) is not int or type(fields["nonce"]) is not str:
        raise corrupt(number, "it is not as npac writes it")
    event = decode(canonical_bytes(fields["event"]), digest, number)
    if event.number != number:
        raise corrupt(number, f"event {event.number} is in its place")
    return Record(event, sent_ms, body)


def decode_object(body: bytes, uri: str, types: dict[str, type]) -> dict[str, Any]:
    """Read another object of a run, which has at least the fields of ``types``.

    Raises :class:`LedgerCorrupt` that names ``uri``.
    """
    try:
        fields = parse(body)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or any(
        type(fields.get(name)) is not kind for name, kind in types.items()
    ):
        raise LedgerCorrupt(f"{uri} is damaged: it is not as npac writes it", remedy=RESTORE)
    return fields
