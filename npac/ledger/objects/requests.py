"""What people asked of a run, and what drivers answered: an object each."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from npac.ledger.canonical import canonical_bytes
from npac.ledger.objects import layout
from npac.ledger.objects.client import Objects
from npac.ledger.objects.records import decode_object
from npac.ledger.objects.writing import Taken, Writer
from npac.ledger.outside import writable
from npac.ledger.ports import LedgerError, Request

_ID = re.compile(r"[0-9a-f]{32}")


class _Asked(NamedTuple):
    place: int
    """How many requests were there before; askers that did not see each other share one."""
    at: str
    request: Request


class RequestObjects:
    """The requests to one run.  May be used by several threads; all methods raise :class:`LedgerError`."""

    def __init__(self, objects: Objects, writer: Writer, run_id: str) -> None:
        self._objects = objects
        self._writer = writer
        self._run_id = run_id
        self._known: dict[str, _Asked] = {}
        self._lock = threading.Lock()

    def ask(self, request_id: str, kind: str, data: Mapping[str, Any], at: str) -> None:
        """Leave a request; it is there when this returns."""
        body = {"asked": at, "data": writable(data), "kind": kind, "place": len(self._ids()[0])}
        # The id is random, so nobody else writes this key, and the write may be repeated.
        self._objects.put(layout.request(request_id), canonical_bytes(body))

    def open(self) -> Sequence[Request]:
        """Give the requests that are not answered, oldest first."""
        asked, answered = self._ids()
        found = [self._asked(each) for each in asked - answered]
        found.sort(key=lambda each: (each.place, each.at, each.request.id))
        return [each.request for each in found]

    def answer(self, request_id: str, fence: int, nonce: str, result: Mapping[str, Any]) -> None:
        """Answer an open request; an answered one stays as it is."""
        asked = _ID.fullmatch(request_id) and self._objects.get(layout.request(request_id)) is not None
        body = canonical_bytes({"fence": fence, "nonce": nonce, "result": writable(result)})
        try:
            if asked:
                self._writer.write(self._objects, layout.answer(request_id), body)
                return
        except Taken:
            pass
        raise LedgerError(
            f"run {self._run_id} has no open request {request_id}",
            remedy="Read the open requests again; an answered one stays as it is.",
        )

    def result(self, request_id: str) -> Mapping[str, Any] | None:
        """Give the answer to a request; None while it is open."""
        if _ID.fullmatch(request_id):
            key = layout.answer(request_id)
            body = self._objects.get(key)
            if body is not None:
                result: Mapping[str, Any] = decode_object(body, self._objects.uri(key), {"result": dict})[
                    "result"
                ]
                return result
            if self._objects.get(layout.request(request_id)) is not None:
                return None
        raise LedgerError(
            f"run {self._run_id} has no request {request_id}", remedy="Check the id and the run."
        )

    def faults(self) -> list[str]:
        """Give a sentence for each request or answer that cannot be read."""
        asked, answered = self._ids()
        found = [f"there is an answer to a request {each} that is missing" for each in answered - asked]
        for request_id in sorted(asked):
            try:
                self._known.pop(request_id, None)
                self._asked(request_id)
                self.result(request_id)
            except LedgerError as error:
                found.append(str(error))
        return found

    def _ids(self) -> tuple[set[str], set[str]]:
        """Give the ids of all requests, and of those that are answered."""
        asked, answered = set(), set()
        for key in self._objects.list(layout.REQUESTS).keys:
            request_id = key.removeprefix(layout.REQUESTS)
            if layout.is_answer(key):
                answered.add(request_id.partition(".")[0])
            elif _ID.fullmatch(request_id):
                asked.add(request_id)
        return asked, answered

    def _asked(self, request_id: str) -> _Asked:
        with self._lock:
            known = self._known.get(request_id)
        if known is None:
            key = layout.request(request_id)
            body = self._objects.get(key)
            if body is None:
                raise LedgerError(
                    f"{self._objects.uri(key)} was listed and is gone", remedy="Read the requests again."
                )
            types = {"asked": str, "data": dict, "kind": str, "place": int}
            fields = decode_object(body, self._objects.uri(key), types)
            known = _Asked(
                fields["place"], fields["asked"], Request(request_id, fields["kind"], fields["data"])
            )
            with self._lock:
                self._known[request_id] = known
        return known
