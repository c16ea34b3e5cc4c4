"""An object store in virtual time: its history is kept, so that it can answer late or out of date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from npac.ledger.ports import ObjectInfo, Observation, StoreChanged, StoreError
from tests.simulator.kernel import Actor, Kernel
from tests.simulator.schedule import Fault

T = TypeVar("T")

REPLY = 0.02


@dataclass(frozen=True, slots=True)
class Version:
    """One state of one object; ``data`` None says that it was removed."""

    at: float
    number: int
    data: bytes | None
    writer: str
    """Id of the launch whose job wrote it; empty for what was there before, or came from elsewhere."""

    @property
    def identity(self) -> dict[str, Any]:
        """Give what an S3 store tells of it, the number of its write standing for etag and version."""
        size = len(self.data or b"")
        return {
            "etag": f"e{self.number}",
            "version": f"v{self.number}",
            "modified": f"{self.at:.3f}",
            "size": size,
        }


class Objects:
    """What is in the store, and was."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.history: dict[str, list[Version]] = {}
        self._numbers = 0
        self.down_until = 0.0

    def write(self, uri: str, data: bytes | None, writer: str = "", who: str = "job") -> Version:
        """Put an object, or remove it."""
        self._numbers += 1
        made = Version(self._kernel.now, self._numbers, data, writer)
        self.history.setdefault(uri, []).append(made)
        self._kernel.say(who, f"writes {uri} ({made.identity['etag']})" if data is not None else f"rm {uri}")
        return made

    def at(self, uri: str, when: float) -> Version | None:
        """Give an object as it was; None when there was none."""
        found = [version for version in self.history.get(uri, ()) if version.at <= when]
        return found[-1] if found and found[-1].data is not None else None

    def below(self, prefix: str, when: float) -> list[tuple[str, Version]]:
        """Give the objects below a prefix as they were, in key order."""
        found = [(uri, self.at(uri, when)) for uri in sorted(self.history) if uri.startswith(prefix)]
        return [(uri, version) for uri, version in found if version is not None]


class SimStore:
    """The store as one driver sees it; ``proving`` says whether a wave's job has been started."""

    def __init__(self, kernel: Kernel, objects: Objects, actor: Actor, proving: Any) -> None:
        self._kernel, self._objects, self._actor, self._proving = kernel, objects, actor, proving

    def observe(self, uri: str, kind: str) -> Observation | None:
        when = self._ask("observe", uri)
        if kind == "file":
            seen = self._objects.at(uri, when)
            if seen is None:
                return None
            return Observation(uri, seen.identity, len(seen.data or b""), not seen.data)
        entries = self._objects.below(uri, when)
        if not entries:
            return None
        size = sum(len(version.data or b"") for _, version in entries)
        listed = [[key, version.identity["etag"]] for key, version in entries]
        return Observation(uri, {"count": len(entries), "entries": listed}, size, size == 0)

    def make_room(self, uri: str) -> None:
        self._ask("make_room", uri)

    def mark(self, uri: str) -> str:
        return ""

    def stale(self, uri: str, kind: str, mark: str) -> bool:
        return False

    def read(self, uri: str, expected: Observation | None = None, *, limit: int = 1 << 20) -> bytes:
        when = self._ask("read", uri)
        seen = self._objects.at(uri, when)
        if expected is not None and (seen is None or seen.identity != expected.identity):
            raise StoreChanged(f"{uri} is not what was observed")
        if seen is None or seen.data is None:
            raise FileNotFoundError(uri)
        return seen.data

    def list(self, uri: str) -> Iterator[ObjectInfo]:
        when = self._ask("list", uri)
        for key, version in self._objects.below(uri, when):
            yield ObjectInfo(key, version.identity, len(version.data or b""))

    def _ask(self, verb: str, uri: str) -> float:
        """Make one call; gives the moment whose state the store shows."""

        def effect(faults: Sequence[Fault]) -> float:
            when = self._kernel.now
            for fault in faults:
                if fault.what == "store-down":
                    self._objects.down_until = self._kernel.now + fault.amount
                if fault.what == "store-error":
                    self._fail(verb, uri)
                # How outputs were before is only as good as the store's answer: it must be up to date.
                if fault.what == "store-lag" and (verb != "observe" or self._proving()):
                    when -= fault.amount
                    self._kernel.say("store", f"shows {uri} as it was {fault.amount:g} s ago")
            if self._kernel.now < self._objects.down_until:
                self._fail(verb, uri)
            return when

        return self._kernel.call(self._actor, f"store.{verb}", REPLY, effect)

    def _fail(self, verb: str, uri: str) -> None:
        self._kernel.say("store", f"does not answer to {verb} {uri}")
        raise StoreError(f"503 for {uri}")
