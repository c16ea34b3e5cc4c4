"""A driver that dies at any of its requests, just before or just after it was carried out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from npac.ledger.fold import fsck
from npac.ledger.objects.client import Clients
from npac.ledger.objects.root import ObjectRoot
from npac.ledger.ports import Event
from npac.ledger.process import ProcessIdentity, this_process
from npac.ledger.surroundings import Surroundings

MakeRoot = Callable[..., ObjectRoot]
WORK = 1


class Died(BaseException):
    """The process is gone."""


class Dying:
    """Clients of a process that dies at one of its writes: ``at`` counts from 1; 0 for never."""

    def __init__(self, clients: Clients, at: int, after: bool) -> None:
        self.clients = clients
        self.at = at
        self.after = after
        self.writes = 0

    @property
    def repeating(self) -> Any:
        return _Client(self, self.clients.repeating)

    @property
    def once(self) -> Any:
        return _Client(self, self.clients.once)


class _Client:
    def __init__(self, fate: Dying, client: Any) -> None:
        self._fate = fate
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def put_object(self, **given: Any) -> Any:
        self._fate.writes += 1
        if self._fate.writes != self._fate.at:
            return self._client.put_object(**given)
        if self._fate.after:
            # A write that is refused is an answer that nobody hears any more.
            with suppress(ClientError):
                self._client.put_object(**given)
        raise Died


def gone() -> ProcessIdentity:
    """Give a process of this boot that is no more."""
    return dataclasses.replace(this_process(), pid=2**22 - 1)


def drive(root: ObjectRoot, acknowledged: list[Event]) -> None:
    """Do what a driver does, and note what was acknowledged."""
    ledger = root.open("r") if root.holds("r") else root.create("r")
    request = ledger.ask("cancel", {})
    fence = ledger.take({})
    for n in range(WORK):
        digest = ledger.put_blob(b"evidence %d" % n)
        acknowledged.append(ledger.append("intent", {"n": n, "why_blob": digest}, fence))
    ledger.answer(request, fence, {"accepted": True})
    ledger.heartbeat(fence)
    ledger.release(fence)


def test_whatever_was_acknowledged_is_there_and_another_driver_goes_on(
    bucket: Any, clients: Clients, make_root: MakeRoot
) -> None:
    whole = Dying(clients, 0, False)
    drive(ObjectRoot(f"s3://{bucket.name}/whole", clients=whole), [])  # type: ignore[arg-type]
    assert whole.writes > 10
    died = Surroundings(process=gone)
    for at in range(1, whole.writes + 1):
        for after in (False, True):
            place = f"s3://{bucket.name}/{at}{after}"
            acknowledged: list[Event] = []
            fate: Any = Dying(clients, at, after)
            with pytest.raises(Died):
                drive(ObjectRoot(place, clients=fate, surroundings=died), acknowledged)
            root = ObjectRoot(place, clients=clients)
            before = list(root.open("r").events()) if root.holds("r") else []
            assert [each for each in before if each.type == "intent"][: len(acknowledged)] == acknowledged
            drive(root, acknowledged)
            ledger = ObjectRoot(place, clients=clients).open("r")
            events = list(ledger.events())
            assert events[: len(before)] == before and fsck(ledger) == []
            assert all(each in events for each in acknowledged)
