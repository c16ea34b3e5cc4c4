"""Writing an object where none is, so that in the end it is known who did it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from npac.ledger.objects.client import InDoubt, Objects, Unconditional
from npac.ledger.ports import LedgerError

PROBE = ".npac/conditional-writes"
"""Where a root is asked whether it does conditional writes; the object stays there."""

_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 2.0


class Taken(Exception):
    """Something else is under the key; ``found`` holds its bytes."""

    def __init__(self, key: str, found: bytes) -> None:
        super().__init__(key)
        self.found = found


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes each object once.

    ``settle`` bounds in seconds how long a write of unknown outcome is looked after.  Without
    ``conditional`` the store is only looked at before and after, which excludes nobody who writes
    at the same moment.
    """

    clock: Callable[[], float]
    sleep: Callable[[float], None]
    settle: float
    conditional: bool = True

    def write(self, objects: Objects, key: str, body: bytes) -> None:
        """Store ``body``, which no other writer can have made, under ``key``.

        Returns only when it is proven to be there.  Raises :class:`Taken` when other bytes are, and
        :class:`LedgerError` when it cannot be found out; the write may then be there, or yet come.
        """
        until = self.clock() + self.settle
        pause = _FIRST_PAUSE
        while True:
            doubt: LedgerError | None = None
            try:
                if self._send(objects, key, body):
                    return
            except InDoubt as error:
                doubt = error
            # Whatever the answer was: what is there now says whose write it is.
            found = objects.get(key)
            if found == body:
                return
            if found is not None:
                raise Taken(key, found)
            if self.clock() + pause > until:
                raise _undecided(objects.uri(key), doubt) from doubt
            self.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _send(self, objects: Objects, key: str, body: bytes) -> bool:
        if self.conditional:
            return objects.put_new(key, body)
        if objects.get(key) is None:
            objects.put_soon(key, body)
        return False


def _undecided(uri: str, doubt: LedgerError | None) -> LedgerError:
    why = f": {doubt}" if doubt else ": the store refused it as if it were there, and it is not"
    return LedgerError(
        f"it is not known whether {uri} was written{why}",
        remedy="Try again when the store answers; nothing was concluded from this.",
    )


def does_conditional_writes(objects: Objects, writer: Writer) -> bool:
    """Ask a store by two writes of one key whether it refuses the second one.

    Raises :class:`LedgerError` when it does not answer, which says nothing.
    """
    first, second = (uuid.uuid4().hex.encode() for _ in range(2))
    try:
        for body in (first, second):
            try:
                writer.write(objects, PROBE, body)
            except Taken:
                continue
            if body is second:
                return False
    except Unconditional:
        return False
    return objects.get(PROBE) != second


def unconditional(url: str) -> LedgerError:
    """Build the refusal of a store on which two drivers could have one run."""
    return LedgerError(
        f"the store of {url} does not do conditional writes (If-None-Match), so two drivers could have one "
        "run at a time",
        remedy="Use a store that does, or a folder; or, if it is certain that only one driver at a time is "
        "ever started, --single-writer.",
    )


CAUTION = (
    "the ledger's store does not do conditional writes, so nothing keeps two drivers from having this run "
    "at one time: never start a second one while the first may be alive"
)
