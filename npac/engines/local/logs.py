"""Reading the logs of a job while it writes them, in bounded memory."""

from __future__ import annotations

import codecs
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence

PIECE = 64 * 1024
"""Most bytes that are read at once; longer lines are broken where several logs are shown together."""
_POLL = 0.15
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
"""Without waiting: a script can have put a FIFO where its log was."""


class Tail:
    """One log file, read from its beginning on.

    With a ``prefix`` whole lines come out, each behind the prefix; without, the text as it is.
    Bytes that are no UTF-8 come out as replacement characters.
    """

    def __init__(self, path: str, prefix: str = "") -> None:
        self._path = path
        self._prefix = prefix
        self._handle = -1
        self._at = 0
        self._held = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def size(self) -> int:
        """Give how many bytes the file has now; 0 when it is not there yet."""
        try:
            return os.stat(self._path, follow_symlinks=False).st_size
        except FileNotFoundError:
            return 0

    def read(self, limit: int = PIECE) -> tuple[int, str]:
        """Read on; gives how many bytes were read and the text that can be shown.

        A log that was cut back since (see :mod:`npac.engines.local.log_files`) is read on from its end.
        """
        if self._handle < 0:
            try:
                self._handle = os.open(self._path, _READ)
            except FileNotFoundError:
                return 0, ""
            if not stat.S_ISREG(os.fstat(self._handle).st_mode):
                raise OSError(errno.EINVAL, "the log is no longer a file", self._path)
        data = os.read(self._handle, min(limit, PIECE))
        if not data:
            # Only at what seems the end can the file have become shorter than what was read of it.
            end = os.fstat(self._handle).st_size
            if end < self._at:
                self._at = os.lseek(self._handle, end, os.SEEK_SET)
        self._at += len(data)
        if not self._prefix:
            return len(data), self._decoder.decode(data)
        whole, newline, rest = (self._held + data).rpartition(b"\n")
        self._held = rest
        text = self._lines(whole) if newline else ""
        if len(rest) > PIECE:
            text += self.finish()
        return len(data), text

    def finish(self) -> str:
        """Give what was held back for want of a line end."""
        if not self._prefix:
            return self._decoder.decode(b"", True)
        held, self._held = self._held, b""
        return self._lines(held) if held else ""

    def close(self) -> None:
        """Close the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _lines(self, data: bytes) -> str:
        return "".join(f"{self._prefix}{line}\n" for line in data.decode("utf-8", "replace").split("\n"))


def present(tails: Sequence[Tail]) -> Iterator[str]:
    """Yield what the logs hold now, one log after the other."""
    try:
        for tail in tails:
            left = tail.size()
            while left > 0:
                count, text = tail.read(left)
                if count == 0:
                    break
                left -= count
                if text:
                    yield text
            rest = tail.finish()
            if rest:
                yield rest
    finally:
        _close(tails)


def follow(tails: Sequence[Tail], over: Callable[[], bool]) -> Iterator[str]:
    """Yield the logs as they grow, until ``over`` and all is read."""
    try:
        while True:
            # Asked before reading: what was written before the end is then read after it.
            last = over()
            moved = False
            for tail in tails:
                count, text = tail.read()
                moved = moved or count > 0
                if text:
                    yield text
            if moved:
                continue
            if last:
                break
            time.sleep(_POLL)
        for tail in tails:
            rest = tail.finish()
            if rest:
                yield rest
    finally:
        _close(tails)


def _close(tails: Sequence[Tail]) -> None:
    for tail in tails:
        tail.close()
