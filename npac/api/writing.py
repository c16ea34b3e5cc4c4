"""Writing one file for the user: whole or not at all, and a sentence when that cannot be done."""

from __future__ import annotations

import errno
import os
import secrets
import stat

from npac.errors import NpacError

PathLike = str | os.PathLike[str]

_REMEDIES = {
    errno.ENOSPC: "Make room on that disk, or name a file on another one.",
    errno.EDQUOT: "Make room within your quota, or name a file on another disk.",
    errno.EROFS: "Name a file on a disk that can be written to.",
    errno.EISDIR: "That is a folder: name a file in it.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
}


def write_file(path: PathLike, data: bytes) -> None:
    """Write ``data`` to ``path``, so that the file is the old one or the new one and never a part of it.

    Of a symbolic link the target is written; permissions of a file that is there are kept.  What is no
    plain file (a pipe, a device) is written to as it stands.  Raises :class:`NpacError`, which names the
    path and says what to do.
    """
    name = os.fspath(path)
    target = os.path.realpath(name)
    try:
        before = _status(target)
        if before is None:
            _replace(target, data, None)
        elif stat.S_ISREG(before.st_mode):
            _over(target, data, before)
        else:
            _into(target, os.O_WRONLY, data)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise NpacError(f"{name} cannot be written: {reason}", remedy=_remedy(name, error)) from error


def _status(target: str) -> os.stat_result | None:
    try:
        return os.stat(target)
    except FileNotFoundError:
        return None


def _over(target: str, data: bytes, before: os.stat_result) -> None:
    # Another file could take its name even so; but it says that it is not to be changed.
    os.close(os.open(target, os.O_WRONLY | os.O_CLOEXEC))
    try:
        _replace(target, data, before)
    except PermissionError:
        # No name can be made in that folder, but the file itself is the user's.
        _into(target, os.O_WRONLY | os.O_TRUNC, data)


def _into(target: str, flags: int, data: bytes) -> None:
    with os.fdopen(os.open(target, flags | os.O_CLOEXEC), "wb") as stream:
        stream.write(data)


def _replace(target: str, data: bytes, before: os.stat_result | None) -> None:
    temporary = os.path.join(os.path.dirname(target), f".npac-{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if before is not None:
            os.chmod(temporary, before.st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _remedy(name: str, error: OSError) -> str:
    if error.errno in _REMEDIES:
        return _REMEDIES[error.errno]
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        folder = os.path.dirname(name) or os.curdir
        return f"Make the folder {folder} first, or name a file in one that is there."
    return "Mend its permissions and those of its folder, or name another file."
