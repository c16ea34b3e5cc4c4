"""Events of a run's log and the hash chain that holds them together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from npac.ledger.canonical import canonical_bytes, parse
from npac.ledger.outside import writable
from npac.ledger.ports import Event, LedgerCorrupt

ZEROS = "0" * 64
"""What the first event names as the digest before it."""

DRIVER_STARTED = "driver-started"
"""The event that takes the lease; its fence is one above the last."""

_FIELDS = ("at", "data", "fence", "number", "previous", "type")


def encode(
    number: int, type: str, fence: int, data: Mapping[str, Any], at: str, previous: str
) -> tuple[bytes, str]:
    """Give an event's canonical bytes and their sha256 (hex).

    What the outside world has put into ``data`` and JSON cannot hold is written as text that shows it
    (:func:`npac.ledger.outside.writable`).  Raises :class:`ValueError` when ``data`` is not plain data.
    """
    body = canonical_bytes(
        {
            "number": number,
            "type": type,
            "fence": fence,
            "data": writable(data),
            "at": at,
            "previous": previous,
        }
    )
    return body, hashlib.sha256(body).hexdigest()


def decode(body: bytes, digest: str, number: int) -> Event:
    """Read an event back from its canonical bytes.

    ``number`` is where it was found, for the message.  Raises :class:`LedgerCorrupt` when the
    bytes do not hash to ``digest`` or do not hold an event.
    """
    if hashlib.sha256(body).hexdigest() != digest:
        raise corrupt(number, "its bytes do not hash to its digest")
    try:
        fields = parse(body)
    except (ValueError, RecursionError):
        raise corrupt(number, "it is not JSON") from None
    # Canonical JSON has its keys in order.
    if type(fields) is not dict or tuple(fields) != _FIELDS or not _typed(fields):
        raise corrupt(number, "it does not have the fields of an event")
    return Event(digest=digest, **fields)


def digest_of(event: Event) -> str:
    """Give the sha256 (hex) that ``event.digest`` must be."""
    return encode(event.number, event.type, event.fence, event.data, event.at, event.previous)[1]


class Chain:
    """Follows a log event by event and refuses the first one that does not fit.

    Starts before the first event, or after the event whose ``number``, ``digest`` and ``fence``
    are given.
    """

    def __init__(self, number: int = 0, digest: str = ZEROS, fence: int = 0) -> None:
        self.number = number
        self.digest = digest
        self.fence = fence

    def copy(self) -> Chain:
        """Give a chain that stands where this one stands now."""
        return Chain(self.number, self.digest, self.fence)

    def link(self, event: Event) -> None:
        """Step over ``event``; raises :class:`LedgerCorrupt` when it does not follow the last."""
        expected = self.number + 1
        if event.number != expected:
            raise corrupt(expected, f"the log goes on with event {event.number} in its place")
        if event.previous != self.digest:
            raise corrupt(event.number, "it does not follow the digest of the event before")
        fence = self.fence + 1 if event.type == DRIVER_STARTED else self.fence
        if event.fence != fence or fence == 0:
            raise corrupt(event.number, f"it has fence {event.fence} where {fence or 'a driver'} was due")
        self.number, self.digest, self.fence = event.number, event.digest, event.fence


def verify_events(events: Iterable[Event], chain: Chain | None = None) -> Chain:
    """Verify whole events, their digests computed anew, and give where the chain ends.

    ``chain`` says where ``events`` begin, by default at the beginning of a log.  Raises
    :class:`LedgerCorrupt` naming the first event that does not fit.
    """
    chain = chain or Chain()
    for event in events:
        try:
            digest = digest_of(event)
        except ValueError as error:
            raise corrupt(event.number, str(error)) from error
        if digest != event.digest:
            raise corrupt(event.number, "its fields do not hash to its digest")
        chain.link(event)
    return chain


def corrupt(number: int, why: str) -> LedgerCorrupt:
    """Build the error that names a bad event."""
    return LedgerCorrupt(
        f"event {number} of the log is damaged: {why}",
        remedy="Restore the run's folder from a copy; nothing after the event before can be trusted.",
        event=number,
    )


def _typed(fields: Mapping[str, Any]) -> bool:
    # Written out, since a long log has it done for each of its events.
    return (
        type(fields["number"]) is int
        and type(fields["fence"]) is int
        and type(fields["type"]) is str
        and type(fields["at"]) is str
        and type(fields["previous"]) is str
        and type(fields["data"]) is dict
    )
