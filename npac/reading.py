"""Reading a file that someone named: regular files only, and never more than a bound.

What is named may be anything: a pipe that nobody writes to, a device that never ends, a file that
fills the memory.  None of these is waited for or read; each is an ``OSError`` that says what it is.
"""

import errno
import os
import stat

MAX_SPEC_BYTES = 64 << 20
"""Largest spec, config overlay, catalog or test file."""
MAX_PROJECT_BYTES = 4 << 20
"""Largest ``npac.toml`` or ``pyproject.toml``."""
MAX_MANIFEST_BYTES = 512 << 20
"""Largest manifest of a build."""
MAX_OBJECT_BYTES = 8 << 30
"""Largest object, or readable file, of a build."""

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read_regular(path: str | os.PathLike[str], limit: int) -> bytes:
    """Give the bytes of the regular file ``path``, of at most ``limit`` bytes.

    Raises ``OSError``, whose ``strerror`` is the reason: ``IsADirectoryError`` for a folder, errno
    ``EINVAL`` for any other file that is none, or a path that no file can have, and ``EFBIG`` for one
    of more than ``limit`` bytes.  Nothing but a regular file is opened, and nothing is waited for.
    """
    data = _read(path, limit + 1, limit)
    if len(data) > limit:
        raise too_large(path, limit)
    return data


def read_head(path: str | os.PathLike[str], count: int) -> bytes:
    """Give the first ``count`` bytes of a regular file, all of a shorter one; raises as read_regular."""
    return _read(path, count, None)


def holds(path: str | os.PathLike[str], data: bytes) -> bool:
    """Say whether a regular file is ``data``, reading one byte more at most; raises as read_regular."""
    return _read(path, len(data) + 1, None) == data


def demand_regular(path: str | os.PathLike[str]) -> None:
    """Raise the ``OSError`` of :func:`read_regular` for what is there and is no regular file."""
    try:
        state = os.stat(path)
    except ValueError as error:
        raise _no_path(path) from error
    _demand(path, state.st_mode)


def too_large(path: str | os.PathLike[str], limit: int) -> OSError:
    """Give the error for a file of more than ``limit`` bytes."""
    return OSError(errno.EFBIG, f"it is larger than {limit >> 20} MiB", os.fspath(path))


def _read(path: str | os.PathLike[str], count: int, limit: int | None) -> bytes:
    # Opening a device may do something, so what is there is looked at first; what was put there in
    # between is looked at again, and opened without waiting for another end.
    demand_regular(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as stream:
        state = os.fstat(descriptor)
        _demand(path, state.st_mode)
        if limit is not None and state.st_size > limit:
            raise too_large(path, limit)
        pieces = []
        left = count
        while left > 0 and (piece := stream.read(min(left, max(state.st_size + 1, 1 << 16)))):
            pieces.append(piece)
            left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _demand(path: str | os.PathLike[str], mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", os.fspath(path))
    kind = next((name for fits, name in _KINDS if fits(mode)), "something else")
    raise OSError(errno.EINVAL, f"it is {kind}, and no regular file", os.fspath(path))


def _no_path(path: str | os.PathLike[str]) -> OSError:
    return OSError(errno.EINVAL, "its name holds a character that no file's name can hold", os.fspath(path))
