"""The three standard streams, whatever they were when the process began.

A stream may be closed, full, or a pipe whose reader has left.  What a command does must not depend on
it: a run goes on when nobody reads its lines any more, and no file that is opened later may take the
number of a closed stream and get what was meant for it.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import Any, TextIO


class OutputLost(Exception):
    """Standard output cannot be written; told once, after which what is written goes nowhere.

    It is no ``OSError``, which might be taken for one of a file that the command works on.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(f"the output cannot be written: {error.strerror or error}")
        self.unread = isinstance(error, BrokenPipeError)
        """Its reader has left."""


def tell(text: str, *, nl: bool = True, before: str = "") -> None:
    """Write to standard error: all that commands say there goes through here, but for findings.

    Lines stay lines and tabs tabs; every other control character becomes visible, since what was given
    as a name or stands in a file may hold what acts on a terminal.  ``before`` is written as it is.
    """
    if not text.isprintable():
        from npac.diagnostics.render.visible import visible

        text = "\n".join(
            "\t".join(map(visible, line.removesuffix("\r").split("\t"))) for line in text.split("\n")
        )
    sys.stderr.write(before + text + ("\n" if nl else ""))
    sys.stderr.flush()


_closed = False


def output_is_closed() -> bool:
    """Say whether standard output was closed when the process began: what is written goes nowhere."""
    return _closed


def prepare() -> None:
    """Make the streams safe to use.

    Closed ones are opened: reading is refused as on a closed stream, writing goes nowhere, as who
    closed them wants it.  What else cannot be written to standard output raises :class:`OutputLost`;
    to standard error it is lost, since nobody could be told.  Characters that an encoding lacks are
    written as escapes, bytes of a path that are no UTF-8 as ``\\xff``.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
            os.set_inheritable(number, True)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_Closed()), encoding="utf-8")
    global _closed
    if sys.stdout is None:
        _closed = True
        sys.stdout = _nowhere()
    elif sys.stdout is sys.__stdout__:
        sys.stdout = _guarded(sys.stdout, _Output)
    if sys.stderr is None:
        sys.stderr = _nowhere()
    elif sys.stderr is sys.__stderr__:
        sys.stderr = _guarded(sys.stderr, _Errors)


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8", errors=_ESCAPED)


def _guarded(stream: Any, kind: type[_Raw]) -> TextIO:
    stream.flush()
    raw = kind(stream.fileno())
    lines = kind is _Errors or raw.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, _ESCAPED, line_buffering=lines)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Give escapes for what cannot be encoded; a byte that Python holds as half a pair is shown as itself."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    shown, end = codecs.backslashreplace_errors(error)
    text = error.object[error.start : error.end]
    if any("\udc80" <= char <= "\udcff" for char in text):
        shown = "".join(
            f"\\x{ord(char) - 0xDC00:02x}"
            if "\udc80" <= char <= "\udcff"
            else char.encode("ascii", "backslashreplace").decode("ascii")
            for char in text
        )
    return str(shown), end


_ESCAPED = "npac-escaped"
codecs.register_error(_ESCAPED, _escaped)


class _Closed(io.RawIOBase):
    """A standard input that was closed when the process began."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        raise OSError(errno.EBADF, "it is closed")


class _Raw(io.RawIOBase):
    """Writes to a descriptor that stays open; what becomes of what cannot be written is for :meth:`lose`."""

    def __init__(self, number: int) -> None:
        self._number = number

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number

    def isatty(self) -> bool:
        return os.isatty(self._number)

    def write(self, data: Any, /) -> int:
        view = memoryview(data)
        while True:
            try:
                return os.write(self._number, view)
            except BlockingIOError:  # someone else made the terminal non-blocking
                import select

                waiting = select.poll()
                waiting.register(self._number, select.POLLOUT)
                waiting.poll()
            except OSError as error:
                self.lose(error)
                return view.nbytes

    def lose(self, error: OSError) -> None:
        """Do what is to be done about a text that could not be written; it counts as written."""


class _Errors(_Raw):
    """Standard error: what cannot be written is lost."""


class _Output(_Raw):
    """Standard output: the first loss is told."""

    _told = False

    def lose(self, error: OSError) -> None:
        """Raise :class:`OutputLost`, once."""
        if not self._told:
            self._told = True
            raise OutputLost(error) from error
