"""Content-addressed bytes in a folder: ``<ab>/<sha256>``, written whole or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tempfile
from pathlib import Path

from npac.ledger.faults import from_os
from npac.ledger.ports import LedgerCorrupt, LedgerError

_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_digest(text: object) -> bool:
    """Say whether ``text`` is a sha256 in lower-case hexadecimal digits."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def demand_digest(digest: str) -> None:
    """Refuse with :class:`LedgerError` what cannot be the name of a blob."""
    if not is_digest(digest):
        raise LedgerError(
            f"{digest!r} is not the sha256 of a blob",
            remedy="Give 64 lower-case hexadecimal digits, as an event of the run names them.",
        )


class BlobFolder:
    """The blobs below ``folder``, which is made with the first of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Store ``data`` durably and give its sha256 (hex); raises :class:`LedgerError`."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        try:
            if not self._holds(path, data):
                self._write(path, data)
            # Also for bytes that were there: the name may not have reached the disk yet.
            sync_folder(path.parent)
            sync_folder(self._folder)
        except OSError as error:
            raise from_os(error, f"store a blob of {len(data)} bytes at {path}") from error
        return digest

    def get(self, digest: str) -> bytes:
        """Read bytes back and verify them; raises :class:`LedgerError` when they cannot be had."""
        demand_digest(digest)
        path = self._path(digest)
        try:
            data = _read(path)
        except FileNotFoundError:
            raise LedgerError(
                f"the blob {path} is missing", remedy="Restore the run's folder from a copy."
            ) from None
        except OSError as error:
            raise from_os(error, f"read the blob {path}") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise LedgerCorrupt(
                f"the blob {path} does not hash to its name", remedy="Restore the run's folder from a copy."
            )
        return data

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    def _holds(self, path: Path, data: bytes) -> bool:
        try:
            return _read(path) == data
        except FileNotFoundError:
            return False

    def _write(self, path: Path, data: bytes) -> None:
        for folder in (self._folder, path.parent):
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                if not stat.S_ISDIR(os.lstat(folder).st_mode):
                    raise
            else:
                os.chmod(folder, 0o700)
                sync_folder(folder.parent)
        descriptor, temporary = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, 0o600)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def sync_folder(folder: Path) -> None:
    """Bring the names in ``folder`` to the disk; raises :class:`OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path) -> bytes:
    # Blobs are regular files of this folder; a link would lead to bytes that are not the run's.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
