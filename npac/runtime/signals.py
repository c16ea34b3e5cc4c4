"""Signals as something a driver can look at, and a wait that a signal ends."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Protocol

NONE = ""
DETACH = "detach"
INTERRUPT = "interrupt"

_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Unanswered(Exception):
    """Another signal came, or the terminal went, while a question was open."""


class Interrupts(Protocol):
    """Where the driver learns that it should leave."""

    def pending(self) -> str:
        """Give ``""``, ``"interrupt"`` (Ctrl-C) or ``"detach"`` (SIGTERM, a closed terminal)."""
        ...

    def clear(self) -> None:
        """Forget an interrupt that was answered with "go on"."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait so long, or until something is pending that was not before."""
        ...


class NoInterrupts:
    """Never interrupted; for drivers that run outside of a main thread."""

    def pending(self) -> str:
        """Give nothing, always."""
        return NONE

    def clear(self) -> None:
        """Do nothing."""

    def wait(self, seconds: float) -> None:
        """Wait so long."""
        time.sleep(seconds)


class SignalInterrupts:
    """SIGINT, SIGTERM and SIGHUP, caught while :func:`caught` is active.

    A second Ctrl-C before the first is dealt with detaches.
    """

    def __init__(self) -> None:
        self._pending = NONE
        self._asking = False
        # A handler may run at any instruction; a pipe is the one thing that it can safely touch.
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def close(self) -> None:
        """Give back the pipe."""
        os.close(self._read)
        os.close(self._write)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Take note of a signal."""
        if number == signal.SIGINT and self._pending == NONE:
            self._pending = INTERRUPT
        else:
            self._pending = DETACH
        # When the pipe is full, whoever waits is woken already.
        with suppress(BlockingIOError):
            os.write(self._write, b"!")
        if self._asking:
            # Whoever reads an answer is not woken by the pipe, and a read goes on after a handler.
            self._asking = False
            raise Unanswered

    def ask(self, question: Callable[[], str]) -> str:
        """Give the answer to a question; a signal that comes meanwhile raises :class:`Unanswered`."""
        try:
            self._asking = True
            return question()
        finally:
            self._asking = False

    def pending(self) -> str:
        """Give what has come and is not dealt with."""
        return self._pending

    def clear(self) -> None:
        """Forget what has come."""
        self._pending = NONE

    def wait(self, seconds: float) -> None:
        """Wait so long, or until a signal comes."""
        # unlike `select`, it takes descriptors of any number
        waiting = select.poll()
        waiting.register(self._read, select.POLLIN)
        if waiting.poll(max(seconds, 0.0) * 1000):
            os.read(self._read, 4096)


def answer(interrupts: Interrupts, question: Callable[[], str]) -> str:
    """Give the answer to the question what an interruption means.

    A further signal, and a terminal that is gone, are the answer ``detach``.
    """
    try:
        return interrupts.ask(question) if isinstance(interrupts, SignalInterrupts) else question()
    except (Unanswered, OSError):
        return DETACH


@contextmanager
def caught() -> Iterator[Interrupts]:
    """Catch SIGINT, SIGTERM and SIGHUP for the length of the block; the old handlers come back after it.

    What was ignored before stays so: that is how ``nohup`` and shells keep signals from a command.
    Outside of a main thread, where handlers cannot be set, gives :class:`NoInterrupts`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield NoInterrupts()
        return
    interrupts = SignalInterrupts()
    before = {
        number: signal.signal(number, interrupts.handle)
        for number in _CAUGHT
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            # A handler that was set from C is given as None and cannot be set again from here.
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        interrupts.close()
