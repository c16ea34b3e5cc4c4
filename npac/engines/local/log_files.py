"""The log file of a node: opened without waiting, and kept within a bound while it is written.

A script writes straight to its log, so nothing between the two can fail or fall behind.  What
writes without end is cut back: the beginning of the log stays, and so does what was written last.
"""

from __future__ import annotations

import errno
import os
import stat

LIMIT = 1 << 30
"""Bytes a log may have before it is cut back to the first half of that, and its end."""
_NEWEST = 1 << 20
"""Most bytes of the end that are kept: how a flood ended is what most often says why."""


def open_log(path: str) -> int:
    """Open a log to write at its end; raises ``OSError`` when what is there is no file.

    An earlier script of the job can have put anything in its place: to open a FIFO would wait.
    """
    return _open(path, os.O_CREAT)


def trim(path: str, limit: int) -> bool:
    """Cut a log back that is larger than ``limit`` bytes and say so in it; False when nothing was done.

    Whoever writes to it goes on after the notice.  Never raises: a log that cannot be cut is left.
    """
    handle = -1
    try:
        if os.stat(path, follow_symlinks=False).st_size <= limit:
            return False
        handle = _open(path, 0)
        newest = _newest(path, min(limit // 8, _NEWEST))
        os.ftruncate(handle, limit // 2)
        os.write(
            handle,
            f"\n[npac: the output was larger than {limit} bytes; "
            f"of what followed the first {limit // 2}, only the newest is kept]\n".encode("ascii")
            + newest,
        )
        return True
    except OSError:
        return False
    finally:
        if handle >= 0:
            os.close(handle)


def _newest(path: str, most: int) -> bytes:
    """Give the end of a log, from the beginning of a line where there is one in it."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        end = os.fstat(handle).st_size
        data = os.pread(handle, most, max(0, end - most))
    finally:
        os.close(handle)
    _, line_end, rest = data.partition(b"\n")
    return rest if line_end and rest else data


def _open(path: str, more: int) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags | more, 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "the log is no longer a file", path)
    os.set_blocking(handle, True)  # Scripts inherit the handle.
    return handle
