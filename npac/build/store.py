"""A content-addressed store of immutable objects.

An object stands at ``objects/sha256/<first two hex digits>/<64 hex digits>``.
"""

from __future__ import annotations

from pathlib import Path

from npac.build.errors import BuildError, unreadable
from npac.ir.canonical import digest_bytes
from npac.reading import MAX_OBJECT_BYTES, read_regular

OBJECTS = "objects/sha256"


def object_path(digest: str) -> str:
    """Give the place of an object inside its build, with ``/`` between the parts."""
    return f"{OBJECTS}/{digest[:2]}/{digest}"


class ObjectStore:
    """The objects of one build folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, digest: str) -> bytes:
        """Give the bytes of an object, verified.  Raises :class:`BuildError`."""
        path = self.root / object_path(digest)
        try:
            data = read_regular(path, MAX_OBJECT_BYTES)
        except FileNotFoundError:
            raise BuildError(f"The build lacks the object {path}.", "Compile again.") from None
        except OSError as error:
            raise unreadable(path, error, "compile again") from error
        found = digest_bytes(data)
        if found != digest:
            raise BuildError(f"{path} was changed: its bytes hash to {found}.", "Compile again.")
        return data
