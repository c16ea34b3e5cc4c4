"""The place in a bucket where the ledgers of all runs are: one prefix for each run."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from npac.ledger.canonical import canonical_bytes
from npac.ledger.objects import layout
from npac.ledger.objects.client import Clients, Objects
from npac.ledger.objects.ledger import ObjectLedger
from npac.ledger.objects.log import Log
from npac.ledger.objects.records import RESTORE, decode_object
from npac.ledger.objects.writing import CAUTION, Taken, Writer, does_conditional_writes, unconditional
from npac.ledger.ports import LedgerCorrupt, LedgerError, NoSuchRun, StoreError
from npac.ledger.run_ids import demand_run_id, is_run_id
from npac.ledger.stores.s3 import split
from npac.ledger.surroundings import Surroundings

FORMAT = "npac.ledger/v1"

_CONDITIONAL = "conditional"
_SINGLE = "single"
_LONGEST_PREFIX = 700
"""Bytes; a key has at most 1024."""

_LOGS_KEPT = 64
_READERS = 8


@dataclass(frozen=True, slots=True)
class _Marker:
    """What makes a prefix a run."""

    writers: str
    nonce: str


class ObjectRoot:
    """All runs below ``s3://bucket/prefix``: a :class:`~npac.ledger.ports.Root`.

    Nothing is asked of the store before the first method that has to know.  What was read and
    verified of a log is kept, and shared by all ledgers that this root opens.
    """

    def __init__(
        self,
        url: str,
        *,
        single_writer: bool = False,
        surroundings: Surroundings | None = None,
        clients: Clients | None = None,
    ) -> None:
        """``single_writer`` allows new runs on a store that does no conditional writes.

        Raises :class:`LedgerError` when the URL cannot be a ledger root.
        """
        self.place = _normal(url)
        self._single_writer = single_writer
        self._around = surroundings or Surroundings()
        self._objects = Objects(self.place, clients or Clients())
        self._lock = threading.Lock()
        self._conditional: bool | None = None
        self._logs: OrderedDict[tuple[str, str], Log] = OrderedDict()

    def create(self, run_id: str) -> ObjectLedger:
        """Make the empty ledger of a new run and open it.

        Raises :class:`LedgerError` when the run exists, or the store does no conditional writes and
        that was not allowed.
        """
        if self.holds(run_id):
            raise _exists(run_id, self._of(run_id).url)
        writers = self._writers()
        body = {"format": FORMAT, "nonce": self._around.new_id(), "run_id": run_id, "writers": writers}
        objects = self._of(run_id)
        try:
            self._writer(writers).write(objects, layout.MARKER, canonical_bytes(body))
        except Taken:
            raise _exists(run_id, objects.url) from None
        return self.open(run_id)

    def holds(self, run_id: str) -> bool:
        """Say whether a run has this id, even one of which nothing is on record.

        Raises :class:`LedgerError` for an id that no run may have, and for a run that has lost its
        marker.
        """
        return self._marker(run_id) is not None

    def open(self, run_id: str) -> ObjectLedger:
        """Open the ledger of a run; raises :class:`NoSuchRun` when there is none."""
        marker = self._marker(run_id)
        if marker is None:
            raise NoSuchRun(
                f"there is no run {run_id} in {self.place}",
                remedy="`npac runs` lists the runs there; check the run id and the ledger root.",
            )
        objects = self._of(run_id)
        return ObjectLedger(
            objects,
            run_id,
            self._log(run_id, marker, objects),
            self._writer(marker.writers),
            surroundings=self._around,
            before_taking=partial(self._demand_writers, marker.writers),
        )

    def runs(self) -> list[str]:
        """Give the ids of all runs, sorted; whatever else is below the root is passed over."""
        return [name for name, fault in self._survey() if not fault]

    def strays(self) -> list[tuple[str, str]]:
        """Give what is named like a run and has lost what makes it one, each with a sentence that says so."""
        return [(name, fault) for name, fault in self._survey() if fault]

    def caution(self, run_id: str) -> str:
        """Say what whoever drives a run on a store without conditional writes has to see to."""
        marker = self._marker(run_id)
        return CAUTION if marker is not None and marker.writers == _SINGLE else ""

    def _survey(self) -> list[tuple[str, str]]:
        names = [name for name in self._objects.list("", delimiter="/").folders if is_run_id(name)]
        with ThreadPoolExecutor(_READERS) as readers:
            found = list(readers.map(self._looked_at, names))
        return sorted((name, fault) for name, fault in zip(names, found, strict=True) if fault is not None)

    def _looked_at(self, name: str) -> str | None:
        """Give an empty text for a run, None for what is none, and else what it has lost."""
        objects = self._of(name)
        if objects.get(layout.MARKER) is not None:
            return ""
        return f"it has lost its {layout.MARKER}" if _was_run(objects) else None

    def _marker(self, run_id: str) -> _Marker | None:
        """Read what makes a prefix a run; None when it is proven that no run has this id."""
        demand_run_id(run_id)
        objects = self._of(run_id)
        body = objects.get(layout.MARKER)
        uri = objects.uri(layout.MARKER)
        if body is None:
            if _was_run(objects):
                raise LedgerCorrupt(f"run {run_id} has lost {uri}, and a log is beside it", remedy=RESTORE)
            return None
        fields = decode_object(body, uri, {"format": str})
        if fields["format"] != FORMAT:
            raise LedgerError(
                f"the ledger {objects.url} has format {fields['format']!r}, and this npac reads {FORMAT}",
                remedy="Use the version of npac that started the run.",
            )
        fields = decode_object(body, uri, {"nonce": str, "run_id": str, "writers": str})
        if fields["run_id"] != run_id or fields["writers"] not in (_CONDITIONAL, _SINGLE):
            raise LedgerCorrupt(f"{uri} is damaged: it is not of run {run_id}", remedy=RESTORE)
        return _Marker(fields["writers"], fields["nonce"])

    def _writers(self) -> str:
        """Find out how runs are written here; refuses a store that may not be used."""
        if self._does_conditional_writes():
            return _CONDITIONAL
        if not self._single_writer:
            raise unconditional(self.place)
        return _SINGLE

    def _does_conditional_writes(self) -> bool:
        with self._lock:
            if self._conditional is None:
                self._conditional = does_conditional_writes(self._objects, self._writer(_CONDITIONAL))
            return self._conditional

    def _demand_writers(self, writers: str) -> None:
        """Refuse to drive a run that relies on conditional writes where the store has none (any more)."""
        if writers == _CONDITIONAL and not self._does_conditional_writes():
            raise unconditional(self.place)

    def _writer(self, writers: str) -> Writer:
        around = self._around
        return Writer(around.clock, around.sleep, around.patience.settle, writers == _CONDITIONAL)

    def _of(self, run_id: str) -> Objects:
        return self._objects.below(run_id)

    def _log(self, run_id: str, marker: _Marker, objects: Objects) -> Log:
        # A run of the same id that was made anew has another nonce.
        key = (run_id, marker.nonce)
        with self._lock:
            log = self._logs.pop(key, None) or Log(objects)
            self._logs[key] = log
            while len(self._logs) > _LOGS_KEPT:
                self._logs.popitem(last=False)
        return log


def _was_run(objects: Objects) -> bool:
    return objects.get(layout.event(1)) is not None or objects.get(layout.heartbeat(1)) is not None


def _normal(url: str) -> str:
    try:
        bucket, prefix = split(url)
    except StoreError as error:
        raise LedgerError(f"no ledger root: {error}", remedy="Write s3://bucket/prefix.") from error
    prefix = prefix.strip("/")
    try:
        length = len(prefix.encode())
    except UnicodeEncodeError:
        raise LedgerError(
            f"no ledger root: {url!r} holds bytes that are no UTF-8 text", remedy="Write it as UTF-8."
        ) from None
    if length > _LONGEST_PREFIX or any(not char.isprintable() for char in prefix):
        raise LedgerError(
            f"no ledger root: the prefix in {url!r} is too long or cannot be printed",
            remedy=f"Choose a prefix of at most {_LONGEST_PREFIX} bytes that can be printed.",
        )
    if any(part in ("", ".", "..") for part in prefix.split("/")) and prefix:
        raise LedgerError(
            f"no ledger root: {url!r} has an empty part, '.' or '..' in its prefix",
            remedy="Write s3://bucket/prefix; a prefix is a name and is not resolved like a path.",
        )
    return f"s3://{bucket}/{prefix}" if prefix else f"s3://{bucket}"


def _exists(run_id: str, url: str) -> LedgerError:
    return LedgerError(
        f"run {run_id} exists already ({url})",
        remedy=f"Go on with it by `npac resume {run_id}`, or choose another run id.",
    )
