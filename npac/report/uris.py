"""Which URIs a run makes itself, and which must be there before it."""

from __future__ import annotations

from collections.abc import Iterator


class Produced:
    """The URIs written so far.  A URI above or below a written one counts as written."""

    def __init__(self) -> None:
        self._exact: set[str] = set()
        self._above: set[str] = set()

    def add(self, uri: str) -> None:
        """Note that ``uri`` has been written."""
        plain = uri.rstrip("/")
        if plain in self._exact:
            return
        self._exact.add(plain)
        self._above.update(_ancestors(plain))

    def __contains__(self, uri: object) -> bool:
        if not isinstance(uri, str):
            return False
        plain = uri.rstrip("/")
        if plain in self._exact or plain in self._above:
            return True
        return any(above in self._exact for above in _ancestors(plain))


def _ancestors(uri: str) -> Iterator[str]:
    """Give the folders above a URI, down to its bucket or root."""
    start = uri.find("://")
    floor = start + 3 if start >= 0 else 0
    at = uri.rfind("/", floor)
    while at > floor:
        yield uri[:at]
        at = uri.rfind("/", floor, at)
