"""One line that says what a command is doing, once it has taken a while."""

from __future__ import annotations

import shutil
import sys
import time
from threading import Event, Lock, Thread
from typing import TextIO

AFTER = 1.0
"""Seconds after which the line is shown."""
EVERY = 0.2
"""Seconds after which it is shown anew."""
_CLEAR = "\r\x1b[K"


class Working:
    """Shows, on a terminal's standard error only, one line that is replaced as the work goes on.

    The work calls the object with what it does, how much of that is done, and how much there is to
    do; that costs next to nothing.  When the ``with`` block is left, for whatever reason, the line is
    gone, so that what is said next stands alone.
    """

    def __init__(self, title: str, stream: TextIO | None = None, *, after: float = AFTER) -> None:
        self._title = title
        self._stream = stream if stream is not None else sys.stderr
        self._after = after
        self._state = ("", 0, 0)
        self._begun = time.monotonic()
        self._over = Event()
        self._writing = Lock()
        self._shown = False
        self._thread: Thread | None = None

    def __enter__(self) -> Working:
        """Begin to count the seconds."""
        if self._stream.isatty():
            self._thread = Thread(target=self._show, name="working", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Take the line away."""
        self.end()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Be told what is being done now."""
        self._state = (what, done, total)

    def end(self) -> None:
        """Take the line away for good; what comes next is written by somebody else."""
        self._over.set()
        with self._writing:
            if self._shown:
                self._shown = False
                self._write(_CLEAR)
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def line(self) -> str:
        """Give the text of the line: what is being done, how far it is, and for how long."""
        what, done, total = self._state
        far = f"{what} {done:,} of {total:,}" if total else what
        seconds = int(time.monotonic() - self._begun)
        text = f"{seconds // 60}:{seconds % 60:02d}  {self._title}{': ' if far else ''}{far}"
        return "".join(char if char.isprintable() else "?" for char in text)

    def _show(self) -> None:
        wait = self._after
        while not self._over.wait(wait):
            wait = EVERY
            with self._writing:
                if not self._over.is_set():
                    width = shutil.get_terminal_size().columns - 1
                    line = self.line()
                    self._shown = True
                    # a line that is wider than the terminal could not be taken away
                    self._write(f"{_CLEAR}{line if len(line) <= width else line[: width - 1] + '…'}")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
