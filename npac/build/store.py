"""A content-addressed store of immutable objects, and atomic files.

An object stands at ``objects/sha256/<first two hex digits>/<64 hex digits>``.  A file appears under
its name only when all its bytes are on disk.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from npac.build.bodies import Body
from npac.build.errors import BuildError, unreadable
from npac.ir.canonical import digest_bytes
from npac.reading import MAX_OBJECT_BYTES, holds, read_regular

OBJECTS = "objects/sha256"
TEMPORARY = ".npac-tmp-"


def object_path(digest: str) -> str:
    """Give the place of an object inside its build, with ``/`` between the parts."""
    return f"{OBJECTS}/{digest[:2]}/{digest}"


def write_atomic(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write ``data`` to ``path`` so that a reader, or a crash, sees the old bytes or the new ones.

    Data that comes in pieces is written piece by piece.

    Raises :class:`BuildError` when the place cannot be written or the disk is full; nothing of the
    attempt stays.
    """
    temporary = path.parent / f"{TEMPORARY}{secrets.token_hex(8)}"
    try:
        make_folder(path.parent)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines((data,) if isinstance(data, bytes) else data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error


def make_folder(folder: Path) -> None:
    """Make ``folder`` and what lacks above it, durably."""
    lacking = []
    at = folder
    while not at.is_dir():
        lacking.append(at)
        at = at.parent
    folder.mkdir(parents=True, exist_ok=True)
    for made in lacking:
        sync_folder(made.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot sync a folder; their renames are as durable as they get.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def _cannot_write(path: Path, error: OSError) -> BuildError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return BuildError(
            f"{path} could not be written: the disk is full.", "Free some space and compile again."
        )
    reason = error.strerror or str(error)
    return BuildError(
        f"{path} could not be written: {reason}.", "Choose another folder with -o, or mend its permissions."
    )


class ObjectStore:
    """The objects of one build folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, data: bytes) -> str:
        """Store ``data`` durably and give its digest.

        An object that is there already is read and verified; one that was damaged is written anew.
        Raises :class:`BuildError`.
        """
        digest = digest_bytes(data)
        path = self.root / object_path(digest)
        try:
            if not path.is_symlink() and holds(path, data):
                return digest
        except FileNotFoundError:
            pass
        except OSError as error:
            raise _cannot_write(path, error) from error
        write_atomic(path, data)
        return digest

    def put_body(self, body: Body) -> None:
        """Store a body durably, like :meth:`put`; one that is not kept is made and written in pieces."""
        if body.kept is not None:
            self.put(body.kept)
            return
        path = self.root / object_path(body.digest)
        try:
            if not path.is_symlink() and body.held_by(path):
                return
        except FileNotFoundError:
            pass
        except OSError as error:
            raise _cannot_write(path, error) from error
        write_atomic(path, body.parts())

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

    def digests(self) -> Iterator[str]:
        """Yield the names of all objects that are there, sorted, without looking at their bytes."""
        folder = self.root / OBJECTS
        for shard in sorted(folder.iterdir()) if folder.is_dir() else []:
            if shard.is_dir():
                yield from sorted(
                    path.name for path in shard.iterdir() if not path.name.startswith(TEMPORARY)
                )
