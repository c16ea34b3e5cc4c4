"""The bytes of a build's files: kept while they are few, made again when they are many.

Everything that goes into a build can be made any number of times with the same bytes.  So the digests
of a large build are worked out first, a file at a time, and each file is made anew when it is written;
it never stands in memory as a whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from npac.reading import demand_regular

BUDGET = 64 << 20
"""Bytes that are kept for one build."""
SHOWN = 8 << 20
"""Bytes that are kept of documents that are shown one after the other."""

_WHOLE = 1 << 20
"""Bytes of a file that is read at once to be compared."""

Maker = Callable[[], Iterable[bytes]]
Tell = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and how much there is to do."""


def silent(what: str, done: int, total: int) -> None:
    """Tell nobody."""


class Body:
    """The bytes of one file, with their sha256 (hex) and their number."""

    __slots__ = ("_kept", "_make", "digest", "size")

    def __init__(self, digest: str, size: int, kept: bytes | None, make: Maker) -> None:
        self.digest = digest
        self.size = size
        self._kept = kept
        self._make = make

    @property
    def kept(self) -> bytes | None:
        """The bytes, where they are kept."""
        return self._kept

    def parts(self) -> Iterable[bytes]:
        """Give the bytes in pieces."""
        return self._make() if self._kept is None else (self._kept,)

    def held_by(self, path: str | Path) -> bool:
        """Say whether a regular file holds these very bytes.  Raises ``OSError`` when it cannot be read."""
        demand_regular(path)
        with open(path, "rb", buffering=0) as stream:
            if self.size > _WHOLE:
                return hashlib.file_digest(stream, "sha256").hexdigest() == self.digest
            data = stream.read(self.size + 1)
        return data == self._kept or hashlib.sha256(data).hexdigest() == self.digest


class Bodies:
    """Makes bodies, and keeps bytes up to a budget."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.left = budget

    def add(self, make: Maker) -> Body:
        """Give the body of what ``make`` yields; each call of it must yield the same bytes."""
        found = hashlib.sha256()
        size = 0
        pieces: list[bytes] | None = []
        for part in make():
            found.update(part)
            size += len(part)
            if size > self.left:
                pieces = None
            if pieces is not None:
                pieces.append(part)
        if pieces is None:
            return Body(found.hexdigest(), size, None, make)
        self.left -= size
        kept = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return Body(found.hexdigest(), size, kept, make)


class Documents(Sequence[tuple[str, str]]):
    """Titles and texts; a text that is not kept is made anew each time when it is asked for."""

    def __init__(self, entries: Sequence[tuple[str, Body]]) -> None:
        self._entries = entries

    def __len__(self) -> int:
        """Give the number of documents."""
        return len(self._entries)

    def __getitem__(self, at: int | slice) -> tuple[str, str] | Sequence[tuple[str, str]]:  # type: ignore[override]
        """Give the title and the text at a place, or the documents of a slice."""
        if isinstance(at, slice):
            return Documents(self._entries[at])
        title, body = self._entries[at]
        return title, b"".join(body.parts()).decode()

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield the title and the text of one document after the other."""
        for title, body in self._entries:
            yield title, b"".join(body.parts()).decode()
